import type { ScheduleView } from "../../../src/client/schedules.ts";
import type { Rule } from "../rule-words.ts";
import { api } from "../session.ts";
import { minuteMs } from "../zones.ts";

export const schedulePath = (scheduleId: string, part = ""): string =>
  `/schedules/${encodeURIComponent(scheduleId)}${part}`;

/**
 * Fields of a schedule's rule for a preview. A rate counts from the first full minute after the schedule's creation, if
 * nothing else is said.
 */
export function ruleOf({ cron, every_seconds, timezone, starts_at, ends_at, created_at }: ScheduleView): Rule {
  if (cron !== null) return { cron, timezone, starts_at, ends_at };
  if (starts_at !== null || created_at === null) return { every_seconds, timezone, starts_at, ends_at };
  const first = Math.ceil((Date.parse(created_at) + 1) / minuteMs) * minuteMs;
  return { every_seconds, timezone, starts_at: new Date(first).toISOString(), ends_at };
}

interface SchedulePage {
  schedules: ScheduleView[];
  next_cursor: string | null;
}

/** The first pages of the schedules. */
export interface SchedulesRead {
  schedules: ScheduleView[];
  /** False: there are more. */
  complete: boolean;
}

export async function readSchedules(pages: number, signal: AbortSignal): Promise<SchedulesRead> {
  const schedules: ScheduleView[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page++) {
    const answer: SchedulePage = await api.get<SchedulePage>("/schedules", { limit: 100, cursor }, { signal });
    schedules.push(...answer.schedules);
    if (answer.next_cursor === null) return { schedules, complete: true };
    cursor = answer.next_cursor;
  }
  return { schedules, complete: false };
}

/** The state of a schedule in one word. */
export function stateOf({
  enabled,
  source,
  next_run_at,
  last_error,
}: ScheduleView): "active" | "failing" | "paused" | "ended" {
  if (!enabled) return "paused";
  if (last_error !== null) return "failing";
  // A rate of the code has no known time before its first firing, and none of the code ends.
  return next_run_at === null && source === "api" ? "ended" : "active";
}
