import type { SubmitGate } from "../limits/gate.ts";
import { taskIdOf } from "../model/idempotency.ts";
import { Problem, type ProblemCode, withoutValues } from "../model/problem.ts";
import { hasEnded, isKept } from "../model/record.ts";
import type { Identity } from "../model/words.ts";
import { submit } from "../pipeline/submit/submit.ts";
import type { SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import { align, bestEffort, changesTooFast, cleanUp, nextRevision, rewrite, type SchedulePorts } from "./align.ts";
import { nextTime, type Rule, timesFromKnown } from "./calendar.ts";
import type { ScheduledTask } from "./definition.ts";
import type { SchedulePayload } from "./rule-input.ts";
import { firingKey, type ScheduleRecord } from "./schedule-record.ts";

export interface FireSchedulePorts extends SchedulePorts, ScheduledSubmitPorts {}

/** The ports of a schedule's submit. */
export interface ScheduledSubmitPorts extends SubmitPorts {
  /** Admits the tasks of schedules, which count as submits of their tenant. Default: all are admitted. */
  scheduleGate?: SubmitGate;
}

/** One scheduled time of one schedule. EventBridge Scheduler delivers it at least once, and possibly late. */
export interface ScheduleFiring extends SchedulePayload {
  /** ISO 8601 UTC with milliseconds. */
  scheduled_for: string;
}

/**
 * Outcome of a firing. `submitted`: this delivery or an earlier one submitted the task. `skipped`: no task was
 * submitted, and the schedule counts the time as skipped. `refused`: the task was refused, and the schedule has the
 * error. `ignored`: no task was due.
 */
export type FiringOutcome = "submitted" | "skipped" | "refused" | "ignored";

/**
 * A firing that is later than this is skipped if the rule has had another time since. So after an outage only the times
 * of the last 15 minutes and the latest time get a task, not all that were missed.
 */
export const lateAfterSeconds = 900;

/** Number of the latest fired times, and of the latest skipped times, that a schedule keeps. */
const maxRemembered = 32;

/** Number of tries of a firing while other writers change the schedule. */
const maxTries = 5;

/** Problems that do not depend on the task: it can be accepted when the firing is delivered again. */
const temporaryCodes: ReadonlySet<ProblemCode> = new Set(["unavailable", "queue_full"]);

/** True when another delivery of the firing would be refused, too. */
export const isFinalRefusal = (error: unknown): error is Problem =>
  error instanceof Problem && !temporaryCodes.has(error.code);

/** Problems of a tenant that submits more than its limits allow. */
const limitCodes: ReadonlySet<ProblemCode> = new Set(["rate_limited", "quota_exceeded"]);

/** Returns why a tenant's limits do not allow a task; undefined when the error is another one. */
export const overLimit = (error: unknown): string | undefined =>
  error instanceof Problem && limitCodes.has(error.code) ? `limit: ${error.detail}` : undefined;

/**
 * Submits the task of one scheduled time: exactly one, even if the firing is delivered more than once.
 * @throws any error but a final refusal: the schedule has it as its last error, and the firing is delivered again
 */
export async function fireSchedule(ports: FireSchedulePorts, firing: ScheduleFiring): Promise<FiringOutcome> {
  try {
    return await decideAndSubmit(ports, firing);
  } catch (error) {
    const detail = error instanceof Problem ? error.detail : "An internal error occurred. The log has its cause.";
    // The delivery fails with its own error, also when that error cannot be stored.
    await noteError(ports, firing, `${detail} The firing is delivered again.`).catch(() => {});
    throw error;
  }
}

async function decideAndSubmit(ports: FireSchedulePorts, firing: ScheduleFiring): Promise<FiringOutcome> {
  for (let tries = 0; tries < maxTries; tries++) {
    const schedule = await ports.schedules.get(firing);
    if (schedule?.state !== "ready") {
      // A failed create or delete left the rule without a schedule.
      await cleanUp(ports, firing);
      return ignore(ports, firing, "the schedule does not exist");
    }
    if (!(await isOfRule(ports, firing, schedule))) {
      return ignore(ports, firing, "the scheduled time does not belong to the schedule's current rule");
    }
    const decision = await decide(ports, firing, schedule);
    if (decision.as === "ignore") return ignore(ports, firing, decision.reason);
    const next = withDecision(ports, firing, schedule, decision);
    if (next !== undefined && !(await ports.schedules.replace(next, schedule.revision))) continue;
    if (decision.as === "run") return submitFor(ports, firing, schedule);
    ports.log.warn("schedule skipped a time", { ...fieldsOf(firing), outcome: "skipped", reason: decision.reason });
    if (isMissed(schedule, decision.reason)) countMissed(ports, schedule.task);
    return "skipped";
  }
  throw changesTooFast();
}

/**
 * The author of a schedule that skips overlapping times expects a skipped time now and then, but not that nothing runs
 * any more.
 */
const maxOverlaps = 2;

/** The part of a schedule, or of the state of one of the app, that tells of earlier skips. */
type Skipping = Pick<ScheduleRecord, "alarm" | "skips" | "last_run_at">;

/** True for a skip that somebody should know of. The schedule is as it was before it. */
export function isMissed({ alarm, skips, last_run_at: last = "" }: Skipping, reason: string): boolean {
  return alarm === true || !reason.startsWith(overlapWord) || skips.filter((time) => time > last).length >= maxOverlaps;
}

const fieldsOf = ({ tenant_id, schedule_id, scheduled_for }: ScheduleFiring) => ({
  tenant_id,
  schedule_id,
  scheduled_for,
});

function ignore(ports: FireSchedulePorts, firing: ScheduleFiring, reason: string): FiringOutcome {
  ports.log.info("firing ignored", { ...fieldsOf(firing), outcome: "ignored", reason });
  return "ignored";
}

/**
 * True when the firing belongs to the schedule's current rule. A firing of an older rule may have been on its way when
 * the rule changed, or the change never reached EventBridge Scheduler, which is repaired here.
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
  if (at < schedule.enabled_since)
    return { as: "ignore", reason: "the scheduled time is before the schedule was enabled" };
  if (at < starts_at || (ends_at !== undefined && at >= ends_at))
    return { as: "ignore", reason: "the scheduled time is outside of starts_at and ends_at" };
  if (schedule.skips.includes(at)) return { as: "ignore", reason: "an earlier delivery skipped this time" };
  if (schedule.fired.includes(at)) return { as: "run" };
  const reason = lateness(schedule, at, ports.clock.now()) ?? (await overlap(ports, schedule));
  if (reason === undefined) return { as: "run" };
  // An earlier delivery may have submitted the task of this time.
  const own = await ports.records.get({ tenant_id: firing.tenant_id, task_id: taskIdFor(schedule, at) });
  return own === undefined ? { as: "skip", reason } : { as: "run" };
}

/** Returns why a firing is too late; undefined when it is not. */
export function lateness(rule: Rule, at: string, nowMs: number): string | undefined {
  const lateSeconds = Math.floor((nowMs - Date.parse(at)) / 1000);
  if (lateSeconds <= lateAfterSeconds) return undefined;
  const [later] = timesFromKnown(rule, Date.parse(at), Date.parse(at), 1);
  const superseded = later !== undefined && later <= nowMs;
  return superseded
    ? `late: delivered ${lateSeconds} s after its time, and the schedule has had a later time since`
    : undefined;
}

/** Returns why the last task of a schedule does not allow another one; undefined when it does. */
export async function overlap(
  { records, clock }: Pick<SubmitPorts, "records" | "clock">,
  { overlap, tenant_id, last_task_id }: Pick<ScheduleRecord, "overlap" | "tenant_id" | "last_task_id">,
): Promise<string | undefined> {
  if (overlap === "allow" || last_task_id === undefined) return undefined;
  const last = await records.get({ tenant_id, task_id: last_task_id });
  const now = clock.now();
  if (last === undefined || !isKept(last, now) || hasEnded(last, now)) return undefined;
  return `${overlapWord} task ${last_task_id} has not ended`;
}

const overlapWord = "overlap:";

/**
 * Returns the record with the decision, or undefined when the record has it already. The decision is written first, so
 * that of two deliveries at the same time one finds the decision of the other.
 */
function withDecision(
  ports: FireSchedulePorts,
  { scheduled_for: at }: ScheduleFiring,
  schedule: ScheduleRecord,
  decision: Decision,
): ScheduleRecord | undefined {
  const revision = nextRevision(ports, schedule);
  if (decision.as === "skip") {
    const skips = appendTime(schedule.skips, at);
    return { ...schedule, revision, skips, skipped: schedule.skipped + 1, last_skip_reason: decision.reason };
  }
  if (schedule.fired.includes(at)) return undefined;
  const { last_error: _, last_error_at: __, ...rest } = schedule;
  const next = { ...rest, revision, fired: appendTime(schedule.fired, at) };
  const isLatest = schedule.fired.every((time) => time < at);
  return isLatest ? { ...next, last_run_at: at, last_task_id: taskIdFor(schedule, at) } : next;
}

const appendTime = (times: readonly string[], at: string): string[] => [...times, at].slice(-maxRemembered);

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
    if (schedule.last_error_at === firing.scheduled_for) await bestEffort(() => clearError(ports, firing));
    return "submitted";
  } catch (error) {
    const limited = overLimit(error);
    if (limited !== undefined) return skipForLimit(ports, firing, schedule, limited);
    if (!isFinalRefusal(error)) throw error;
    // This time already has a task, of an earlier version of the schedule.
    if (error.code === "idempotency_key_reused") return "submitted";
    countRefusal(ports, schedule.task);
    ports.log.error("a schedule's task was refused", {
      ...fieldsOf(firing),
      outcome: "refused",
      error: withoutValues(error),
    });
    await bestEffort(() => noteRefusal(ports, firing, schedule, error));
    return "refused";
  }
}

