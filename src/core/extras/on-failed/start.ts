import * as z from "zod";
import type { Envelope } from "../../model/envelope.ts";
import { onFailedName } from "../../model/internal-names.ts";
import { Problem } from "../../model/problem.ts";
import type { TaskRecord } from "../../model/record.ts";
import { onFailedId, onFailedKey } from "../../pipeline/end/on-failed-of.ts";
import { newestKept } from "../../pipeline/send/kept-input.ts";
import { deadLetterSeconds } from "../../pipeline/send/retention.ts";
import { submit } from "../../pipeline/submit/submit.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { KnownType } from "../../task/catalog.ts";
import type { FailedTask } from "../../task/retry.ts";

/** The failed task's message is kept for this time for its `onFailed`, in seconds: longer than its attempts take. */
const inputSeconds = 90 * 86_400;

/** The longest retention of a submit, in seconds. */
const longestRetentionSeconds = 2_592_000;

/**
 * Submits the task that runs the `onFailed` of a failed round, with the failed task's message beside it. It waits
 * behind the same queue as the failed task did.
 * @param given The failed task's message. Undefined: the stored one, or it is lost.
 * @throws PortUnavailable, Problem `unavailable`
 */
export async function startOnFailed(ports: EndPorts, record: TaskRecord, given: Envelope | undefined): Promise<void> {
  const { tenant_id } = record;
  const stored = given ?? ((await ports.records.loadPart(record, "envelope")) as Envelope | undefined);
  if (stored !== undefined) {
    const envelope = await newestKept(ports, record, stored);
    const purgeAt = Math.ceil(ports.clock.now() / 1000) + inputSeconds;
    await ports.records.savePart({ tenant_id, task_id: onFailedId(record) }, "failed", envelope, purgeAt);
  }
  try {
    await submit({ ...ports, types: new Map([[onFailedName, knownType(record)]]) }, callOf(record));
  } catch (error) {
    // An earlier call has started it, and the record has changed since.
    if (!(error instanceof Problem) || error.code !== "idempotency_key_reused") throw error;
  }
}

const callOf = (record: TaskRecord) => ({
  identity: {
    tenantId: record.tenant_id,
    principal: record.requested_by,
    role: record.own_list ? ("submitter" as const) : ("operator" as const),
  },
  body: {
    type: onFailedName,
    input: failedTaskOf(record),
    priority: record.priority,
    max_attempts: record.on_failed_attempts,
    // At least as long as the dead letter: its id must not be free while something may start it again.
    retention_seconds: Math.min(longestRetentionSeconds, Math.max(deadLetterSeconds, record.retention_seconds)),
  },
  idempotencyKey: onFailedKey(record),
  correlationId: record.correlation_id,
  traceparent: record.traceparent,
  causedBy: record.task_id,
});

const failedTaskOf = (record: TaskRecord): FailedTask => ({
  task_id: record.task_id,
  type: record.type,
  error: record.error ?? "",
  error_type: record.error_type ?? "Error",
  error_kind: record.error_kind ?? "permanent",
  attempts: record.attempts,
  failed_at: record.finished_at ?? record.updated_at,
});

const knownType = ({ priority, runs_on, on_failed_attempts = 1 }: TaskRecord): KnownType => ({
  ...{ name: onFailedName, description: "", input_schema: {}, input: z.unknown(), version: 1 },
  ...{ priority, timeout_seconds: 60, max_attempts: on_failed_attempts, cancellable: true },
  ...(runs_on && { runs_on }),
});
