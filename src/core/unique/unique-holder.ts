import { expiryOf } from "../end/expiry.ts";
import type { Envelope } from "../model/envelope.ts";
import { PortUnavailable } from "../model/errors.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/status.ts";
import type { Holder, UniqueKey } from "../ports/unique.ts";
import { reportChanged } from "../send/report.ts";
import { isUnstarted } from "../send/start-time.ts";
import { send } from "../submit/send-task.ts";
import type { SubmitPorts } from "../submit/submit-ports.ts";

/**
 * Returns the record of a key's holder. Undefined: the key is free, as its holder has ended or is gone. A task whose
 * time to start has passed is ended here: no worker can start it after that, whatever its clock says.
 * @throws PortUnavailable
 */
export async function openHolder(
  ports: SubmitPorts,
  key: UniqueKey,
  { task_id, created_at, unsent }: Holder,
): Promise<TaskRecord | undefined> {
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id }, "consistently");
  if (record === undefined || record.created_at !== created_at || !isKept(record, ports.clock.now())) return undefined;
  if (isTerminal(record.status)) return undefined;
  if (!isTerminal(statusAt(record, iso(ports.clock.now())))) return record;
  // What follows from its end is left to its message.
  if (unsent !== undefined) await send(ports, record, unsent);
  const changed = await ports.records.change(record, expiryOf(ports, record));
  if (changed.done) reportChanged(ports, changed.record, "expired");
  const current = changed.record;
  return current === undefined || isTerminal(current.status) ? undefined : current;
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
 * Sees to it that the holder's message is sent. The submit that made the task may have died before, or is about to send
 * it. Returns false when the holder changed at the same time.
 * @throws Problem `unavailable`; PortUnavailable
 */
export async function ensureSent(
  ports: SubmitPorts,
  key: UniqueKey,
  { unsent }: Holder,
  holder: TaskRecord,
): Promise<boolean> {
  if (unsent === undefined) return true;
  if (isUnstarted(holder)) {
    if ((await adopt(ports, holder)) === undefined) return false;
    await sendAndNote(ports, key, holder, unsent);
  } else await noteSent(ports, key, holder);
  return true;
}

/** Sends the message of a key's holder, then stores that it is sent. @throws Problem `unavailable` */
export async function sendAndNote(
  ports: SubmitPorts,
  key: UniqueKey,
  holder: TaskRecord,
  envelope: Envelope,
): Promise<void> {
  await send(ports, holder, envelope);
  await noteSent(ports, key, holder);
}

/** Without the note, the next submit with the key sends the message once more. */
const noteSent = (ports: SubmitPorts, key: UniqueKey, holder: TaskRecord): Promise<void> =>
  ports.uniqueKeys.sent(key, holder).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
  });
