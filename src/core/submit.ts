import { type Checked, checkBody, checkInput, type KnownTypes } from "./check-input.ts";
import { type DispatchPorts, dispatch, longestDelaySeconds } from "./dispatch.ts";
import type { Envelope } from "./envelope.ts";
import { PortUnavailable } from "./errors.ts";
import { fingerprint } from "./idempotency.ts";
import { withKeptInput } from "./kept-input.ts";
import { storedEnvelope } from "./large-input.ts";
import type { Admission, Gate } from "./limits/gate.ts";
import { newRecord, newTaskId } from "./new-task.ts";
import type { Clock, NewId } from "./ports.ts";
import { Problem } from "./problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "./record.ts";
import { reportSubmitted } from "./report.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { SubmitCall } from "./submit-call.ts";
import type { Uploads } from "./uploads/ports.ts";
import type { FilesToTake } from "./uploads/take-files.ts";

export interface SubmitPorts extends DispatchPorts {
  newId: NewId;
  types: KnownTypes;
  /** Limits what clients submit. Absent: no limits, as for submits of handlers and schedules. */
  gate?: Gate;
  /** Saves the tenant in the directory of tenants; never throws. Absent: no schedule needs the directory. */
  noteTenant?: (tenantId: string) => Promise<void>;
  /** Returns why a callback's URL is refused. Absent: clients do not submit by these ports. */
  callbackFault?: (url: string) => Promise<string | undefined>;
  /** Uploads that become files of tasks. Absent: the submitted tasks have no files, as those of handlers and schedules. */
  uploads?: Uploads;
}

/** An accepted task. `replayed` is true when an earlier request with the same key made it. */
export interface Accepted {
  record: TaskRecord;
  replayed: boolean;
}

/** An accepted task, as submitters see it. */
export const acceptedView = (record: TaskRecord, clock: Clock) => ({
  task_id: record.task_id,
  status: statusAt(record, iso(clock.now())),
  poll_url: `/tasks/${record.task_id}`,
  created_at: record.created_at,
});

/**
 * Accepts a task: check, write the record, send the envelope. When it returns, the record exists, and the message is in SQS
 * or its one-off schedule is in EventBridge Scheduler. A crash between the two breaks no promise: the client got no answer, and
 * its repeat with the same key sends again.
 * @throws Problem `invalid_input`, `unknown_task_type`, `too_large`, `idempotency_key_reused`, `unavailable`, and those of the
 * gate
 */
export async function submit(ports: SubmitPorts, call: SubmitCall): Promise<Accepted> {
  const body = checkBody(call.body);
  let task: NewTask;
  try {
    task = await admitNew(ports, call, body);
  } catch (refusal) {
    const earlier = await earlierTask(ports, call);
    if (earlier === undefined) throw refusal;
    return answerRepeat(ports, call, body, earlier);
  }
  const { record, envelope, admission } = task;
  const noting = ports.noteTenant?.(record.tenant_id);
  const existing = await orUnavailable(ports.records.create(record, iso(ports.clock.now()))).catch((error: unknown) => {
    admission.giveBack();
    throw error;
  });
  // Awaited, because Lambda freezes the process after the answer. Both writes run at the same time.
  await noting;
  if (existing === undefined) return sendFirst(ports, call, record, envelope, admission);
  admission.giveBack();
  return answerRepeat(ports, call, body, existing, record);
}

/** A task that passed every check and has not been written yet. */
interface NewTask {
  record: TaskRecord;
  envelope: Envelope;
  admission: Admission;
}

async function admitNew(ports: SubmitPorts, call: SubmitCall, body: SubmitBody): Promise<NewTask> {
  const checked: Checked = checkInput(ports.types, body, call.inputVersion);
  if (body.callback !== undefined) await checkCallback(ports, body.callback.url);
  const files = await orUnavailable(filesOf(ports, call, checked, body));
  const record = newRecord(ports, call, body, checked);
  const admission = await orUnavailable(admit(ports, call, record));
  try {
    return await orUnavailable(storeNew(ports, { record, checked, input: body.input }, files, admission));
  } catch (error) {
    admission.giveBack();
    throw error;
  }
}

/** @throws Problem `invalid_input` */
async function checkCallback({ callbackFault }: SubmitPorts, url: string): Promise<void> {
  const message = await callbackFault?.(url);
  if (message === undefined) return;
  throw new Problem("invalid_input", `callback.url: ${message}.`, { errors: [{ path: "/callback/url", message }] });
}

/** The code of files loads with the first task that has some. */
async function filesOf(ports: SubmitPorts, call: SubmitCall, { type }: Checked, body: SubmitBody) {
  if (type.files === undefined && body.files === undefined && call.files === undefined) return undefined;
  const { filesToTake, sharedFiles } = await import("./uploads/take-files.ts");
  return call.files === undefined ? filesToTake(ports, call.identity, type, body.files) : sharedFiles(type, call.files);
}

