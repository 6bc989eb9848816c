import { taskIdOf } from "../idempotency.ts";
import type { Identity } from "../identity.ts";
import { Problem, type ProblemCode, withoutValues } from "../problem.ts";
import { isKept, iso, statusAt } from "../record.ts";
import { isTerminal } from "../status.ts";
import { type SubmitPorts, submit } from "../submit.ts";
import { align, asFarAsPossible, changesTooFast, nextRevision, type SchedulePorts, tidy } from "./align.ts";
import { nextTime, type Rule } from "./calendar.ts";
import type { ScheduledTask } from "./definition.ts";
import type { SchedulePayload } from "./rule-input.ts";
import type { ScheduleRecord } from "./schedule-record.ts";

export interface FireSchedulePorts extends SchedulePorts, SubmitPorts {}

/** One scheduled time of one schedule, as EventBridge Scheduler delivers it: at least once, and perhaps late. */
export interface ScheduleFiring extends SchedulePayload {
  /** ISO 8601 UTC with milliseconds. */
  scheduled_for: string;
}

/**
 * What became of a firing. `submitted`: there is a task for the time, of this delivery or an earlier one. `skipped`: there is
 * none, and the schedule says so. `refused`: the task was refused, and the schedule says why. `ignored`: nothing was due.
 */
export type FiringOutcome = "submitted" | "skipped" | "refused" | "ignored";

/**
 * A firing that is later than this is skipped if the rule has had a later time since: an outage is followed by the times of
 * the last quarter of an hour and the latest time, never by a burst of all that were missed.
 */
export const lateAfterSeconds = 900;

/** How many of the latest decisions of each kind a schedule remembers. */
const mostRemembered = 32;

/** How often a firing tries again when the schedule changes under it. */
const mostTries = 5;

/** What has nothing to do with the task: it is accepted when the firing is delivered again. */
const passing: ReadonlySet<ProblemCode> = new Set(["unavailable", "queue_full"]);

/** Whether a refusal is one that another delivery would meet again. */
export const isFinal = (error: unknown): error is Problem => error instanceof Problem && !passing.has(error.code);

/** The idempotency key of a scheduled time. No client can send it: theirs have no line breaks. */
export const firingKey = (scheduleId: string, scheduledFor: string): string =>
  `schedule\n${scheduleId}\n${scheduledFor}`;

/**
 * Submits the task of one scheduled time: exactly one, however often the firing is delivered.
 * @throws PortUnavailable, or a Problem that will pass, so that it is delivered again
 */
export async function fireSchedule(ports: FireSchedulePorts, firing: ScheduleFiring): Promise<FiringOutcome> {
  for (let tries = 0; tries < mostTries; tries++) {
    const schedule = await ports.schedules.get(firing);
    if (schedule?.state !== "ready") {
      // A rule without a schedule is what a create or a delete that failed half-way has left.
      await tidy(ports, firing);
      return ignored(ports, firing, "there is no such schedule");
    }
    if (!(await isOfRule(ports, firing, schedule))) return ignored(ports, firing, "it is not a time of the rule");
    const decision = await decide(ports, firing, schedule);
    if (decision.as === "ignore") return ignored(ports, firing, decision.reason);
    const next = noted(ports, firing, schedule, decision);
    if (next !== undefined && !(await ports.schedules.replace(next, schedule.revision))) continue;
    if (decision.as === "run") return submitFor(ports, firing, schedule);
    ports.log.warn("schedule skipped a time", { ...fieldsOf(firing), outcome: "skipped", reason: decision.reason });
    return "skipped";
  }
  throw changesTooFast();
}

const fieldsOf = ({ tenant_id, schedule_id, scheduled_for }: ScheduleFiring) => ({
  tenant_id,
  schedule_id,
  scheduled_for,
});

function ignored(ports: FireSchedulePorts, firing: ScheduleFiring, reason: string): FiringOutcome {
  ports.log.info("firing ignored", { ...fieldsOf(firing), outcome: "ignored", reason });
  return "ignored";
}

/**
 * Whether the firing comes from the schedule's rule as it is. One from an older rule may be under way while the rule is
 * changed, or come from a change that EventBridge Scheduler never heard of, which is mended here.
 */
async function isOfRule(ports: FireSchedulePorts, firing: ScheduleFiring, schedule: ScheduleRecord): Promise<boolean> {
  if (firing.rule_revision === schedule.rule_revision) return true;
  await align(ports, firing);
  const before = Date.parse(firing.scheduled_for) - 1;
  return nextTime(schedule, schedule.created_at, before) === firing.scheduled_for;
}

type Decision = { as: "run" } | { as: "skip"; reason: string } | { as: "ignore"; reason: string };

async function decide(ports: FireSchedulePorts, firing: ScheduleFiring, schedule: ScheduleRecord): Promise<Decision> {
  const { scheduled_for: at } = firing;
  const { starts_at = at, ends_at } = schedule;
  if (!schedule.enabled) return { as: "ignore", reason: "the schedule is paused" };
  if (at < schedule.enabled_since) return { as: "ignore", reason: "it was due before the schedule was enabled" };
  if (at < starts_at || (ends_at !== undefined && at >= ends_at))
    return { as: "ignore", reason: "it is out of bounds" };
  if (schedule.skips.includes(at)) return { as: "ignore", reason: "it was skipped before" };
  if (schedule.fired.includes(at)) return { as: "run" };
  const reason = lateness(schedule, at, ports.clock.now()) ?? (await overlap(ports, schedule));
  if (reason === undefined) return { as: "run" };
  // A time that has its task already is delivered once more.
  const own = await ports.records.get({ tenant_id: firing.tenant_id, task_id: taskIdFor(schedule, at) });
  return own === undefined ? { as: "skip", reason } : { as: "run" };
}

