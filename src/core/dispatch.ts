import type { Envelope } from "./envelope.ts";
import type { Metrics } from "./metrics.ts";
import type { Clock, Log, OneOffs, Queues, Records } from "./ports.ts";
import { iso } from "./record.ts";
import type { Tier } from "./tier.ts";

/** The longest wait that SQS holds a message back for. */
export const longestDelaySeconds = 900;

/** A one-off schedule is set this much before the due time: EventBridge Scheduler is exact to the minute only. */
const scheduleLeadSeconds = 60;

/** What `dispatch` needs. */
export interface DispatchPorts {
  clock: Clock;
  records: Records;
  queues: Queues;
  oneOffs: OneOffs;
  /** Told of every change of a task's status. */
  log: Log;
  metrics: Metrics;
}

export interface Dispatch {
  envelope: Envelope;
  tier: Tier;
  /** Epoch milliseconds before which no attempt starts. */
  dueAt: number;
  /** Attempts started so far over all rounds: names the one-off schedule, so that a repeat finds its own. */
  attemptsTotal: number;
  /** From the record: how long the copy of the envelope may stay. */
  purgeAt: number;
  /** Default: false. */
  solo?: boolean;
  /** Default: 0. */
  redrives?: number;
}

/**
 * The name of the one-off schedule of a waiting task: the same for each dispatch of one wait. The due time tells it from a
 * schedule that an earlier task with the same idempotency key left behind.
 * @param dueAt Epoch milliseconds.
 */
export const oneOffName = (taskId: string, attemptsTotal: number, dueAt: number): string =>
  `${taskId}.${attemptsTotal}.${Math.floor(dueAt / 1000)}`;

/**
 * Puts work into a tier: the one way in. Now, or held back by SQS for up to 15 minutes, or by a one-off schedule for longer.
 * Repeatable: a second call makes a twin, which the claim lets through only once.
 * @throws PortUnavailable
 */
export async function dispatch(ports: DispatchPorts, work: Dispatch): Promise<void> {
  const waitSeconds = Math.max(0, Math.ceil((work.dueAt - ports.clock.now()) / 1000));
  if (waitSeconds <= longestDelaySeconds) {
    await ports.queues.send({
      tier: work.tier,
      envelope: work.envelope,
      delaySeconds: waitSeconds,
      solo: work.solo ?? false,
      redrives: work.redrives ?? 0,
    });
    return;
  }
  const { tenant_id, task_id } = work.envelope;
  const key = { tenant_id, task_id };
  await ports.records.savePart(key, "envelope", work.envelope, work.purgeAt);
  await ports.oneOffs.create({
    name: oneOffName(task_id, work.attemptsTotal, work.dueAt),
    at: iso(work.dueAt - scheduleLeadSeconds * 1000),
    payload: { kind: "task", ...key },
  });
}
