import type { Change } from "../../model/change.ts";
import { uniqueKeyOf } from "../../model/idempotency.ts";
import { Problem } from "../../model/problem.ts";
import { isKept, iso, type TaskRecord } from "../../model/record.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import { dispatch } from "../../pipeline/send/dispatch.ts";
import { storedEnvelope } from "../../pipeline/send/large-input.ts";
import { keptUntil } from "../../pipeline/send/parts.ts";
import { sameRetention } from "../../pipeline/send/retention.ts";
import { isUnstarted, movedStart } from "../../pipeline/send/waiting-task.ts";
import {
  type Admitted,
  admit,
  type NewTask,
  newTaskId,
  orUnavailable,
  requestedStartMs,
} from "../../pipeline/submit/admit-task.ts";
import { maxWaitSeconds, replaces, type SubmitBody, type Unique } from "../../pipeline/submit/submit-body.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import type { Holder } from "../../ports/unique.ts";
import { keepInput } from "../kept/index.ts";
import { keepKey } from "./index.ts";
import { make, withTime } from "./make-holder.ts";
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
const maxTries = 8;

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
    if (one.leavesTask !== true) admission.giveBack();
    throw error;
  }
}

async function joinOrMake(one: UniqueSubmit, admitted: Admitted): Promise<Accepted> {
  let task: NewTask | undefined;
  for (let tries = 0; tries < maxTries; tries++) {
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

/** The input of a later submit, and its version by the task's type. */
interface NewInput {
  input: unknown;
  version: number;
  unique: Unique;
  /** Epoch milliseconds of the start that the submit asks for. Undefined: the task starts when it would have. */
  startMs?: number | undefined;
}

/**
 * The end of a replacement. `replaced`: the task has the input, or had it until a submit that came at the same time
 * replaced it. `started`: the task does not wait for its first attempt any more, and never had the input. `again`: the
 * task changed at the same time in another way.
 */
type Replacement = { as: "replaced"; record: TaskRecord } | { as: "started" | "again" };

/**
 * Replaces the input of a waiting task: stores the new one as a part of its own, then names that part in the record, on
 * condition that no other input has come between. An input that has come between came at the same time as this one, and
 * counts as the later of the two. So a late repeat of a request brings no earlier input back.
 * @param record The task as it was read after the submit had begun, consistently.
 * @throws Problem `too_large`; PortUnavailable
 */
export async function replaceInput(ports: DispatchPorts, record: TaskRecord, given: NewInput): Promise<Replacement> {
  const { replaced = 0 } = record;
  const input_version = given.version === 1 ? undefined : given.version;
  const envelope = await storedEnvelope(ports, { ...record, input_version } as TaskRecord, given.input);
  const due = startOf(record, dueMsOf(ports, record, given));
  const purgeAt = due?.purge_at ?? record.purge_at;
  await ports.records.savePart(record, `input#${envelope.message_id}`, envelope, keptUntil(purgeAt));
  await keepUnstarted(ports, record, purgeAt);
  const now = ports.clock.now();
  const change: Change = {
    when: {
      status: { is: "pending" },
      attempts_total: { is: 0 },
      round: { is: 1 },
      created_at: { is: record.created_at },
      start_by: { above: iso(now), orAbsent: true },
      // The part is stored for as long as the record was to be kept.
      purge_at: isKept(record, now) ? { is: record.purge_at } : { above: Math.floor(now / 1000) },
      ...sameDue(record, due !== undefined),
      replaced: replaced === 0 ? { absent: true } : { is: replaced },
      ...sameRetention(record),
    },
    set: { updated_at: iso(now), input_part: envelope.message_id, replaced: replaced + 1, input_version, ...due },
    ...(input_version === undefined && { remove: ["input_version"] as const }),
  };
  const changed = await ports.records.change(record, change);
  const current = changed.record;
  if (current === undefined || current.created_at !== record.created_at) return { as: "started" };
  // Also when this write was made at its first try, whose answer was lost.
  if ((current.replaced ?? 0) <= replaced) return { as: isUnstarted(current) ? "again" : "started" };
  const isEarlier = due !== undefined && due.due_at < record.due_at;
  // The message is on its way for a later time. Without this one, the task would start then.
  if (isEarlier && current.input_part === envelope.message_id) await dispatch(ports, current, envelope);
  return { as: "replaced", record: current };
}

/** Keeps all that is beside the record of a task that has not started. */
async function keepUnstarted(ports: DispatchPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  await keepKey(ports, record, purgeAt);
  await keepInput(ports, record, purgeAt);
}

/** The condition that no other call has moved the start meanwhile, or has let the task start in its turn. */
const sameDue = (record: TaskRecord, isMoved: boolean): Change["when"] =>
  isMoved || waitsForTurn(record) ? { due_at: { is: record.due_at } } : {};

/** The start of a task that waits for its turn moves, and its turn does not. */
function startOf(record: TaskRecord, dueMs: number | undefined) {
  if (dueMs === undefined) return undefined;
  if (!waitsForTurn(record)) return movedStart(record, dueMs);
  const { due_at: farAt, run_at: due_at = record.created_at } = record;
  const moved = movedStart({ ...record, due_at }, dueMs);
  return { ...moved, due_at: [moved.due_at, farAt].sort()[1] ?? farAt };
}

/** A debounced submit waits anew, but no longer than its most from the first submit on. */
function dueMsOf({ clock }: DispatchPorts, record: TaskRecord, { unique, startMs }: NewInput): number | undefined {
  if (unique.mode !== "debounce") return startMs === undefined ? undefined : Math.max(startMs, clock.now());
  const waits = clock.now() + (unique.wait_seconds ?? 0) * 1000;
  return Math.min(waits, Date.parse(record.created_at) + maxWaitSeconds(unique) * 1000);
}
