import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import type { Rule } from "../rule-words.ts";
import { api } from "../session.ts";

export const schedulePath = <Part extends string = "">(scheduleId: string, part = "" as Part) =>
  `/schedules/${encodeURIComponent(scheduleId)}${part}` as const;

/** Fields of a schedule's rule for a preview. An interval without a start counts from the schedule's creation. */
export const ruleOf = ({ cron, every_seconds, timezone, starts_at, ends_at, created_at }: ScheduleView): Rule => ({
  ...(cron === null ? { every_seconds } : { cron }),
  ...{ timezone, starts_at, ends_at, created_at: created_at ?? undefined },
});

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
