import type { Envelope } from "../../src/core/model/envelope.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import { sameIds } from "./ids.ts";

const freshId = sameIds("records");
let records = 0;

/** A record as submit writes it, of a fresh task. */
export function newRecord(more: Partial<TaskRecord> = {}): TaskRecord {
  records += 1;
  const at = "2027-01-01T00:00:00.000Z";
  return {
    tenant_id: "acme",
    task_id: freshId(),
    type: "echo",
    priority: "normal",
    status: "pending",
    requested_by: "olga",
    correlation_id: `corr-${records}`,
    request_hash: "hash",
    created_at: at,
    updated_at: at,
    round: 1,
    attempts: 0,
    attempts_total: 0,
    max_attempts: 5,
    due_at: at,
    retention_seconds: 604_800,
    history: [],
    purge_at: Date.parse(at) / 1000 + 86_400 * 21,
    ...more,
  };
}

/** The envelope of a record. */
export const envelopeOf = (record: TaskRecord, input: unknown = { value: null }): Envelope => ({
  schema_version: "1.0",
  message_id: freshId(),
  task_id: record.task_id,
  type: record.type,
  tenant_id: record.tenant_id,
  requested_by: record.requested_by,
  correlation_id: record.correlation_id,
  enqueued_at: record.created_at,
  max_attempts: record.max_attempts,
  input,
});
