import type { FilesToTake } from "../../extras/files/take-files.ts";
import type { Admission } from "../../limits/gate.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { fieldProblem } from "../../model/field-problem.ts";
import { fingerprint, taskIdOf, uniqueKeyOf } from "../../model/idempotency.ts";
import { Problem } from "../../model/problem.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../../model/record.ts";
import { keptKey } from "../../model/result-key.ts";
import type { Clock, NewId } from "../../ports/tasks.ts";
import type { KnownType } from "../../task/catalog.ts";
import { dispatch, longestDelaySeconds } from "../send/dispatch.ts";
import { keepForWait, withKeptInput } from "../send/kept-input.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { reportSubmitted } from "../send/report.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "./submit-ports.ts";
import { type Checked, checkInput } from "./usual-submit.ts";

/** A submit that passed every check. Nothing of it is stored yet. */
export interface Admitted {
  /** Version of its input. */
  version: number;
  admission: Admission;
  /**
   * Stores what the record will name: a large input, and the claim on its files. @throws Problem `unavailable`,
   * `too_large`
   * @param list The fields of a task that collects inputs: its message has none.
   */
  store(list?: Pick<TaskRecord, "collects">): Promise<NewTask>;
}

/** Checks and admits a submit. @throws Problem */
export async function admit(ports: SubmitPorts, call: SubmitCall, body: SubmitBody): Promise<Admitted> {
  const checked = await checkInput(ports.types, body, call.inputVersion);
  if (body.callback !== undefined) await checkCallback(ports, body.callback.url);
  const files = await orUnavailable(filesOf(ports, call, checked, body));
  const record = newRecord(ports, call, body, checked);
  const admission = await orUnavailable(admitCall(ports, call, record));
  const store = (list?: Pick<TaskRecord, "collects">) => {
    const task =
      list === undefined ? { record, input: body.input } : { record: { ...record, ...list }, input: undefined };
    return orUnavailable(storeNew(ports, { ...task, checked }, files, admission));
  };
  return { version: checked.version, admission, store };
}

/** Checks, admits and stores a submit. @throws Problem */
export async function admitNew(ports: SubmitPorts, call: SubmitCall, body: SubmitBody): Promise<NewTask> {
  const { admission, store } = await admit(ports, call, body);
  try {
    return await store();
  } catch (error) {
    admission.giveBack();
    throw error;
  }
}

/** @throws Problem `invalid_input` */
async function checkCallback({ callbackFault }: SubmitPorts, url: string): Promise<void> {
  const message = await callbackFault?.(url);
  if (message !== undefined) throw fieldProblem("callback/url", message);
}

/** The code of files loads with the first task that has some. */
async function filesOf(ports: SubmitPorts, call: SubmitCall, { type }: Checked, body: SubmitBody) {
  if (type.files === undefined && body.files === undefined && call.files === undefined) return undefined;
  const { filesToTake, sharedFiles } = await import("../../extras/files/take-files.ts");
  if (call.files !== undefined) return sharedFiles(type, call.files);
  return filesToTake(ports, call.identity, type, { ids: body.files, sent: call.sent });
}

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
  const { type } = checked;
  return { record: withKeptInput(whole, envelope, type), envelope, admission, type };
}

/** The admission of a submit that no limit applies to. */
const unlimited: Admission = { counted: false, giveBack: () => {}, giveBackTask: () => {} };

function admitCall(ports: SubmitPorts, call: SubmitCall, record: TaskRecord): Promise<Admission> {
  if (ports.gate === undefined) return Promise.resolve(unlimited);
  const soon = Date.parse(record.due_at) - ports.clock.now() <= longestDelaySeconds * 1000;
  return ports.gate.admit({ tenantId: record.tenant_id, tier: record.priority, bytes: call.bytes ?? 0, soon });
}

/** A task that was admitted and has not been written yet, with all that its record names. */
export interface NewTask {
  record: TaskRecord;
  envelope: Envelope;
  admission: Admission;
  type: KnownType;
}

/** Sends the message of a new task. If that fails, a task whose id no client knows is withdrawn. */
export async function sendFirst(
  ports: SubmitPorts,
  call: SubmitCall,
  { record, envelope, admission, type }: NewTask,
): Promise<Accepted> {
  try {
    // After the record: a refused repeat must not replace what an earlier call has stored.
    await orUnavailable(keepForWait(ports, record, envelope, type));
    await send(ports, record, envelope);
  } catch (error) {
    if (call.idempotencyKey === undefined) {
      await withdraw(ports, record);
      admission.giveBack();
    }
    throw error;
  }
  reportSubmitted(ports, record);
  return { record, replayed: false };
}

