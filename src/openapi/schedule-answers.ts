import * as z from "zod";
import { scheduleSources } from "../core/model/words.ts";
import { overlaps, taskSchema } from "../core/schedules/definition.ts";
import type { ScheduleView } from "../core/schedules/schedule-record.ts";
import { sameAs, withName } from "./json-schema.ts";

const id = z.uuid();
const time = z.iso.datetime();
const count = z.int().min(0);

export const schedule = withName(
  "Schedule",
  sameAs<ScheduleView>()(
    z.object({
      schedule_id: id,
      name: z.string(),
      source: z.enum(scheduleSources),
      for_each_tenant: z.boolean(),
      cron: z.string().nullable(),
      every_seconds: z.int().nullable(),
      timezone: z.string(),
      enabled: z.boolean(),
      paused_since: time.nullable(),
      paused_by: z.string().nullable(),
      starts_at: time.nullable(),
      ends_at: time.nullable(),
      overlap: z.enum(overlaps),
      alarm: z.boolean().describe("Each time without a task counts for the alarm. Of the code: it has one of its own."),
      task: withName("ScheduledTask", taskSchema),
      next_run_at: time.nullable(),
      last_run_at: time.nullable(),
      last_task_id: id.nullable(),
      skipped: count,
      last_skipped_at: time.nullable(),
      last_skip_reason: z.string().nullable(),
      last_error: z.string().nullable(),
      last_error_at: time.nullable(),
      created_by: z.string(),
      created_at: time.nullable(),
      updated_at: time.nullable(),
      tenant_id: z.string().optional().describe("Tenant of the schedule. Only in a list of all tenants."),
    }),
  ),
);

export const scheduleList = withName(
  "ScheduleList",
  z.object({
    schedules: z.array(schedule),
    next_cursor: z.string().nullable().describe("Value of `cursor` for the next page. Only `null` ends the list."),
  }),
);

export const nextTimes = withName("NextTimes", z.object({ next: z.array(time) }));
