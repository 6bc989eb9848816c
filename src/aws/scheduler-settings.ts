import type { Config } from "../settings/config.ts";

/** The settings for the group and the target of schedules in EventBridge Scheduler. */
export const schedulerSettings = ["scheduleGroup", "fireArn", "schedulerRoleArn", "schedulerDlqArn"] as const;
export type SchedulerConfig = Config<(typeof schedulerSettings)[number]>;
