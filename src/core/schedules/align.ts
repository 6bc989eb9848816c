import { ChangedMeanwhile, PortUnavailable } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import type { Clock } from "../ports/tasks.ts";
import { nextTime, toExpression } from "./calendar.ts";
import { RuleRefused } from "./cron.ts";
import type { Rules, SchedulerRule, Schedules } from "./ports.ts";
import type { ScheduleKey, ScheduleRecord } from "./schedule-record.ts";

export interface SchedulePorts {
  clock: Clock;
  schedules: Schedules;
  rules: Rules;
}

/**
 * A schedule still in state `creating` after this time, in milliseconds, was abandoned: no request takes half as long.
 */
const abandonedAfterMs = 30_000;

/** Number of tries of a step while other writers change the same schedule. */
const maxTries = 5;

/** The same problem for a schedule that does not exist and for one of another tenant. */
export const noSuchSchedule = () => new Problem("not_found", "No such schedule.");

export const changesTooFast = () => new ChangedMeanwhile("the schedule");

/**
 * Makes a client's write: others that change the same schedule at the same time, again and again, are a conflict, after
 * which nothing was written.
 * @throws Problem `conflict`, and the errors of `write`
 */
export async function orConflict<Result>(write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof ChangedMeanwhile)) throw error;
    const detail = "Other requests changed this schedule at the same time, and this one changed nothing: repeat it.";
    throw new Problem("conflict", detail, { cause: error, retryAfterSeconds: 1 });
  }
}

/**
 * Returns a higher revision. It is a time, so that it is also higher after the schedule was deleted and created again.
 */
export const nextRevision = (ports: SchedulePorts, { revision }: ScheduleRecord): number =>
  Math.max(ports.clock.now(), revision + 1);

/** @throws Problem `not_found` */
export async function findSchedule(ports: { schedules: Schedules }, key: ScheduleKey): Promise<ScheduleRecord> {
  const schedule = await ports.schedules.get(key);
  if (schedule?.state !== "ready") throw noSuchSchedule();
  return schedule;
}

/**
 * Reads, changes and stores a schedule that is ready. Starts again when another writer changed it in between.
 * @param write Returns the new record, or undefined to store nothing.
 * @throws Problem `not_found`; PortUnavailable
 */
export async function rewrite(
  ports: SchedulePorts,
  key: ScheduleKey,
  write: (current: ScheduleRecord) => ScheduleRecord | undefined,
): Promise<{ before: ScheduleRecord; after: ScheduleRecord }> {
  for (let tries = 0; tries < maxTries; tries++) {
    const before = await findSchedule(ports, key);
    const after = write(before);
    if (after === undefined) return { before, after: before };
    if (await ports.schedules.replace(after, before.revision)) return { before, after };
  }
  throw changesTooFast();
}

/**
 * Makes the rule in EventBridge Scheduler match the record. Repeats this until the record did not change in between:
 * when two writers do this at the same time, the last one sets the rule of the final record.
 * @throws PortUnavailable, RuleRefused
 */
export async function align(ports: SchedulePorts, key: ScheduleKey): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    const before = await ports.schedules.get(key);
    const rule = before === undefined ? undefined : schedulerRule(before, ports.clock.now());
    await (rule === undefined ? ports.rules.delete(key.schedule_id) : ports.rules.put(rule));
    const after = await ports.schedules.get(key);
    if (after?.rule_revision === before?.rule_revision) return;
  }
  throw changesTooFast();
}

/**
 * Deletes the record that a failed create or delete left behind, and makes the rule match the record.
 * @throws PortUnavailable, RuleRefused
 */
export async function cleanUp(ports: SchedulePorts, key: ScheduleKey): Promise<void> {
  const schedule = await ports.schedules.get(key);
  if (schedule !== undefined && isAbandoned(ports, schedule)) await ports.schedules.delete(schedule, schedule.revision);
  await align(ports, key);
}

/**
 * Makes the rule match the record after a client's write. When that fails, tries to revert the write. When that fails,
 * too, the rule check that was requested before the write repairs the rule.
 * @throws PortUnavailable; Problem `invalid_input` when EventBridge Scheduler refuses the rule
 */
export async function alignOrRevert(
  ports: SchedulePorts,
  key: ScheduleKey,
  revert: () => Promise<unknown>,
): Promise<void> {
  try {
    await align(ports, key);
  } catch (error) {
    // The writes that came in between keep this one, and their own requests make the rule match; the check does, too.
    if (error instanceof ChangedMeanwhile) return;
    await bestEffort(revert);
    throw error instanceof RuleRefused ? refused(error) : error;
  }
}

function refused(error: RuleRefused): Problem {
  const message = `EventBridge Scheduler refused the rule: ${error.message}`;
  return new Problem("invalid_input", `cron: ${message}`, { errors: [{ path: "/cron", message }], cause: error });
}

/** True for a record that a failed create or delete left behind. */
export const isAbandoned = ({ clock }: SchedulePorts, { state, updated_at }: ScheduleRecord): boolean =>
  state === "deleting" || (state === "creating" && clock.now() - Date.parse(updated_at) >= abandonedAfterMs);

/** Runs a step on which nothing depends: ignores `PortUnavailable`, `ChangedMeanwhile` and `Problem`. */
export async function bestEffort(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    const expected = [PortUnavailable, ChangedMeanwhile, Problem].some((known) => error instanceof known);
    if (!expected) throw error;
  }
}

/** Returns the rule that belongs to a record; undefined when it must not have one. */
export function schedulerRule(schedule: ScheduleRecord, nowMs: number): SchedulerRule | undefined {
  const { tenant_id, schedule_id, rule_revision, ends_at } = schedule;
  const next = nextTime(schedule, schedule.created_at, nowMs);
  if (schedule.state === "deleting" || next === undefined) return undefined;
  const startAt = startOf(schedule, nowMs, next);
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

/**
 * Returns the rule's start. EventBridge Scheduler refuses a start that is long past. An interval counts from its start,
 * so its start is its next time.
 */
function startOf({ starts_at, every_seconds }: ScheduleRecord, nowMs: number, next: string): string | undefined {
  if (every_seconds !== undefined) return next;
  return starts_at !== undefined && Date.parse(starts_at) > nowMs ? starts_at : undefined;
}
