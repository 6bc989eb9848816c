import * as z from "zod";
import { scheduleSources } from "../../core/model/words.ts";
import { overlaps, taskSchema } from "../../core/schedules/definition.ts";
import type { ScheduleView } from "../../core/schedules/schedule-record.ts";
import { object, viewOf, withName } from "./json-schema.ts";
import { count, flag, id, idOrNull, nextCursor, pageOf, text, textOrNull, time, timeOrNull } from "./words.ts";

export const schedule = viewOf<ScheduleView>()("Schedule", {
  schedule_id: id.describe("Id of the schedule."),
  name: text.describe("Name of the schedule, unique among the tenant's schedules of the same `source`."),
  source: z.enum(scheduleSources).describe("`code`: the app's code defines the schedule. `api`: a client made it."),
  for_each_tenant: flag.describe("True: the schedule submits one task for every known tenant at each of its times."),
  cron: textOrNull,
  every_seconds: z.int().nullable(),
  timezone: text,
  enabled: flag,
  paused_since: timeOrNull.describe("Time of the pause. Null: it is not paused, or was paused by an earlier release."),
  paused_by: textOrNull.describe("The principal that paused it."),
  starts_at: timeOrNull,
  ends_at: timeOrNull,
  overlap: z.enum(overlaps),
  alarm: flag.describe("Each time without a task counts for the alarm. Of the code: it has one of its own."),
  task: withName("ScheduledTask", taskSchema),
  next_run_at: timeOrNull.describe("Next scheduled time. Null also for a rate of the code that has not fired yet."),
  last_run_at: timeOrNull.describe("Last scheduled time."),
  last_task_id: idOrNull.describe("Task of the last scheduled time."),
  skipped: count.describe("Number of times that submitted nothing."),
  last_skipped_at: timeOrNull.describe("Last time that submitted nothing."),
  last_skip_reason: textOrNull.describe("Reason why it submitted nothing."),
  last_error: textOrNull.describe("Error of the last firing that failed."),
  last_error_at: timeOrNull.describe("Time of that firing."),
  created_by: text.describe("The principal that created the schedule, which submits its tasks."),
  created_at: timeOrNull.describe("Time of the creation. Null for one of the code."),
  updated_at: timeOrNull.describe("Time of the last change."),
  tenant_id: text.optional().describe("Tenant of the schedule. Only in a list of all tenants."),
});

pageOf("ScheduleList", "schedules", schedule, "The schedules of this page.", nextCursor);

object("NextTimes", { next: z.array(time).describe("The next scheduled times.") });
