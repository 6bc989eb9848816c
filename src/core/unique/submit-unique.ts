import { openBefore, tasksBefore } from "../end/turn.ts";
import { keyPurgeAt } from "../extras/unique/index.ts";
import type { Envelope } from "../model/envelope.ts";
import { fingerprint } from "../model/idempotency.ts";
import { Problem } from "../model/problem.ts";
import { isKept, iso, longestQueueLifeSeconds, type TaskKey, type TaskRecord } from "../model/record.ts";
import { waitsForTurn } from "../model/suspension.ts";
import { replaces, type Unique } from "../model/unique-body.ts";
import { uniqueKeyOf } from "../model/unique-key.ts";
import type { Holder, Submitted, UniqueKey } from "../ports/unique.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { reportSubmitted } from "../send/report.ts";
import { isUnstarted } from "../send/start-time.ts";
import { type Admitted, admit } from "../submit/admit-task.ts";
import { newTaskId, requestedStartMs } from "../submit/new-task.ts";
import { keyReused, type NewTask, orUnavailable, withdraw } from "../submit/send-task.ts";
import type { SubmitBody } from "../submit/submit-body.ts";
import type { SubmitCall } from "../submit/submit-call.ts";
import type { Accepted, SubmitPorts } from "../submit/submit-ports.ts";
import { replaceInput } from "./replace-input.ts";
import { adopt, ensureSent, type LastTask, lastTask, sendAndNote, supersede } from "./unique-holder.ts";

/** Number of looks at a key that other submits take at the same time. */
const mostTries = 8;

/** One submit with the member `unique`. */
interface UniqueSubmit {
  ports: SubmitPorts;
  call: SubmitCall;
  body: SubmitBody;
  unique: Unique;
  key: UniqueKey;
  /** Id of the task that the idempotency key makes. Undefined: the call has no such key. */
  own: TaskKey | undefined;
  /** True when the call failed, and has left a task that another call may send. */
  left?: boolean;
  /** Set when another submit was faster to take the key: the holder before it. */
  overtaken?: { seen: Holder | undefined };
}

