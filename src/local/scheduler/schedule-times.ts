import { ApiError, type ScheduleInput } from "./schedule-input.ts";
import type { Schedule } from "./schedule-rows.ts";
import { InvalidRule, parseRule, type Rule } from "./schedule-rule.ts";

/** AWS accepts a start date up to this far in the past. */
const startDateGraceMs = 300_000;

/**
 * First time at which a new or changed schedule fires. A one-off in the past fires now. A rate without a start date
 * fires at the schedule's creation, and counts from it.
 * @param createdBefore Time of the creation, if the schedule is being changed.
 * @throws ApiError for rules and dates that AWS refuses
 */
export function firstTime(input: ScheduleInput, now: number, createdBefore?: number): number | undefined {
  const createdAt = createdBefore ?? now;
  const rule = checked(input, createdAt);
  const { start, end } = bounds(input, now);
  if (input.State === "DISABLED") return undefined;
  if (rule.once) return rule.next(Number.NEGATIVE_INFINITY);
  return before(end, rule.next(Math.max(createdBefore === undefined ? now - 1 : now, start - 1)));
}

/**
 * The most times of a stop for which a schedule fires: a rule of every minute after a night would fire hundreds of
 * times.
 */
const maxMissed = 100;

/**
 * The times for which a due schedule fires now, oldest first, and its next time. Of the times that were missed while
 * nothing ran, these are the last hundred: the function that they go to runs those that are not too late, and counts
 * the others as skipped.
 */
export function dueTimes({ input, createdAt, nextAt = 0 }: Schedule, now: number) {
  const rule = checked(input, createdAt);
  if (rule.once) return { scheduledAt: [nextAt], nextAt: undefined };
  const end = toMs(input.EndDate) ?? Number.POSITIVE_INFINITY;
  const missed: number[] = [];
  // Backwards, so that a long stop takes no longer than a hundred times do.
  let time = rule.latest(Math.min(now, end - 1));
  while (time !== undefined && time > nextAt && missed.length < maxMissed) {
    missed.unshift(time);
    time = rule.latest(time - 1);
  }
  const isAll = time === undefined || time <= nextAt;
  const scheduledAt = (isAll ? [nextAt, ...missed] : missed).slice(-maxMissed);
  return { scheduledAt, nextAt: before(end, rule.next(now)) };
}

function checked(input: ScheduleInput, createdAt: number): Rule {
  try {
    const { ScheduleExpression, ScheduleExpressionTimezone, StartDate } = input;
    // Scheduled times are whole seconds.
    const start = toMs(StartDate) ?? Math.ceil(createdAt / 1000) * 1000;
    return parseRule(ScheduleExpression, ScheduleExpressionTimezone, start);
  } catch (error) {
    throw error instanceof InvalidRule ? new ApiError("ValidationException", error.message) : error;
  }
}

function bounds({ StartDate, EndDate }: ScheduleInput, now: number): { start: number; end: number } {
  const start = toMs(StartDate) ?? Number.NEGATIVE_INFINITY;
  const end = toMs(EndDate) ?? Number.POSITIVE_INFINITY;
  if (StartDate !== undefined && start < now - startDateGraceMs) {
    throw new ApiError("ValidationException", "The StartDate you specify cannot be earlier than 5 minutes ago.");
  }
  if (end <= Math.max(now, start)) {
    throw new ApiError("ValidationException", "The EndDate you specify must be in the future and after the StartDate.");
  }
  return { start, end };
}

/** Converts AWS's epoch seconds to milliseconds. */
function toMs(date: number | undefined): number | undefined {
  return date === undefined ? undefined : Math.round(date * 1000);
}

function before(end: number, time: number | undefined): number | undefined {
  return time !== undefined && time < end ? time : undefined;
}
