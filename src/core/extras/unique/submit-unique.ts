import { Problem } from "../../model/problem.ts";
import { isKept, type TaskRecord } from "../../model/record.ts";
import { replaces, type Unique } from "../../model/unique-body.ts";
import { uniqueKeyOf } from "../../model/unique-key.ts";
import { isUnstarted } from "../../pipeline/send/start-time.ts";
import { type Admitted, admit, type NewTask, orUnavailable } from "../../pipeline/submit/admit-task.ts";
import { newTaskId, requestedStartMs } from "../../pipeline/submit/new-task.ts";
import type { SubmitBody } from "../../pipeline/submit/submit-body.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { Holder } from "../../ports/unique.ts";
import { make, withTime } from "./make-holder.ts";
import { replaceInput } from "./replace-input.ts";
import {
  dropOwn,
  ensureSent,
  hasOwn,
  isMade,
  isSame,
  type Look,
  look,
  mustBeSame,
  noteJoined,
  supersede,
  type UniqueSubmit,
} from "./unique-call.ts";

/** Number of looks at a key that other submits take at the same time. */
const mostTries = 8;

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
  const type = ports.types.get(body.type);
  if (unique.mode === "collect" || type?.collect !== undefined) {
    return (await import("./collect.ts")).submitCollected(one, type);
  }
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
