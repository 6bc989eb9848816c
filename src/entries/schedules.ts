/**
 * The package's entry `offload/schedules`: schedules that belong to the app. An entry of its own, because it loads a
 * cron library and zod.
 * @module offload/schedules
 */
export { type AppSchedule, defineSchedule, type ScheduleOptions } from "../core/schedules/app-schedule.ts";
