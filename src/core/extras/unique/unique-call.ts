import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { fingerprint } from "../../model/idempotency.ts";
import { isKept, iso, statusAt, type TaskKey, type TaskRecord } from "../../model/record.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import { isTerminal } from "../../model/words.ts";
import { firstLookSeconds, tasksBefore, unlessEnded } from "../../pipeline/end/turn.ts";
import { keptText } from "../../pipeline/send/kept-input.ts";
import { isUnstarted } from "../../pipeline/send/waiting-task.ts";
import { keyReused, orUnavailable, send, withdraw } from "../../pipeline/submit/admit-task.ts";
import type { SubmitBody, Unique } from "../../pipeline/submit/submit-body.ts";
import type { SubmitCall, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { Holder, Submitted, UniqueKey } from "../../ports/unique.ts";
import { keyPurgeAt } from "./index.ts";

/** One submit with the member `unique`. */
export interface UniqueSubmit {
  ports: SubmitPorts;
  call: SubmitCall;
  body: SubmitBody;
  unique: Unique;
  key: UniqueKey;
  /** Id of the task that the idempotency key makes. Undefined: the call has no such key. */
  own: TaskKey | undefined;
  /** True when the call failed, and has left a task that another call may send. */
  leavesTask?: boolean;
  /** Set when another submit was faster to take the key: the holder before it. */
  overtaken?: { seen: Holder | undefined };
}

/** State of a key, and of the call's idempotency key, at one look. */
export interface Look {
  /** The task that took the key last. */
  seen: Holder | undefined;
  /** Its record, if it has not ended. */
  holder: TaskRecord | undefined;
  /** The tasks for whose ends it waits, or waited until it ended before its turn. */
  before: readonly string[];
  /** The task that an earlier call with the idempotency key made. */
  own: TaskRecord | undefined;
  /** The task that an earlier call with the idempotency key joined. */
  joined: Holder | undefined;
}

export async function look({ ports, key, own }: UniqueSubmit): Promise<Look> {
  const seen = await ports.uniqueKeys.holder(key);
  const last = seen === undefined ? noTask : await lastTask(ports, key, seen);
  if (own === undefined) return { seen, ...last, own: undefined, joined: undefined };
  const found = { seen, ...last, own: await ownTask(ports, own), joined: undefined };
  return isMade(found) ? found : { ...found, joined: await ports.uniqueKeys.holder(joinedKey(own)) };
}

const noTask: LastTask = { holder: undefined, before: [] };

/** The key under which a call stores what it joins. */
export const joinedKey = ({ tenant_id, task_id }: TaskKey): UniqueKey => ({ tenant_id, type: "", unique_key: task_id });

/**
 * True when the idempotency key has made a task that was sent, or will be: it has started, or has its unique key, or
 * had it, and another task waits for its end.
 */
export const isMade = ({ holder, before, own }: Look): boolean =>
  own !== undefined &&
  (!isUnstarted(own) || (holder !== undefined && isSame(holder, own)) || before.includes(own.task_id));

export const isSame = (a: Submitted, b: Submitted): boolean => a.task_id === b.task_id && a.created_at === b.created_at;

/** @throws Problem `idempotency_key_reused` */
export function mustBeSame({ body }: SubmitCall, { task_id }: TaskRecord, requestHash: string | undefined): void {
  if (requestHash !== fingerprint(body)) throw keyReused(task_id);
}

/**
 * Withdraws the own task of the call, unless another call with the same idempotency key is about to send it. The other
 * call takes the key and then adopts the task; this call adopts it and then looks at the key. So one of the two sees
 * the other.
 */
export async function dropOwn({ ports, key }: UniqueSubmit, own: TaskRecord): Promise<"again"> {
  const adopted = await adopt(ports, own);
  if (adopted === undefined) return "again";
  const seen = await ports.uniqueKeys.holder(key);
  const last = seen === undefined ? noTask : await lastTask(ports, key, seen);
  const hadKey = (seen !== undefined && isSame(seen, own)) || last.before.includes(own.task_id);
  if (!hadKey) await withdraw(ports, adopted);
  return "again";
}

/**
 * Stores what a call with an idempotency key joins, before it changes anything. Returns false when another call was
 * faster.
 * @param before What its input replaces. Empty: it replaces nothing.
 */
export async function noteJoined(
  { ports, call, own }: UniqueSubmit,
  { joined }: Pick<Look, "joined">,
  holder: TaskRecord,
  before: Pick<Holder, "replaced">,
): Promise<boolean> {
  if (own === undefined) return true;
  const { task_id, created_at, purge_at } = holder;
  const joining: Holder = { task_id, created_at, request_hash: fingerprint(call.body), ...before };
  return ports.uniqueKeys.take(joinedKey(own), joining, joined, keyPurgeAt(purge_at));
}

/**
 * True when another call with the same idempotency key has written the own task since. The other call writes it and
 * then looks for what this call joined; this call joins and then looks for it. So one of the two sees the other. A task
 * that has not got its key is withdrawn, unless it is that of another request.
 * @throws Problem `idempotency_key_reused`
 */
export async function hasOwn(one: UniqueSubmit): Promise<boolean> {
  if (one.own === undefined) return false;
  const own = await ownTask(one.ports, one.own);
  if (own === undefined) return false;
  mustBeSame(one.call, own, own.request_hash);
  if (isUnstarted(own)) await dropOwn(one, own);
  return true;
}

/** The task that the idempotency key made. */
async function ownTask({ records, clock }: SubmitPorts, key: TaskKey): Promise<TaskRecord | undefined> {
  const record = await records.get(key, "consistently");
  return record !== undefined && isKept(record, clock.now()) ? record : undefined;
}

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