/** Stores that a time has no task because of its tenant's limits, and restores the last run before it. */
async function skipForLimit(
  ports: FireSchedulePorts,
  firing: ScheduleFiring,
  before: ScheduleRecord,
  reason: string,
): Promise<FiringOutcome> {
  const { scheduled_for: at } = firing;
  // An earlier delivery may have submitted the task of this time.
  const own = await ports.records.get({ tenant_id: firing.tenant_id, task_id: taskIdFor(before, at) });
  if (own !== undefined) return "submitted";
  await rewrite(ports, firing, (current) => {
    if (current.skips.includes(at)) return undefined;
    const isLast = current.last_task_id === taskIdFor(current, at);
    return {
      ...(isLast ? withRunOf(current, before) : current),
      revision: nextRevision(ports, current),
      fired: current.fired.filter((time) => time !== at),
      skips: appendTime(current.skips, at),
      skipped: current.skipped + 1,
      last_skip_reason: reason,
    };
  });
  ports.log.warn("schedule skipped a time", { ...fieldsOf(firing), outcome: "skipped", reason });
  countMissed(ports, before.task);
  return "skipped";
}

/** The task of one scheduled time. */
interface ScheduledSubmit {
  schedule_id: string;
  scheduled_for: string;
  task: ScheduledTask;
  /** Default: the current version of its type. */
  inputVersion?: number;
}

