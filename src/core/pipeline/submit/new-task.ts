import { fingerprint, taskIdOf } from "../../model/idempotency.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../../model/record.ts";
import { keptKey } from "../../model/result-key.ts";
import { uniqueKeyOf } from "../../model/unique-key.ts";
import type { Clock, NewId } from "../../ports/tasks.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { SubmitCall } from "./submit-ports.ts";
import type { Checked } from "./usual-submit.ts";

interface NewTaskPorts {
  clock: Clock;
  newId: NewId;
}

/** Default of `retention_seconds`: a week. */
const defaultRetentionSeconds = 604_800;

/** Builds the record of a submitted task. */
export function newRecord(
  ports: NewTaskPorts,
  call: SubmitCall,
  body: SubmitBody,
  { type, version }: Checked,
): TaskRecord {
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
    ...onFailedOf(call, type),
    ...call.family,
  });
}

/** Start that a submit asks for, in epoch milliseconds. Undefined: at once. */
export function requestedStartMs({ run_at, delay_seconds, unique }: SubmitBody, nowMs: number): number | undefined {
  const delaySeconds = delay_seconds ?? unique?.wait_seconds;
  return run_at ?? (delaySeconds === undefined ? undefined : nowMs + delaySeconds * 1000);
}

const onFailedOf = ({ causedBy }: SubmitCall, type: Checked["type"]) => ({
  caused_by: causedBy,
  on_failed_attempts: type.on_failed ? type.max_attempts : undefined,
});

/** The id of a call's task. An idempotency key makes the id, so that a repeat finds the same record. */
export const newTaskId = (ports: NewTaskPorts, { identity, idempotencyKey }: SubmitCall): string =>
  idempotencyKey === undefined ? ports.newId() : taskIdOf(identity.tenantId, identity.principal, idempotencyKey);

/** Removes fields that are undefined: in a record, absence has a meaning of its own. */
function withoutUndefined(record: { [Name in keyof TaskRecord]: TaskRecord[Name] | undefined }): TaskRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as unknown as TaskRecord;
}