/** Why a firing is too late to count; undefined when it is not. */
export function lateness(rule: Rule, at: string, nowMs: number): string | undefined {
  const lateSeconds = Math.floor((nowMs - Date.parse(at)) / 1000);
  if (lateSeconds <= lateAfterSeconds) return undefined;
  // Counted from a time of its own, a rate needs no start.
  const { starts_at: _, ...unbounded } = rule;
  const later = nextTime({ ...unbounded, ...(rule.cron === undefined ? { starts_at: at } : {}) }, at, Date.parse(at));
  const superseded = later !== undefined && Date.parse(later) <= nowMs;
  return superseded ? `late: it came ${lateSeconds} s after its time, and there was a later time since` : undefined;
}

/** Why the last task forbids another one; undefined when it does not. */
async function overlap(ports: FireSchedulePorts, schedule: ScheduleRecord): Promise<string | undefined> {
  const { tenant_id, last_task_id } = schedule;
  if (schedule.overlap === "allow" || last_task_id === undefined) return undefined;
  const last = await ports.records.get({ tenant_id, task_id: last_task_id });
  const now = ports.clock.now();
  if (last === undefined || !isKept(last, now) || isTerminal(statusAt(last, iso(now)))) return undefined;
  return `overlap: task ${last_task_id} has not ended`;
}

/**
 * The record with the decision in it, written before anything else is done: of two deliveries at once, one finds what the
 * other has decided. Undefined when it is there already.
 */
function noted(
  ports: FireSchedulePorts,
  { scheduled_for: at }: ScheduleFiring,
  schedule: ScheduleRecord,
  decision: Decision,
): ScheduleRecord | undefined {
  const revision = nextRevision(ports, schedule);
  if (decision.as === "skip") {
    const skips = remember(schedule.skips, at);
    return { ...schedule, revision, skips, skipped: schedule.skipped + 1, last_skip_reason: decision.reason };
  }
  if (schedule.fired.includes(at)) return undefined;
  const { last_error: _, last_error_at: __, ...rest } = schedule;
  const next = { ...rest, revision, fired: remember(schedule.fired, at) };
  const isLatest = schedule.fired.every((time) => time < at);
  return isLatest ? { ...next, last_run_at: at, last_task_id: taskIdFor(schedule, at) } : next;
}

const remember = (times: readonly string[], at: string): string[] => [...times, at].slice(-mostRemembered);

const taskIdFor = (schedule: ScheduleRecord, at: string): string =>
  taskIdOf(schedule.tenant_id, schedule.created_by, firingKey(schedule.schedule_id, at));

async function submitFor(
  ports: FireSchedulePorts,
  firing: ScheduleFiring,
  schedule: ScheduleRecord,
): Promise<FiringOutcome> {
  const { task, input_version: inputVersion = 1 } = schedule;
  const identity: Identity = { tenantId: schedule.tenant_id, principal: schedule.created_by, role: "operator" };
  try {
    const { record } = await submitScheduled(ports, identity, { ...firing, task, inputVersion });
    ports.log.info("schedule fired", { ...fieldsOf(firing), outcome: "submitted", task_id: record.task_id });
    return "submitted";
  } catch (error) {
    if (!isFinal(error)) throw error;
    // The schedule's task was changed after this time got its own.
    if (error.code === "idempotency_key_reused") return "submitted";
    countRefusal(ports, schedule.task);
    ports.log.error("schedule's task refused", {
      ...fieldsOf(firing),
      outcome: "refused",
      error: withoutValues(error),
    });
    await asFarAsPossible(() => noteRefusal(ports, firing, schedule, error));
    return "refused";
  }
}

/** The task of one scheduled time. */
interface ScheduledSubmit {
  schedule_id: string;
  scheduled_for: string;
  task: ScheduledTask;
  /** Default: the present version of its type. */
  inputVersion?: number;
}

/** Counts a scheduled task that could not be submitted, in the tier that it would have had. */
export function countRefusal({ metrics, types }: SubmitPorts, { type, priority }: ScheduledTask): void {
  metrics.add("schedule_refused", 1, { tier: priority ?? types.get(type)?.priority ?? "normal", type });
}

/** Submits by the normal path, with schedule and scheduled time as the idempotency key. */
export const submitScheduled = (
  ports: SubmitPorts,
  identity: Identity,
  { schedule_id, scheduled_for, task, inputVersion }: ScheduledSubmit,
) =>
  submit(ports, {
    identity,
    body: task,
    idempotencyKey: firingKey(schedule_id, scheduled_for),
    correlationId: `${schedule_id}:${scheduled_for}`,
    schedule: { scheduleId: schedule_id, scheduledFor: scheduled_for },
    inputVersion,
  });

/** Puts the refusal in the place of the run that did not happen. */
async function noteRefusal(
  ports: FireSchedulePorts,
  { scheduled_for: at }: ScheduleFiring,
  before: ScheduleRecord,
  problem: Problem,
): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    const current = await ports.schedules.get(before);
    if (current?.state !== "ready") return;
    const next: ScheduleRecord = {
      ...(current.last_task_id === taskIdFor(current, at) ? withRunOf(current, before) : current),
      revision: nextRevision(ports, current),
      last_error: problem.detail,
      last_error_at: at,
    };
    if (await ports.schedules.replace(next, current.revision)) return;
  }
}

/** The record with the last run that another one shows. */
function withRunOf(current: ScheduleRecord, { last_run_at, last_task_id }: ScheduleRecord): ScheduleRecord {
  const { last_run_at: _, last_task_id: __, ...rest } = current;
  return {
    ...rest,
    ...(last_run_at === undefined ? {} : { last_run_at }),
    ...(last_task_id === undefined ? {} : { last_task_id }),
  };
}
