import type { SchedulerClient } from "#aws-sdk/client-scheduler";
import type { OneOffs } from "../core/ports/tasks.ts";
import type { Config } from "../settings/config.ts";
import { lazyPort } from "./lazy-port.ts";

/** The settings for the group and the target of schedules in EventBridge Scheduler. */
export const schedulerSettings = ["scheduleGroup", "fireArn", "schedulerRoleArn", "schedulerDlqArn"] as const;
export type SchedulerConfig = Config<(typeof schedulerSettings)[number]>;

/** One-off schedules. Their code loads with the first of them: a task needs one for a long wait only. */
export const lazyOneOffs = (client: SchedulerClient, config: SchedulerConfig): OneOffs =>
  lazyPort(async () => new (await import("./one-offs.ts")).SchedulerOneOffs(client, config));
