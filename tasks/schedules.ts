import type { AppSchedule } from "offload/schedules";

/**
 * Your app's schedules: add yours here, each created with `defineSchedule`. A deployment and a start of the local
 * server create the listed schedules, and delete the schedules that are no longer listed.
 */
export const schedules: readonly AppSchedule[] = [];
