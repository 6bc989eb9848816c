import type { DeadLetterMessage, Envelope } from "../model/envelope.ts";
import { type ErrorKind, errorKinds } from "../model/errors.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import type { Clock, Log, Records } from "../ports/tasks.ts";
import { letterRetention } from "../send/retention.ts";

interface RestorePorts {
  records: Records;
  clock: Clock;
}

/**
 * Retention that a restored task gets once it has ended otherwise, in seconds: the default of a submit. Nobody knows
 * its own any more.
 */
const usualRetentionSeconds = 7 * 86_400;

/** A time as Offload writes it: others do not compare as text. */
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text);

const kindOf = (kind: string): ErrorKind | undefined => errorKinds.find((one) => one === kind);

/**
 * Makes a record from a message of the DLQ whose task has none any more, such as after the table was restored to an
 * earlier time: the dead letter is listed with what the message holds, and can be replayed. What only the record had is
 * lost: tags, files, callback, history, a retention of more than 14 days.
 * @returns False: Offload did not write the message, or somebody else has made the record.
 */
export async function restoreLetter(
  ports: RestorePorts,
  letter: DeadLetterMessage & { original_message: Envelope },
  log: Pick<Log, "warn">,
): Promise<boolean> {
  const { original_message: envelope, failure_kind, first_failed_at, last_failed_at } = letter;
  const kind = kindOf(failure_kind);
  if (kind === undefined || ![envelope.enqueued_at, first_failed_at, last_failed_at].every(isTime)) return false;
  const record = recordFrom(ports, letter, kind);
  // Before the record: a dead letter that is listed can be replayed.
  await ports.records.savePart(record, "envelope", envelope, record.purge_at);
  const earlier = await ports.records.create(record, iso(ports.clock.now()));
  const { tenant_id, task_id, type } = record;
  if (earlier === undefined)
    log.warn("a dead letter had no record any more: its message in the DLQ is the record now", {
      tenant_id,
      task_id,
      type,
    });
  return earlier === undefined || earlier.dead_letter_at === last_failed_at;
}

function recordFrom(
  ports: RestorePorts,
  { original_message: envelope, ...letter }: DeadLetterMessage & { original_message: Envelope },
  kind: ErrorKind,
): TaskRecord {
  const attempts = Math.min(Math.max(0, Math.floor(letter.attempt_count)), 20);
  const record: TaskRecord = {
    tenant_id: envelope.tenant_id,
    task_id: envelope.task_id,
    type: envelope.type,
    priority: letter.original_queue,
    status: "failed",
    requested_by: envelope.requested_by,
    correlation_id: envelope.correlation_id,
    ...(envelope.traceparent !== undefined && { traceparent: envelope.traceparent }),
    ...(envelope.input_version !== undefined && { input_version: envelope.input_version }),
    request_hash: "restored",
    created_at: envelope.enqueued_at,
    updated_at: iso(ports.clock.now()),
    round: 1,
    attempts,
    attempts_total: attempts,
    max_attempts: envelope.max_attempts,
    due_at: envelope.enqueued_at,
    retention_seconds: usualRetentionSeconds,
    finished_at: letter.last_failed_at,
    history: [],
    error: letter.failure_reason,
    error_type: letter.failure_type,
    error_kind: kind,
    ...(kind === "business_rule" && { needs_review: true as const }),
    first_failed_at: letter.first_failed_at,
    dead_letter_at: letter.last_failed_at,
    // The message is there.
    buried_at: letter.last_failed_at,
    purge_at: 0,
  };
  return { ...record, ...letterRetention(ports, record) };
}
