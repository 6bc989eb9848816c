import type { Envelope } from "../../model/envelope.ts";
import type { WrittenLater } from "../../model/errors.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import type { Log, Metrics } from "../../ports/tasks.ts";

/** The longest delay of an SQS message, in seconds. */
export const longestDelaySeconds = 900;

/**
 * A one-off schedule fires this long before the due time, in seconds: EventBridge Scheduler is exact to the minute
 * only.
 */
const scheduleLeadSeconds = 60;

/** The fields of a record that decide when and where its message goes. */
export type Waiting = Pick<
  TaskRecord,
  "priority" | "runs_on" | "due_at" | "attempts_total" | "purge_at" | "error_kind"
>;

/**
 * The name of the one-off schedule of a waiting task: the same for each dispatch of one wait. The due time tells it
 * from a schedule that an earlier task with the same idempotency key left behind.
 * @param dueAt Epoch milliseconds.
 */
export const oneOffName = (taskId: string, attemptsTotal: number, dueAt: number): string =>
  `${taskId}.${attemptsTotal}.${Math.floor(dueAt / 1000)}`;

/** The id of the task whose one-off has this name. Returns undefined when the name is not that of a one-off. */
export const taskOfOneOff = (name: string): string | undefined => /^([\da-f-]{36})\.\d+\.\d+$/.exec(name)?.[1];

/**
 * Sends a pending task's message to its tier: the only way into a tier. It sends now, or with a delay of up to 15
 * minutes, or creates a one-off schedule for a longer wait. A task whose last attempt crashed is marked to run alone.
 * Repeatable: a second call makes a twin, and the claim lets only one of the two through.
 * @param redrives How often redrive already put this message back. Default: 0.
 * @throws PortUnavailable
 */
export async function dispatch(
  ports: DispatchPorts,
  waiting: Waiting,
  envelope: Envelope,
  redrives = 0,
): Promise<void> {
  const dueAt = Date.parse(waiting.due_at);
  const waitSeconds = Math.max(0, Math.ceil((dueAt - ports.clock.now()) / 1000));
  if (waitSeconds <= longestDelaySeconds) {
    const solo = waiting.error_kind === "crashed";
    const { priority: tier, runs_on: runsOn } = waiting;
    await ports.queues.send({ tier, runsOn, envelope, delaySeconds: waitSeconds, solo, redrives });
    return;
  }
  const { tenant_id, task_id } = envelope;
  const key = { tenant_id, task_id };
  await ports.records.savePart(key, "envelope", envelope, waiting.purge_at);
  await ports.oneOffs.create({
    name: oneOffName(task_id, waiting.attempts_total, dueAt),
    at: iso(dueAt - scheduleLeadSeconds * 1000),
    payload: { kind: "task", ...key },
  });
}

/** A message that waits for a later release comes again after this time, in seconds, or up to twice of it. */
const laterSeconds = 150;

/** The delay of a message that waits for a later release, in seconds. Many such messages do not come at once. */
export const laterReleaseSeconds = ({ random }: { random: () => number }): number =>
  Math.ceil(laterSeconds * (1 + random()));

interface SayPorts {
  log: Log;
  /** A process has one object of these: it tells which forms were said. */
  metrics: Metrics;
}

const saidBy = new WeakMap<Metrics, Set<string>>();

/** Says once in each process that a later release has written a form which this one cannot read. */
export function sayLater({ log, metrics }: SayPorts, { form }: Pick<WrittenLater, "form">): void {
  const said = saidBy.get(metrics) ?? new Set();
  saidBy.set(metrics, said);
  if (said.has(form)) return;
  said.add(form);
  log.warn("a later release has written what this one cannot read; it waits for that release", { form });
}