/** State of a key, and of the call's idempotency key, at one look. */
interface Look {
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

/**
 * Accepts a submit that has a unique key: it joins the task that has the key, or makes a new one, which takes the key.
 * Order of the steps: write the record, take the key, send the message, note that it is sent. So the task of a key
 * always has a record, and a submit that joins a task whose message is not known to be sent sends it. A task that
 * another one was faster than is withdrawn; nobody knows of it, and it has no message.
 * @throws Problem as `submit`, and `conflict`
 */
export async function submitUnique(
  ports: SubmitPorts,
  call: SubmitCall,
  body: SubmitBody,
  unique: Unique,
): Promise<Accepted> {
  const { tenantId: tenant_id } = call.identity;
  const key = { tenant_id, type: body.type, unique_key: uniqueKeyOf(call.identity, unique) };
  const own = call.idempotencyKey === undefined ? undefined : { tenant_id, task_id: newTaskId(ports, call) };
  const one: UniqueSubmit = { ports, call, body, unique, key, own };
  let admitted: Admitted;
  try {
    admitted = await admit(ports, call, body);
  } catch (refusal) {
    // The same idempotency key gets the same answer, also over a limit.
    const known = own && (await orUnavailable(look(one).then((found) => knownAnswer(one, found))));
    if (known === undefined || known === "again") throw refusal;
    return known;
  }
  const { admission } = admitted;
  try {
    const accepted = await orUnavailable(joinOrMake(one, admitted));
    if (accepted.replayed) admission.giveBackTask();
    return accepted;
  } catch (error) {
    if (one.left !== true) admission.giveBack();
    throw error;
  }
}

async function joinOrMake(one: UniqueSubmit, admitted: Admitted): Promise<Accepted> {
  let task: NewTask | undefined;
  for (let tries = 0; tries < mostTries; tries++) {
    const found = await look(one);
    const answer = (await knownAnswer(one, found)) ?? (await joinHolder(one, found, admitted));
    if (answer === "again") continue;
    if (answer !== "free") return answer;
    const overtaken = await joinOvertaker(one, found);
    if (overtaken === "again") continue;
    if (overtaken !== undefined) return overtaken;
    task ??= found.own === undefined ? await admitted.store() : undefined;
    const made = await make(one, found, task && withTime(task, tries));
    if (made !== undefined) return made;
  }
  throw new Problem("unavailable", "Other submits with this key came at the same time; try again.", {
    retryAfterSeconds: 1,
  });
}

async function look({ ports, key, own }: UniqueSubmit): Promise<Look> {
  const seen = await ports.uniqueKeys.holder(key);
  const last = seen === undefined ? noTask : await lastTask(ports, key, seen);
  if (own === undefined) return { seen, ...last, own: undefined, joined: undefined };
  const found = { seen, ...last, own: await ownTask(ports, own), joined: undefined };
  return isMade(found) ? found : { ...found, joined: await ports.uniqueKeys.holder(joinedKey(own)) };
}

const noTask: LastTask = { holder: undefined, before: [] };

/** The key under which a call stores what it joins. */
const joinedKey = ({ tenant_id, task_id }: TaskKey): UniqueKey => ({ tenant_id, type: "", unique_key: task_id });

/**
 * True when the idempotency key has made a task that was sent, or will be: it has started, or has its unique key, or
 * had it, and another task waits for its end.
 */
const isMade = ({ holder, before, own }: Look): boolean =>
  own !== undefined &&
  (!isUnstarted(own) || (holder !== undefined && isSame(holder, own)) || before.includes(own.task_id));

/** The answer that an earlier call with the idempotency key got, or would have got. */
async function knownAnswer(one: UniqueSubmit, found: Look): Promise<Accepted | "again" | undefined> {
  const { ports, key, call } = one;
  const { seen, holder, own } = found;
  if (own !== undefined) mustBeSame(call, own, own.request_hash);
  if (own !== undefined && isMade(found)) {
    const isHolder = holder !== undefined && isSame(holder, own);
    if (isHolder && seen !== undefined && !(await ensureSent(ports, key, seen, own))) return undefined;
    return { record: isHolder ? own : await supersede(ports, own), replayed: true };
  }
  return joinedAnswer(one, found);
}

/**
 * The answer of a call that joined a task, or is about to. A call may join another task than the noted task only once
 * nobody can replace the input of the noted task any more: it has started or ended.
 */
async function joinedAnswer(one: UniqueSubmit, { holder, joined }: Look): Promise<Accepted | "again" | undefined> {
  const { ports, key, call } = one;
  if (joined === undefined) return undefined;
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id: joined.task_id }, "consistently");
  if (record?.created_at !== joined.created_at || !isKept(record, ports.clock.now())) return undefined;
  mustBeSame(call, record, joined.request_hash);
  const isDone = joined.replaced === undefined || (record.replaced ?? 0) > joined.replaced;
  // The call that noted it gives it up, too, when it sees an own task.
  if (isDone) return (await hasOwn(one)) ? "again" : { record, replayed: true };
  // The look at the unique key was too early.
  const isHolder = holder !== undefined && isSame(holder, record);
  return isUnstarted(record) && !isHolder ? "again" : undefined;
}

const isSame = (a: Submitted, b: Submitted): boolean => a.task_id === b.task_id && a.created_at === b.created_at;

/** @throws Problem `idempotency_key_reused` */
function mustBeSame({ body }: SubmitCall, { task_id }: TaskRecord, requestHash: string | undefined): void {
  if (requestHash !== fingerprint(body)) throw keyReused(task_id);
}

/**
 * Joins the task that has the key.
 * @returns `free`: no task has it, its task has started, and the input must not be lost, or the submit cancels it.
 * @throws Problem `conflict`
 */
async function joinHolder(one: UniqueSubmit, found: Look, { version }: Admitted): Promise<Accepted | "free" | "again"> {
  const { ports, key, unique } = one;
  const { seen, holder, own } = found;
  if (seen === undefined || holder === undefined || (replaces(unique) && !isUnstarted(holder))) return "free";
  if (own !== undefined) return isSame(holder, own) ? "free" : dropOwn(one, own);
  if (unique.mode === "restart") return mayCancel(one, seen, holder);
  if (!(await ensureSent(ports, key, seen, holder))) return "again";
  if (unique.mode === "reject") throw isTaken(holder);
  const { replaced = 0 } = holder;
  if (!(await noteJoined(one, found, holder, replaces(unique) ? { replaced } : {})) || (await hasOwn(one))) {
    return "again";
  }
  if (!replaces(unique)) return { record: holder, replayed: true };
  return replaceIn(one, holder, version);
}

