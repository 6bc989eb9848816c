import type { AppSchedule } from "../src/core/schedules/app-schedule.ts";

/**
 * Your app's schedules, made by `defineSchedule`: add yours here. A deployment, and a start of the local server, creates those
 * that are listed and removes those that no longer are.
 */
export const schedules: readonly AppSchedule[] = [];