/** Counts a refused task of a schedule or a trigger in the metrics, in the tier that it would have had. */
export function countRefusal(
  { metrics, types }: Pick<SubmitPorts, "metrics" | "types">,
  { type, priority }: Pick<ScheduledTask, "type" | "priority">,
): void {
  metrics.add("schedule_refused", 1, { tier: priority ?? types.get(type)?.priority ?? "normal", type });
}

/**
 * Counts a scheduled time without a task. All count in one tier: an alarm on the metrics of four tiers would cost four
 * times as much.
 */
export const countMissed = ({ metrics }: Pick<SubmitPorts, "metrics">, { type }: Pick<ScheduledTask, "type">): void =>
  metrics.add("schedule_missed", 1, { tier: "normal", type });

/** Submits a schedule's task, with an idempotency key made of schedule and scheduled time. */
export const submitScheduled = (
  { scheduleGate, ...ports }: ScheduledSubmitPorts,
  identity: Identity,
  { schedule_id, scheduled_for, task, inputVersion }: ScheduledSubmit,
) =>
  submit(scheduleGate === undefined ? ports : { ...ports, gate: scheduleGate }, {
    identity,
    body: task,
    idempotencyKey: firingKey(schedule_id, scheduled_for),
    correlationId: `${schedule_id}:${scheduled_for}`,
    schedule: { scheduleId: schedule_id, scheduledFor: scheduled_for },
    inputVersion,
  });

/** Stores why this time has no task, or has none yet. */
const noteError = (
  ports: FireSchedulePorts,
  firing: ScheduleFiring,
  last_error: string,
  runOf = (current: ScheduleRecord) => current,
) =>
  rewrite(ports, firing, (current) => ({
    ...runOf(current),
    revision: nextRevision(ports, current),
    last_error,
    last_error_at: firing.scheduled_for,
  }));

/** Removes the error of an earlier delivery of the firing. */
const clearError = (ports: FireSchedulePorts, firing: ScheduleFiring) =>
  rewrite(ports, firing, ({ last_error: _, last_error_at, ...current }) =>
    last_error_at === firing.scheduled_for ? { ...current, revision: nextRevision(ports, current) } : undefined,
  );

/** Stores the refusal in the record, and restores the last run before this time. */
const noteRefusal = (ports: FireSchedulePorts, firing: ScheduleFiring, before: ScheduleRecord, { detail }: Problem) =>
  noteError(ports, firing, detail, (current) =>
    current.last_task_id === taskIdFor(current, firing.scheduled_for) ? withRunOf(current, before) : current,
  );

/** Returns `current` with the last run of another record. */
function withRunOf(current: ScheduleRecord, { last_run_at, last_task_id }: ScheduleRecord): ScheduleRecord {
  const { last_run_at: _, last_task_id: __, ...rest } = current;
  return {
    ...rest,
    ...(last_run_at === undefined ? {} : { last_run_at }),
    ...(last_task_id === undefined ? {} : { last_task_id }),
  };
}
