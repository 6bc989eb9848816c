import type { Clock, Log } from "../core/ports/tasks.ts";
import { handlerSchedules } from "../core/schedules/handler-schedules.ts";
import type { KnownType } from "../core/task/catalog.ts";
import type { HandlerSchedules } from "../core/task/handler-submit.ts";
import { fromEnv } from "../settings/config.ts";
import { queueClient, schedulerClient } from "./clients.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { SqsRuleChecks } from "./rule-checks.ts";
import { SchedulerRules } from "./rules.ts";
import type { SchedulerConfig } from "./scheduler-settings.ts";
import { DynamoSchedules } from "./schedules.ts";

/** The settings that schedules of handlers read in addition to those of a worker, with the first call. */
export const handlerScheduleSettings = ["firingsUrl"] as const;

interface Given {
  clock: Clock;
  log: Log;
  table: DynamoTable;
  /** The types that a schedule may submit. */
  types: ReadonlyMap<string, KnownType>;
}

/** Changes schedules for handlers. This code loads with the first of their calls. */
export function handlerSchedulesOf(
  config: SchedulerConfig,
  { table, ...ports }: Given,
  env: NodeJS.ProcessEnv,
): HandlerSchedules {
  const { firingsUrl } = fromEnv(env, handlerScheduleSettings);
  return handlerSchedules({
    ...ports,
    schedules: new DynamoSchedules(table),
    rules: new SchedulerRules(schedulerClient(), config),
    checks: new SqsRuleChecks(queueClient(), firingsUrl),
  });
}
