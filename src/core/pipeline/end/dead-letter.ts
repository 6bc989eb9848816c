import type { Change, Changed } from "../../model/change.ts";
import { type Classified, errorFields } from "../../model/classify.ts";
import type { DeadLetterMessage, Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { systemTenant } from "../../model/internal-names.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import { againWhenUnavailable, type Verdict } from "../../ports/queues.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import type { Clock, Delivery, Log, Metrics, Records } from "../../ports/tasks.ts";
import * as extras from "../send/extras.ts";
import { newestKept } from "../send/kept-input.ts";
import { deadLetterRetention, sameRetention } from "../send/retention.ts";
import { requestSweep } from "./request-own-task.ts";

/**
 * Makes a task a dead letter: stores its envelope, so that a replay finds it, then makes one conditional update.
 * `followUp` sends the DLQ's message.
 * @param envelope Undefined: it is lost. The task then has no message in the DLQ, and cannot be replayed.
 */
export async function failForGood(
  ports: EndPorts,
  record: TaskRecord,
  envelope: Envelope | undefined,
  failure: Classified,
  change: Pick<Change, "when" | "set" | "append">,
): Promise<Changed> {
  const now = iso(ports.clock.now());
  const kept = deadLetterRetention(ports, record);
  await extras.keep(ports, record, kept.purge_at);
  if (envelope !== undefined) {
    const until = Math.max(record.purge_at, kept.purge_at);
    await ports.records.savePart(record, "envelope", await newestKept(ports, record, envelope), until);
  }
  return ports.records.change(record, {
    ...change,
    when: { ...change.when, ...sameRetention(record) },
    set: {
      ...change.set,
      status: "failed",
      updated_at: now,
      finished_at: now,
      dead_letter_at: now,
      first_failed_at: record.first_failed_at ?? now,
      ...kept,
      ...errorFields(failure),
      needs_review: failure.kind === "business_rule" ? true : undefined,
    },
    remove: [
      "lease_until",
      "lease_token",
      "buried_at",
      "kept_input",
      "retrying_in",
      ...(failure.kind === "business_rule" ? [] : (["needs_review"] as const)),
    ],
  });
}

export const deadLetterOf = (record: TaskRecord, envelope: Envelope): DeadLetterMessage => ({
  original_message: envelope,
  failure_reason: record.error ?? "unknown",
  failure_type: record.error_type ?? "Error",
  failure_kind: record.error_kind ?? "permanent",
  attempt_count: record.attempts,
  first_failed_at: record.first_failed_at ?? record.updated_at,
  last_failed_at: record.dead_letter_at ?? record.updated_at,
  original_queue: record.priority,
});

/**
 * Sends the DLQ's message of a dead letter that has none yet. Repeatable.
 * @param given The task's message. Undefined: the stored one.
 * @throws PortUnavailable
 */
export async function deadLetterOnce(ports: EndPorts, record: TaskRecord, given: Envelope | undefined): Promise<void> {
  if (record.status !== "failed" || record.dead_letter_at === undefined || record.buried_at !== undefined) return;
  const envelope = given ?? ((await ports.records.loadPart(record, "envelope")) as Envelope | undefined);
  if (envelope === undefined) return;
  const deadLetter = deadLetterOf(record, await newestKept(ports, record, envelope));
  await ports.queues.deadLetter(record.priority, deadLetter, record.tenant_id);
  ports.metrics.add("dead_lettered", 1, { tier: record.priority, type: record.type });
  const noted = await ports.records.change(record, {
    when: { status: { is: "failed" }, dead_letter_at: { is: record.dead_letter_at } },
    set: { buried_at: iso(ports.clock.now()) },
  });
  await noteNewFailure(ports, record);
  // It was revived in between, and the sweep that was requested then may be over.
  if (!noted.done) await requestSweep(ports, record.priority, record.correlation_id);
}

/** Sends an unreadable message to its tier's DLQ. */
export async function deadLetterUnreadable(ports: DispatchPorts, delivery: Delivery, reason: string): Promise<Verdict> {
  const now = iso(ports.clock.now());
  const deadLetter = {
    original_message: delivery.body,
    failure_reason: reason,
    failure_type: "UnreadableMessage",
    failure_kind: "validation",
    attempt_count: 0,
    first_failed_at: now,
    last_failed_at: now,
    original_queue: delivery.tier,
  };
  try {
    await ports.queues.deadLetter(delivery.tier, deadLetter, delivery.tenantId);
  } catch (error) {
    return againWhenUnavailable(error);
  }
  ports.metrics.add("dead_lettered", 1, { tier: delivery.tier, type: "unreadable" });
  const { messageId: message_id, tier } = delivery;
  ports.log.error("sent an unreadable message to the DLQ", {
    message_id,
    tier,
    outcome: "failed",
    error_kind: "validation",
  });
  return "done";
}

/** A failure that was seen is not new for this time, in milliseconds. */
const knownForMs = 86_400_000;

/** The line that the saved query "new failures" finds. */
export const newFailureLine = "a type fails with an error that it did not have in the last day";

interface NotePorts {
  clock: Clock;
  records: Pick<Records, "loadPart" | "savePart">;
  log: Log;
  metrics: Metrics;
}

/**
 * Counts a dead letter whose type had no other with this class of error in the last day. The alarm on the number of
 * dead letters stays on while old ones are kept, so it tells nobody of the next type that fails. All tenants count
 * together, in the tier `normal`: an alarm for each tier would cost four times as much. Never throws: what was not
 * noted counts with the next one.
 */
async function noteNewFailure(ports: NotePorts, record: TaskRecord): Promise<void> {
  const { clock, records, log, metrics } = ports;
  const { type, error_type: errorType = "", error_kind: errorKind } = record;
  const [place, part] = [{ tenant_id: systemTenant, task_id: "failures" }, `failure#${type}#${errorType}`] as const;
  const now = clock.now();
  try {
    const known = (await records.loadPart(place, part)) as { readonly until_ms: number } | undefined;
    if (known !== undefined && now < known.until_ms) return;
    const untilMs = now + knownForMs;
    await records.savePart(place, part, { until_ms: untilMs }, Math.ceil(untilMs / 1000));
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    log.warn("could not note whether a failure is new", { type, error: String(error) });
    return;
  }
  metrics.add("new_failure", 1, { tier: "normal", type });
  // Without the error's text, as the type may be sensitive.
  log.warn(newFailureLine, {
    ...{ type, error_type: errorType, error_kind: errorKind },
    ...{ task_id: record.task_id, tenant_id: record.tenant_id },
  });
}
