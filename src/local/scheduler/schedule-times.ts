import { ApiError, type ScheduleInput } from "./schedule-input.ts";
import type { Schedule } from "./schedule-rows.ts";
import { InvalidRule, parseRule, type Rule } from "./schedule-rule.ts";

/** How far in the past AWS takes a start date. */
const startDateGraceMs = 300_000;

/**
 * When a schedule that is being created, or changed after it was created before, fires next. A one-off in the past is
 * due now. A rate without a start date fires at its creation, and counts from it.
 * @throws ApiError for rules and dates that AWS refuses.
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
 * What a schedule that is due fires for now, and when it fires next. Of several times that were missed it is the latest
 * alone.
 */
export function dueTimes({ input, createdAt, nextAt = 0 }: Schedule, now: number) {
  const rule = checked(input, createdAt);
  if (rule.once) return { scheduledAt: nextAt, nextAt: undefined };
  const end = toMs(input.EndDate) ?? Number.POSITIVE_INFINITY;
  const latest = before(end, rule.latest(now));
  return { scheduledAt: Math.max(nextAt, latest ?? nextAt), nextAt: before(end, rule.next(now)) };
}

function checked(input: ScheduleInput, createdAt: number): Rule {
  try {
    const { ScheduleExpression, ScheduleExpressionTimezone, StartDate } = input;
    return parseRule(ScheduleExpression, ScheduleExpressionTimezone, toMs(StartDate) ?? createdAt);
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

/** AWS's dates are epoch seconds. */
function toMs(date: number | undefined): number | undefined {
  return date === undefined ? undefined : Math.round(date * 1000);
}

function before(end: number, time: number | undefined): number | undefined {
  return time !== undefined && time < end ? time : undefined;
}
