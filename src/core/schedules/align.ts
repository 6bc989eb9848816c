import { ChangedMeanwhile, PortUnavailable } from "../errors.ts";
import type { Clock } from "../ports.ts";
import { Problem } from "../problem.ts";
import { iso } from "../record.ts";
import { nextTime, rateStart, toExpression } from "./calendar.ts";
import { RuleRefused } from "./cron.ts";
import type { Rules, SchedulerRule, Schedules } from "./ports.ts";
import type { ScheduleKey, ScheduleRecord } from "./schedule-record.ts";

export interface SchedulePorts {
  clock: Clock;
  schedules: Schedules;
  rules: Rules;
}

/** A schedule that has been being created for so long was given up: no request takes half as long. */
const abandonedAfterMs = 30_000;

/** How often a step tries again when the schedule changes under it. */
const mostTries = 5;

/** The one problem for a schedule that does not exist and for one that is somebody else's. */
export const noSuchSchedule = () => new Problem("not_found", "No such schedule.");

export const changesTooFast = () => new ChangedMeanwhile("the schedule");

/** Times as numbers also order the revisions of a schedule that is deleted and created again. */
export const nextRevision = (ports: SchedulePorts, { revision }: ScheduleRecord): number =>
  Math.max(ports.clock.now(), revision + 1);

/** @throws Problem `not_found` */
export async function findSchedule(ports: { schedules: Schedules }, key: ScheduleKey): Promise<ScheduleRecord> {
  const schedule = await ports.schedules.get(key);
  if (schedule?.state !== "ready") throw noSuchSchedule();
  return schedule;
}

/**
 * Reads, rewrites and stores a schedule that is ready; again when somebody else was faster.
 * @param write Gives the record as it should be, or undefined to leave it as it is.
 * @throws Problem `not_found`; PortUnavailable
 */
export async function rewrite(
  ports: SchedulePorts,
  key: ScheduleKey,
  write: (current: ScheduleRecord) => ScheduleRecord | undefined,
): Promise<{ before: ScheduleRecord; after: ScheduleRecord }> {
  for (let tries = 0; tries < mostTries; tries++) {
    const before = await findSchedule(ports, key);
    const after = write(before);
    if (after === undefined) return { before, after: before };
    if (await ports.schedules.replace(after, before.revision)) return { before, after };
  }
  throw changesTooFast();
}

/**
 * Makes the rule in EventBridge Scheduler follow the record, and looks again until the record did not change meanwhile: of
 * two writers at once, whoever comes last leaves the rule of the record that stays.
 * @throws PortUnavailable, RuleRefused
 */
export async function align(ports: SchedulePorts, key: ScheduleKey): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    const before = await ports.schedules.get(key);
    const rule = before === undefined ? undefined : schedulerRule(before, ports.clock.now());
    await (rule === undefined ? ports.rules.delete(key.schedule_id) : ports.rules.put(rule));
    const after = await ports.schedules.get(key);
    if (after?.rule_revision === before?.rule_revision) return;
  }
  throw changesTooFast();
}

/**
 * Clears up what a create or a delete that failed half-way has left, and aligns.
 * @throws PortUnavailable, RuleRefused
 */
export async function tidy(ports: SchedulePorts, key: ScheduleKey): Promise<void> {
  const schedule = await ports.schedules.get(key);
  const age = schedule === undefined ? 0 : ports.clock.now() - Date.parse(schedule.updated_at);
  const abandoned = schedule?.state === "deleting" || (schedule?.state === "creating" && age >= abandonedAfterMs);
  if (schedule !== undefined && abandoned) await ports.schedules.delete(schedule, schedule.revision);
  await align(ports, key);
}

/**
 * Aligns after a client's write. What EventBridge Scheduler cannot follow is taken back, as far as that can be done: the
 * check that was asked for before the write sees to the rest.
 * @throws PortUnavailable; Problem `invalid_input` when EventBridge Scheduler refuses the rule
 */
export async function alignOr(ports: SchedulePorts, key: ScheduleKey, takeBack: () => Promise<unknown>): Promise<void> {
  try {
    await align(ports, key);
  } catch (error) {
    await asFarAsPossible(takeBack);
    throw error instanceof RuleRefused ? refused(error) : error;
  }
}

function refused(error: RuleRefused): Problem {
  const message = `EventBridge Scheduler refuses the rule: ${error.message}`;
  return new Problem("invalid_input", `cron: ${message}`, { errors: [{ path: "/cron", message }], cause: error });
}

/** Does what is good to have done, and what nothing depends on. */
export async function asFarAsPossible(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    const expected = [PortUnavailable, ChangedMeanwhile, Problem].some((known) => error instanceof known);
    if (!expected) throw error;
  }
}

/** The rule that a record asks for; undefined when it asks for none. */
export function schedulerRule(schedule: ScheduleRecord, nowMs: number): SchedulerRule | undefined {
  const { tenant_id, schedule_id, rule_revision, ends_at } = schedule;
  const over = ends_at !== undefined && Date.parse(ends_at) <= nowMs;
  if (schedule.state === "deleting" || over) return undefined;
  const startAt = startOf(schedule, nowMs);
  return {
    name: schedule_id,
    expression: toExpression(schedule),
    timezone: schedule.timezone,
    ...(startAt === undefined ? {} : { startAt }),
    ...(ends_at === undefined ? {} : { endAt: ends_at }),
    enabled: schedule.enabled,
    payload: { kind: "schedule", tenant_id, schedule_id, rule_revision },
  };
}

/** EventBridge Scheduler refuses a start that is long past. A rate counts from its start, so it gets its own next time. */
function startOf(schedule: ScheduleRecord, nowMs: number): string | undefined {
  const { starts_at, timezone, every_seconds } = schedule;
  if (every_seconds === undefined)
    return starts_at !== undefined && Date.parse(starts_at) > nowMs ? starts_at : undefined;
  const first = iso(rateStart(schedule, schedule.created_at));
  return nextTime({ every_seconds, timezone, starts_at: first }, first, nowMs);
}
