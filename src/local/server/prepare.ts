import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ConflictException, CreateScheduleGroupCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { DynamoDBDocumentClient, ScanCommand } from "@aws-sdk/lib-dynamodb";
import { parseLocalKeys } from "../../api/http/authorizer.ts";
import { schedulerClient, tableClient } from "../../aws/clients.ts";
import { DynamoTable } from "../../aws/dynamo-table.ts";
import { boundedTries } from "../../aws/http-handler.ts";
import { localConfig } from "../../aws/local-services.ts";
import { SchedulerRules } from "../../aws/rules.ts";
import { schedulerSettings } from "../../aws/scheduler-settings.ts";
import { DynamoTenants } from "../../aws/tenants.ts";
import { iso, type TaskRecord } from "../../core/model/record.ts";
import type { AppSchedule } from "../../core/schedules/app-schedule.ts";
import { deployedPayload, purgeRule, type RuleCheck } from "../../core/schedules/rule-input.ts";
import { packageVersion } from "../../installed/installation.ts";
import { fromEnv, localTable } from "../../settings/config.ts";
import { firingsQueue, scheduleGroup } from "../deployment/resources.ts";
import { createTable } from "../dynamodb/create-table.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { systemClock } from "../time/clock.ts";
import { syncAppSchedules } from "./app-schedules.ts";
import { endLeases, readOpenTasks } from "./open-tasks.ts";

type Print = (line: string) => void;

/**
 * Creates the table, saves the tenants of the server's keys in its directory, and ends the leases of attempts that the
 * last server process left unfinished. Returns the tasks that have not ended.
 * @param keys `OFFLOAD_KEYS`
 */
export async function prepareTable(keys: string, print: Print): Promise<TaskRecord[]> {
  const client = new DynamoDBClient({ ...boundedTries(), ...localConfig("dynamodb") });
  await createTable(client, localTable);
  const documents = DynamoDBDocumentClient.from(client);
  const table = new DynamoTable(tableClient(), localTable);
  const tenants = new DynamoTenants(table);
  const ids = new Set([...parseLocalKeys(keys).values()].map(({ tenantId }) => tenantId));
  await Promise.all([...ids].map((tenantId) => tenants.note(tenantId)));
  const open = await readOpenTasks(documents);
  const ended = await endLeases(documents, open);
  if (ended > 0) print(`Unfinished attempts of the last server: ${ended}. Their tasks will be tried again.`);
  client.destroy();
  table.destroy();
  return open;
}

/** Creates the schedule group, the rules of the app's schedules, and the daily rule of the purge. */
export async function prepareScheduler(schedules: readonly AppSchedule[]): Promise<void> {
  const client = new SchedulerClient({ ...boundedTries(), ...localConfig("scheduler") });
  await client.send(new CreateScheduleGroupCommand({ Name: scheduleGroup })).catch((error: unknown) => {
    if (!(error instanceof ConflictException)) throw error;
  });
  const config = fromEnv(process.env, schedulerSettings);
  const rules = new SchedulerRules(schedulerClient(), config);
  await syncAppSchedules({ client, rules, group: config.scheduleGroup }, schedules);
  await rules.put({ ...purgeRule, enabled: true });
  client.destroy();
}

/** Tells fire that a deployment has ended, as CloudFormation does: the server before may have been another release. */
export function tellDeployed(store: QueueStore): void {
  const payload = deployedPayload(packageVersion(), iso(systemClock.now()), "UPDATE_COMPLETE");
  store.send(firingsQueue, { body: JSON.stringify(payload) });
}

/**
 * Says which files lost their data while the table kept its own, and requests the rules of tenants' schedules again.
 */
export async function mendNewFiles(
  { store, scheduler }: { store: QueueStore; scheduler: Pick<Scheduler, "isNew" | "path"> },
  print: Print,
): Promise<void> {
  if (store.rows.isNew) {
    const lost = "Messages of dead-letter queues are lost; the dead letters themselves are in the table";
    print(`${store.rows.path} was missing or empty, but the table was not. ${lost}.`);
  }
  if (!scheduler.isNew) return;
  const keys = await scheduleKeys();
  for (const { tenant_id, schedule_id } of keys) {
    const check: RuleCheck = { kind: "rule_check", tenant_id, schedule_id };
    store.send(firingsQueue, { body: JSON.stringify(check), groupId: tenant_id });
  }
  print(
    `${scheduler.path} was missing or empty, but the table was not. Schedules that get their rules again: ${keys.length}.`,
  );
}

type Key = Omit<RuleCheck, "kind">;

/** The keys of all tenants' schedules. */
async function scheduleKeys(): Promise<Key[]> {
  const client = new DynamoDBClient(localConfig("dynamodb"));
  const documents = DynamoDBDocumentClient.from(client);
  const found: Key[] = [];
  let from: Record<string, unknown> | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({
        TableName: localTable,
        FilterExpression: "begins_with(pk, :schedules)",
        ExpressionAttributeValues: { ":schedules": "schedules#" },
        ExclusiveStartKey: from,
      }),
    );
    found.push(...((page.Items ?? []) as Key[]));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  client.destroy();
  return found;
}