/** Sends the message of a task. @throws Problem `unavailable` */
export const send = (ports: SubmitPorts, record: TaskRecord, envelope: Envelope): Promise<void> =>
  orUnavailable(dispatch(ports, record, envelope));

/**
 * A withdrawn record was to be kept until this many seconds ago, so that it is gone for submits whose clocks are
 * behind, too.
 */
const withdrawnSeconds = 3600;

/**
 * Removes a record whose id no client knows. Returns true when it is removed for certain. Not for a call with an
 * idempotency key: a repeat with the key may have sent the message already. The record of a unique task names the call
 * that may withdraw it, until another call is about to send its message.
 */
export async function withdraw(ports: Pick<SubmitPorts, "clock" | "records">, record: TaskRecord): Promise<boolean> {
  const { sender } = record;
  const change = {
    when: {
      status: { is: "pending" },
      attempts_total: { is: 0 },
      ...(sender !== undefined && { sender: { is: sender } }),
    },
    set: { purge_at: Math.floor(ports.clock.now() / 1000) - withdrawnSeconds },
  } as const;
  try {
    return (await ports.records.change(record, change)).done;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    return false;
  }
}

/** The key is the caller's own, and so is its task. */
export const keyReused = (task_id: string): Problem =>
  new Problem("idempotency_key_reused", "This Idempotency-Key was used with a different request.", {
    extra: { task_id },
  });

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

interface NewTaskPorts {
  clock: Clock;
  newId: NewId;
}

/** Default of `retention_seconds`: a week. */
const defaultRetentionSeconds = 604_800;

/** Builds the record of a submitted task. */
function newRecord(ports: NewTaskPorts, call: SubmitCall, body: SubmitBody, { type, version }: Checked): TaskRecord {
  const { identity } = call;
  const now = ports.clock.now();
  const requestedAt = requestedStartMs(body, now);
  const dueAt = Math.max(now, requestedAt ?? now);
  const retentionSeconds = body.retention_seconds ?? defaultRetentionSeconds;
  // Counted from the time at which the task is first due: before that, it cannot start.
  const expiresAt = body.expires_in_seconds === undefined ? undefined : iso(dueAt + body.expires_in_seconds * 1000);
  return withoutUndefined({
    tenant_id: identity.tenantId,
    task_id: newTaskId(ports, call),
    type: type.name,
    priority: body.priority ?? type.priority,
    runs_on: type.runs_on,
    status: "pending",
    requested_by: identity.principal,
    own_list: identity.role === "submitter" ? true : undefined,
    correlation_id: call.correlationId,
    correlation_given: call.correlationGiven,
    traceparent: call.traceparent,
    tags: Object.keys(body.tags ?? {}).length === 0 ? undefined : body.tags,
    input_version: version === 1 ? undefined : version,
    unique_key: body.unique === undefined ? undefined : uniqueKeyOf(identity, body.unique),
    request_hash: fingerprint(call.body),
    created_at: iso(now),
    updated_at: iso(now),
    round: 1,
    attempts: 0,
    attempts_total: 0,
    max_attempts: body.max_attempts ?? type.max_attempts,
    due_at: iso(dueAt),
    run_at: requestedAt === undefined ? undefined : iso(requestedAt),
    expires_at: expiresAt,
    start_by: expiresAt,
    retention_seconds: retentionSeconds,
    history: [],
    purge_at: Math.ceil(dueAt / 1000) + longestQueueLifeSeconds + retentionSeconds,
    schedule_id: call.schedule?.scheduleId,
    scheduled_for: call.schedule?.scheduledFor,
    parent_id: call.parentId,
    result_key: body.result_key === undefined ? undefined : keptKey(body.result_key),
    callback: body.callback,
    push_result: type.push_result,
    caused_by: call.causedBy,
    on_failed_attempts: type.on_failed ? type.max_attempts : undefined,
    ...call.family,
  });
}

/** Start that a submit asks for, in epoch milliseconds. Undefined: at once. */
export function requestedStartMs({ run_at, delay_seconds, unique }: SubmitBody, nowMs: number): number | undefined {
  const delaySeconds = delay_seconds ?? unique?.wait_seconds;
  return run_at ?? (delaySeconds === undefined ? undefined : nowMs + delaySeconds * 1000);
}

/** The id of a call's task. An idempotency key makes the id, so that a repeat finds the same record. */
export const newTaskId = (ports: NewTaskPorts, { identity, idempotencyKey }: SubmitCall): string =>
  idempotencyKey === undefined ? ports.newId() : taskIdOf(identity.tenantId, identity.principal, idempotencyKey);

/** Removes fields that are undefined: in a record, absence has a meaning of its own. */
function withoutUndefined(record: { [Name in keyof TaskRecord]: TaskRecord[Name] | undefined }): TaskRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as unknown as TaskRecord;
}
