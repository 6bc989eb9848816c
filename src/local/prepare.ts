import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ConflictException, CreateScheduleGroupCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { schedulerClient } from "../aws/clients.ts";
import { schedulerSettings } from "../aws/one-offs.ts";
import { SchedulerRules } from "../aws/rules.ts";
import { fromEnv, localTable } from "../config.ts";
import type { AppSchedule } from "../core/schedules/app-schedule.ts";
import { syncAppSchedules } from "./app-schedules.ts";
import { createTable, endLeases } from "./create-table.ts";
import { scheduleGroup } from "./resources.ts";

/** Creates the table, and ends the leases of attempts that the last server process left unfinished. */
export async function prepareTable(print: (line: string) => void): Promise<void> {
  const client = new DynamoDBClient({});
  await createTable(client, localTable);
  const ended = await endLeases(client, localTable);
  if (ended > 0) print(`Unfinished attempts of the last server: ${ended}. Their tasks will be tried again.`);
  client.destroy();
}

/** Creates the schedule group, and the rules of the app's schedules. */
export async function prepareScheduler(schedules: readonly AppSchedule[]): Promise<void> {
  const client = new SchedulerClient({});
  await client.send(new CreateScheduleGroupCommand({ Name: scheduleGroup })).catch((error: unknown) => {
    if (!(error instanceof ConflictException)) throw error;
  });
  const config = fromEnv(process.env, schedulerSettings);
  const rules = new SchedulerRules(schedulerClient(), config);
  await syncAppSchedules({ client, rules, group: config.scheduleGroup }, schedules);
  client.destroy();
}
