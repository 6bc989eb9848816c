import type { Change, Changed } from "../../model/change.ts";
import type { Classified } from "../../model/classify.ts";
import { type Attempt, iso, type TaskRecord } from "../../model/record.ts";
import type { AttemptOutcome } from "../../model/words.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { Settled } from "../../task/limiter.ts";
import * as extras from "../send/extras.ts";
import { retention, sameRetention } from "../send/retention.ts";

/**
 * Makes the change that ends an attempt. If the task was extended at the same time, the change is made again with the
 * longer retention, and so is that of a parent that waits if it got a signal. If the task was cancelled, the attempt is
 * settled as cancelled. Otherwise the record has changed, and the result is `stale`.
 */
export async function endAs(
  ports: EndPorts,
  as: Exclude<Settled["as"], "stale">,
  record: TaskRecord,
  fenced: Change["when"],
  end: (record: TaskRecord) => Promise<Changed>,
): Promise<Settled> {
  const changed = await end(record);
  if (changed.done) return { as, record: changed.record };
  const current = changed.record;
  const mine = current?.status === "processing" && current.attempts_total === record.attempts_total;
  if (!mine) return { as: "stale", record: current };
  const { retention_seconds, signals = 0 } = current;
  const hasNewSignal = as === "waiting" && signals > (record.signals ?? 0);
  if (retention_seconds > record.retention_seconds || hasNewSignal) {
    const present = { ...record, retention_seconds, ...(hasNewSignal && { signals }) };
    return endAs(ports, as, present, fenced, end);
  }
  if (as === "cancelled" || current.cancel_requested_at === undefined) return { as: "stale", record: current };
  return endCancelled(ports, record, fenced);
}

/**
 * Ends an attempt as cancelled.
 * @param interrupted Says what was interrupted. Undefined: the handler had stopped.
 */
export const endCancelled = (
  ports: EndPorts,
  claimed: TaskRecord,
  fenced: Change["when"],
  interrupted?: string,
): Promise<Settled> =>
  endAs(ports, "cancelled", claimed, fenced, async (record) => {
    const now = iso(ports.clock.now());
    const kept = retention(ports, record);
    await extras.keepEnded(ports, record, kept.purge_at);
    return ports.records.change(record, {
      when: { ...fenced, ...sameRetention(record) },
      set: { status: "cancelled", updated_at: now, finished_at: now, ...kept },
      remove: ["lease_until", "lease_token", "cancel_requested_at"],
      append: {
        ...attemptOf(record, now, "cancelled"),
        ...(interrupted !== undefined && { error: interrupted.slice(0, 500), error_type: "AttemptInterrupted" }),
      },
    });
  });

/** The condition that no signal has come whose entry the attempt has not kept for a long wait. */
export const sameSignals = ({ signals }: TaskRecord): Change["when"] => ({
  signals: signals === undefined ? { absent: true } : { is: signals },
});

/** The history entry of the record's running attempt. */
export function attemptOf(
  record: TaskRecord,
  finishedAt: string,
  outcome: AttemptOutcome,
  failure?: Classified,
  stack?: string,
): Attempt {
  return {
    round: record.round,
    number: record.attempts,
    started_at: record.started_at ?? record.updated_at,
    finished_at: finishedAt,
    outcome,
    ...(failure === undefined
      ? {}
      : { error: failure.message.slice(0, 500), error_type: failure.type, error_kind: failure.kind }),
    ...(stack === undefined ? {} : { stack }),
  };
}
