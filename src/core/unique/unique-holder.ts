import { firstLookSeconds, tasksBefore, unlessEnded } from "../end/turn.ts";
import type { Envelope } from "../model/envelope.ts";
import { PortUnavailable } from "../model/errors.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/status.ts";
import { waitsForTurn } from "../model/suspension.ts";
import type { Holder, UniqueKey } from "../ports/unique.ts";
import { keptText } from "../send/kept-input.ts";
import { isUnstarted } from "../send/start-time.ts";
import { orUnavailable, send } from "../submit/send-task.ts";
import type { SubmitPorts } from "../submit/submit-ports.ts";

/** The task that took a key last, at one look. */
export interface LastTask {
  /** Its record. Undefined: the key is free, as its holder has ended or is gone. */
  holder: TaskRecord | undefined;
  /** The tasks for whose ends it waits, or waited until it ended before its turn. */
  before: readonly string[];
}

/**
 * Reads the task that took a key last.
 * @throws PortUnavailable
 */
export async function lastTask(
  ports: SubmitPorts,
  key: UniqueKey,
  { task_id, created_at, unsent, before: firstBefore = [] }: Holder,
): Promise<LastTask> {
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id }, "consistently");
  if (record === undefined || record.created_at !== created_at) {
    return { holder: undefined, before: firstBefore };
  }
  const before = tasksBefore(record);
  if (!isKept(record, ports.clock.now())) return { holder: undefined, before };
  if (isTerminal(record.status)) return { holder: undefined, before };
  const isOver = isTerminal(statusAt(record, iso(ports.clock.now())));
  // What follows from its end is left to its message.
  if (isOver && unsent !== undefined) await sendHolder(ports, record, unsent);
  return { holder: await unlessEnded(ports, record), before };
}

/**
 * Lets this call alone send the task's message: no other call withdraws the task after that. Returns the record;
 * undefined: it is withdrawn already, or does not wait any more.
 * @throws PortUnavailable
 */
export async function adopt(ports: SubmitPorts, record: TaskRecord): Promise<TaskRecord | undefined> {
  const { created_at } = record;
  const changed = await ports.records.change(record, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: 0 },
      created_at: { is: created_at },
      purge_at: { above: Math.floor(ports.clock.now() / 1000) },
    },
    set: { sender: ports.newId() },
  });
  return changed.done ? changed.record : undefined;
}

/**
 * Sees to it that the holder's message is sent, and that the tasks are cancelled for whose ends it waits. The submit
 * that made the task may have died before, or is about to do so. Returns false when the holder changed meanwhile.
 * @throws Problem `unavailable`; PortUnavailable
 */
export async function ensureSent(
  ports: SubmitPorts,
  key: UniqueKey,
  { unsent }: Holder,
  holder: TaskRecord,
): Promise<boolean> {
  if (unsent === undefined) {
    await supersede(ports, holder);
    return true;
  }
  if (isUnstarted(holder)) {
    if ((await adopt(ports, holder)) === undefined) return false;
    await sendAndNote(ports, key, holder, unsent);
    await supersede(ports, holder, unsent);
  } else await noteSent(ports, key, holder);
  return true;
}

/**
 * Cancels the tasks that a holder waits for, and starts it once they are over. Its submit may have died before.
 * @throws Problem `unavailable`
 */
export const supersede = (ports: SubmitPorts, holder: TaskRecord, envelope?: Envelope): Promise<TaskRecord> =>
  waitsForTurn(holder) && holder.status === "pending" && ports.supersede !== undefined
    ? orUnavailable(ports.supersede(holder, envelope))
    : Promise.resolve(holder);

/** Sends the message of a holder. A task that waits for its turn is looked at soon. @throws Problem `unavailable` */
async function sendHolder(ports: SubmitPorts, holder: TaskRecord, envelope: Envelope): Promise<void> {
  if (!waitsForTurn(holder)) return send(ports, holder, envelope);
  // For the end that it waits for, which has to send its message.
  if (keptText(holder) === undefined) {
    await orUnavailable(ports.records.savePart(holder, "envelope", envelope, holder.purge_at));
  }
  // Who cannot cancel the tasks before it leaves that to the worker that gets its message.
  const lookSeconds = ports.supersede === undefined ? 0 : firstLookSeconds;
  await send(ports, { ...holder, due_at: iso(ports.clock.now() + lookSeconds * 1000) }, envelope);
}

/** Sends the message of a key's holder, then stores that it is sent. @throws Problem `unavailable` */
export async function sendAndNote(
  ports: SubmitPorts,
  key: UniqueKey,
  holder: TaskRecord,
  envelope: Envelope,
): Promise<void> {
  await sendHolder(ports, holder, envelope);
  await noteSent(ports, key, holder);
}

/** Without the note, the next submit with the key sends the message once more. */
const noteSent = (ports: SubmitPorts, key: UniqueKey, holder: TaskRecord): Promise<void> =>
  ports.uniqueKeys.sent(key, holder).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
  });
