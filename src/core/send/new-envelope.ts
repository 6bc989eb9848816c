import { type Envelope, schemaVersion } from "../model/envelope.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import type { Clock, NewId } from "../ports/tasks.ts";

/** Builds the message of a task, of any size. */
export function newEnvelope(ports: { clock: Clock; newId: NewId }, record: TaskRecord, input: unknown): Envelope {
  return {
    schema_version: schemaVersion,
    message_id: ports.newId(),
    task_id: record.task_id,
    type: record.type,
    tenant_id: record.tenant_id,
    requested_by: record.requested_by,
    correlation_id: record.correlation_id,
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
    enqueued_at: iso(ports.clock.now()),
    max_attempts: record.max_attempts,
    ...(record.input_version === undefined ? {} : { input_version: record.input_version }),
    // An input that was left out is no null: its type may have a default.
    ...(input === undefined ? {} : { input }),
  };
}