/** Stores what the record will name: a large input, and the claim on its files. */
async function storeNew(
  ports: SubmitPorts,
  { record, checked, input }: { record: TaskRecord; checked: Checked; input: unknown },
  toTake: FilesToTake | undefined,
  admission: Admission,
): Promise<NewTask> {
  const envelope = await storedEnvelope(ports, record, input);
  const files = await toTake?.(record);
  const counted = admission.counted ? { counted: true as const } : {};
  const whole = { ...record, ...counted, ...(files && { files }) };
  return { record: withKeptInput(whole, envelope, checked.type), envelope, admission };
}

/** The admission of a submit that no limit applies to. */
const unlimited: Admission = { counted: false, giveBack: () => {} };

function admit(ports: SubmitPorts, call: SubmitCall, record: TaskRecord): Promise<Admission> {
  if (ports.gate === undefined) return Promise.resolve(unlimited);
  const soon = Date.parse(record.due_at) - ports.clock.now() <= longestDelaySeconds * 1000;
  return ports.gate.admit({ tenantId: record.tenant_id, tier: record.priority, bytes: call.bytes ?? 0, soon });
}

/** The task that an earlier request with the same key made. The same key gets the same answer, also over a limit. */
async function earlierTask(ports: SubmitPorts, call: SubmitCall): Promise<TaskRecord | undefined> {
  if (call.idempotencyKey === undefined) return undefined;
  const key = { tenant_id: call.identity.tenantId, task_id: newTaskId(ports, call) };
  const record = await orUnavailable(ports.records.get(key));
  return record !== undefined && isKept(record, ports.clock.now()) ? record : undefined;
}

/**
 * Answers a call whose key already has a task. The message is sent again if the earlier call may not have sent it.
 * @param fresh The record that this call would have written. Undefined: the call was refused before.
 * @throws Problem `idempotency_key_reused` when the earlier request was a different one
 */
async function answerRepeat(
  ports: SubmitPorts,
  call: SubmitCall,
  body: SubmitBody,
  existing: TaskRecord,
  fresh?: TaskRecord,
): Promise<Accepted> {
  const sameRequest = existing.request_hash === fingerprint(call.body);
  const newShape = fresh !== undefined && isChildInNewShape(existing, fresh);
  if (!sameRequest && !newShape) {
    // The key is the caller's own, and so is its task.
    const extra = { task_id: existing.task_id };
    throw new Problem("idempotency_key_reused", "This Idempotency-Key was used with a different request.", { extra });
  }
  if (existing.status === "pending" && existing.attempts_total === 0) {
    // The same request keeps the meaning that it had then, whatever version its type has now.
    const envelope = storedEnvelope(ports, sameRequest ? existing : (fresh ?? existing), body.input);
    await send(ports, existing, await orUnavailable(envelope));
  }
  return { record: existing, replayed: true };
}

/**
 * After a deployment, an attempt submits the child of an earlier attempt in its new shape: the earlier submit counts. A family
 * also counts the child that it has under a key, whatever a later attempt spawns under that key.
 */
const isChildInNewShape = (existing: TaskRecord, fresh: TaskRecord): boolean =>
  fresh.parent_id !== undefined &&
  existing.type === fresh.type &&
  (existing.input_version !== fresh.input_version || fresh.family_leaf !== undefined);

async function sendFirst(
  ports: SubmitPorts,
  call: SubmitCall,
  record: TaskRecord,
  envelope: Envelope,
  admission: Admission,
): Promise<Accepted> {
  try {
    await send(ports, record, envelope);
  } catch (error) {
    if (call.idempotencyKey === undefined) {
      await withdraw(ports, record);
      admission.giveBack();
    }
    throw error;
  }
  reportSubmitted(ports, record, envelope.message_id);
  return { record, replayed: false };
}

const send = (ports: SubmitPorts, record: TaskRecord, envelope: Envelope): Promise<void> =>
  orUnavailable(dispatch(ports, record, envelope));

/**
 * Removes a record whose id no client knows. Not for a call with an idempotency key: a repeat with the key may have sent the
 * message already.
 */
async function withdraw(ports: SubmitPorts, record: TaskRecord): Promise<void> {
  const change = {
    when: { status: { is: "pending" }, attempts_total: { is: 0 } },
    set: { purge_at: Math.floor(ports.clock.now() / 1000) },
  } as const;
  await ports.records.change(record, change).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
  });
}

/**
 * Runs a step whose failure a client can repeat.
 * @throws Problem `unavailable` in place of `PortUnavailable`
 */
export async function orUnavailable<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    throw new Problem("unavailable", "The task could not be accepted now. Nothing was lost; try again.", {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
}