/** Gives the call's input to the holder, which waits for its first attempt. */
async function replaceIn({ ports, unique, body }: UniqueSubmit, holder: TaskRecord, version: number) {
  const startMs = requestedStartMs(body, ports.clock.now());
  const replacement = await replaceInput(ports, holder, { input: body.input, version, unique, startMs });
  if (replacement.as === "replaced") return { record: replacement.record, replayed: true };
  return replacement.as === "started" ? "free" : "again";
}

/**
 * The call makes a new task, which cancels the holder once it has the key. The holder's message is sent before: it does
 * what follows from that end, if the process that ends it dies.
 * @throws Problem `conflict`, `unavailable`
 */
async function mayCancel({ ports, key }: UniqueSubmit, seen: Holder, holder: TaskRecord): Promise<"free" | "again"> {
  const { type, task_id } = holder;
  const isSent = async () => seen.unsent === undefined || ensureSent(ports, key, seen, holder);
  if (ports.types.get(type)?.cancellable !== false) return (await isSent()) ? "free" : "again";
  throw new Problem("conflict", `Tasks of type ${type} cannot be cancelled, and one has this unique key.`, {
    extra: { task_id },
  });
}

const isTaken = ({ task_id }: TaskRecord): Problem =>
  new Problem("conflict", "A task with this unique key has not ended.", { extra: { task_id } });

/**
 * Joins the task that took the key during this submit, also when it has started or ended since. The two submits came at
 * the same time, so its input counts as the later one. Without this, of many submits of short tasks only one would get
 * on at a time.
 * @returns Undefined: no other submit was faster.
 * @throws Problem `conflict`
 */
async function joinOvertaker(one: UniqueSubmit, found: Look): Promise<Accepted | "again" | undefined> {
  const { ports, key, unique, overtaken } = one;
  const { seen, own } = found;
  if (overtaken === undefined || seen === undefined || own !== undefined) return undefined;
  if (overtaken.seen !== undefined && isSame(overtaken.seen, seen)) return undefined;
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id: seen.task_id }, "consistently");
  // Its submit failed, and has withdrawn it.
  if (record?.created_at !== seen.created_at || !isKept(record, ports.clock.now())) return undefined;
  if (!(await ensureSent(ports, key, seen, record))) return "again";
  if (unique.mode === "reject") throw isTaken(record);
  if (!(await noteJoined(one, found, record, {})) || (await hasOwn(one))) return "again";
  return { record, replayed: true };
}

/**
 * Withdraws the own task of the call, unless another call with the same idempotency key is about to send it. The other
 * call takes the key and then adopts the task; this call adopts it and then looks at the key. So one of the two sees
 * the other.
 */
