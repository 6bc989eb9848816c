import type { Context } from "aws-lambda";
import { appSchedules } from "../src/aws/app-schedules.ts";
import { createLog } from "../src/aws/log.ts";
import { SchedulerRules } from "../src/aws/rules.ts";
import { DynamoSchedules } from "../src/aws/schedules.ts";
import { DynamoFirings, DynamoTenants } from "../src/aws/tenants.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, newId } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { fire, readPayload } from "../src/core/fire.ts";

const config = fromEnv(process.env, dispatchSettings);
const { documents, scheduler, ...base } = dispatchPorts(config);
const ports = {
  ...base,
  newId,
  types: catalogTypes(process.env),
  appSchedules: appSchedules(process.env),
  schedules: new DynamoSchedules(documents, config.table),
  rules: new SchedulerRules(scheduler, config),
  tenants: new DynamoTenants(documents, config.table),
  firings: new DynamoFirings(documents, config.table),
  log: createLog("fire"),
};

/** Called by EventBridge Scheduler with a schedule's input. Throwing makes it fire again. */
export const handler = async (event: unknown, context: Context): Promise<void> => {
  await fire(ports, readPayload(event), Date.now() + context.getRemainingTimeInMillis());
};