async function dropOwn({ ports, key }: UniqueSubmit, own: TaskRecord): Promise<"again"> {
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
async function noteJoined(
  { ports, call, own }: UniqueSubmit,
  { joined }: Look,
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
async function hasOwn(one: UniqueSubmit): Promise<boolean> {
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

/**
 * Makes the call's task, or goes on with the task that an earlier call with the idempotency key made: it takes the key,
 * and is sent. Returns undefined when another task took the key.
 */
async function make(one: UniqueSubmit, found: Look, task: NewTask | undefined): Promise<Accepted | undefined> {
  const { ports, key, body } = one;
  const { seen, own } = found;
  const record = own === undefined ? await makeNew(one, found, task) : await goOnWith(one, found, own);
  if (record === undefined) return undefined;
  const isNew = own === undefined && task !== undefined;
  const envelope: Envelope = isNew ? task.envelope : await storedEnvelope(ports, record, body.input);
  if (!(await ports.uniqueKeys.take(key, holderOf(record, envelope), seen, keyPurgeAt(record.purge_at)))) {
    one.overtaken = { seen };
    // A task that another call has made may have had its key by now, and be sent: the next look tells.
    if (own === undefined) await withdraw(ports, record);
    return undefined;
  }
  // Another call with the idempotency key may be about to withdraw it.
  if (one.own !== undefined && (await adopt(ports, record)) === undefined) return undefined;
  try {
    await sendAndNote(ports, key, record, envelope);
  } catch (error) {
    // With an idempotency key another call may have sent it. The key has the message for the next submit.
    one.left = one.own !== undefined || !(await withdraw(ports, record));
    throw error;
  }
  reportSubmitted(ports, record, envelope.message_id);
  // Its message is sent: it runs, whatever comes of this call.
  one.left = waitsForTurn(record);
  return { record: await supersede(ports, record, envelope), replayed: own !== undefined };
}

/** Writes the record of the call's task, unless another call with the same idempotency key has joined a task. */
async function makeNew(one: UniqueSubmit, found: Look, task: NewTask | undefined): Promise<TaskRecord | undefined> {
  const { ports } = one;
  const waiting = task && behind(task, await openTasks(one, found, task.record));
  const record = await create(ports, waiting);
  if (record === undefined || !(await hasJoined(one, found))) return record;
  await withdraw(ports, record);
  return undefined;
}

/** Goes on with the task of an earlier call, unless it would not wait for all that it has to wait for now. */
async function goOnWith(one: UniqueSubmit, found: Look, own: TaskRecord): Promise<TaskRecord | undefined> {
  const before = await openTasks(one, found, own);
  if (before.every((taskId) => tasksBefore(own).includes(taskId))) return adopt(one.ports, own);
  await dropOwn(one, own);
  return undefined;
}

function holderOf(record: TaskRecord, unsent: Envelope): Holder {
  const { task_id, created_at } = record;
  const before = [...tasksBefore(record)];
  return { task_id, created_at, unsent, ...(before.length > 0 && { before }) };
}

/**
 * The tasks for whose ends a new task waits: the holder that it cancels, and those for which the last task of the key
 * still waits, or would wait if it had not ended.
 */
async function openTasks(
  { ports, unique }: UniqueSubmit,
  { holder, before }: Look,
  record: TaskRecord,
): Promise<string[]> {
  const open = unique.mode === "restart" && holder !== undefined ? [holder.task_id] : [];
  for (const taskId of before) {
    if (taskId !== record.task_id && (await openBefore(ports, record, taskId)) !== undefined) open.push(taskId);
  }
  return open;
}

/** Due time of a task that waits for its turn, from its start on, in milliseconds: no task before it runs by then. */
const longestTurnMs = longestQueueLifeSeconds * 1000;

/** A new task that waits for the ends of others. */
function behind(task: NewTask, before: string[]): NewTask {
  if (before.length === 0) return task;
  const due_at = iso(Date.parse(task.record.due_at) + longestTurnMs);
  return { ...task, record: { ...task.record, due_at, waiting_for: { kind: "unique", tasks: before } } };
}

/**
 * True when another call with the same idempotency key has joined a task since the look, or has joined the same one in
 * another way.
 */
async function hasJoined({ ports, own }: UniqueSubmit, { joined }: Look): Promise<boolean> {
  const present = own && (await ports.uniqueKeys.holder(joinedKey(own)));
  if (present === undefined) return false;
  return joined === undefined || !isSame(present, joined) || present.replaced !== joined.replaced;
}

/** A withdrawn record is not written again under the same time. */
const withTime = (task: NewTask, tries: number): NewTask => {
  const created_at = iso(Date.parse(task.record.created_at) + tries);
  return { ...task, record: { ...task.record, created_at } };
};

/**
 * Writes the record of a new task. Returns undefined when another call with the same idempotency key has written it.
 */
async function create(ports: SubmitPorts, task: NewTask | undefined): Promise<TaskRecord | undefined> {
  if (task === undefined) return undefined;
  const record = { ...task.record, sender: ports.newId() };
  const noting = ports.noteTenant?.(record.tenant_id);
  const existing = await ports.records.create(record, iso(ports.clock.now()));
  await noting;
  // The first try of this write may have been made, and its answer lost.
  return existing === undefined || existing.sender === record.sender ? record : undefined;
}
