import { GetScheduleCommand, ResourceNotFoundException, SchedulerClient } from "@aws-sdk/client-scheduler";
import { describe, expect, test } from "vitest";
import { PutCommand } from "#aws-sdk/lib-dynamodb";
import { DynamoAppScheduleStates } from "../../src/aws/app-schedule-states.ts";
import { DynamoKeyStore } from "../../src/aws/key-store.ts";
import { SchedulerRules } from "../../src/aws/rules.ts";
import { DynamoSchedules } from "../../src/aws/schedules.ts";
import { directoryPartitions } from "../../src/aws/table.ts";
import { DynamoFirings, DynamoTenants } from "../../src/aws/tenants.ts";
import {
  MemoryAppScheduleStates,
  MemoryFirings,
  MemoryRules,
  MemorySchedules,
  MemoryTenants,
} from "../../src/memory/schedules.ts";
import { emulatedScheduler, emulatedTable } from "./emulators.ts";
import { otherEngine } from "./engine.ts";
import {
  describeAppScheduleStates,
  describeFirings,
  describeRules,
  describeSchedules,
  describeTenants,
} from "./schedules.ts";

const nothing = async () => {};

describeSchedules("schedules in memory", async () => ({ schedules: new MemorySchedules(), close: nothing }));
describeSchedules("schedules in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { schedules: new DynamoSchedules(dynamoTable), close };
});

describeTenants("tenants in memory", async () => ({ tenants: new MemoryTenants(), close: nothing }));
describeTenants("tenants in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { tenants: new DynamoTenants(dynamoTable), close };
});

test("a tenant that is in the first partition of the directory, too, is listed once", async () => {
  const { documents, table, dynamoTable, close } = await emulatedTable();
  const tenants = new DynamoTenants(dynamoTable);
  const ids = Array.from({ length: 30 }, (_, index) => `tenant-${100 + index}`);
  const [first = "", ...others] = directoryPartitions;
  expect(others.length).toBeGreaterThan(0);
  for (const id of ids.slice(0, 20)) {
    await documents.send(new PutCommand({ TableName: table, Item: { pk: first, sk: id } }));
  }
  for (const id of ids.slice(10)) await tenants.note(id);
  expect((await tenants.list({ limit: 100 })).items).toEqual(ids);
  expect((await new DynamoKeyStore(dynamoTable).tenants()).sort()).toEqual(ids);
  await close();
});

describeFirings("firings in memory", async () => ({ firings: new MemoryFirings(), close: nothing }));
describeFirings("firings in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { firings: new DynamoFirings(dynamoTable), close };
});

describeAppScheduleStates("states of the app's schedules in memory", async () => ({
  ...{ states: new MemoryAppScheduleStates(), close: nothing },
}));
describeAppScheduleStates("states of the app's schedules in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { states: new DynamoAppScheduleStates(dynamoTable), close };
});

describeRules("rules in memory", async () => {
  const rules = new MemoryRules();
  const stored = async (name: string) => {
    const rule = rules.all().get(name);
    return rule && { expression: rule.expression, timezone: rule.timezone, enabled: rule.enabled };
  };
  return { rules, stored, close: nothing };
});

/** Rules in an emulated EventBridge Scheduler, and a client that looks at them. */
async function emulatedRules() {
  const { client, config, clock, fired, close } = await emulatedScheduler();
  const observer = new SchedulerClient({});
  const look = (Name: string) => observer.send(new GetScheduleCommand({ Name, GroupName: config.scheduleGroup }));
  return { rules: new SchedulerRules(client, config), look, clock, fired: fired as unknown[], close };
}

describeRules("rules in EventBridge Scheduler", async () => {
  const { rules, look, close } = await emulatedRules();
  const stored = async (name: string) => {
    const found = await look(name).catch((error: unknown) => {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    });
    return (
      found && {
        expression: found.ScheduleExpression ?? "",
        timezone: found.ScheduleExpressionTimezone ?? "",
        enabled: found.State === "ENABLED",
      }
    );
  };
  return { rules, stored, close };
});

// Another engine only stores rules.
describe.skipIf(otherEngine("SCHEDULER") !== undefined)("a rule in EventBridge Scheduler", () => {
  test("a rule fires with its payload and the scheduled time, within its bounds", async () => {
    const { rules, clock, fired, close } = await emulatedRules();
    const start = clock.now();
    const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
    const payload = { kind: "schedule", tenant_id: "acme", schedule_id: "s", rule_revision: 7 } as const;
    const rule = { name: "s", expression: "rate(1 minute)", timezone: "UTC", enabled: true, payload };
    await rules.put({ ...rule, startAt: at(2), endAt: at(4) });
    await clock.advance(600_000);
    expect(fired).toEqual([2, 3].map((minutes) => ({ ...payload, scheduled_for: at(minutes).replace(".000", "") })));
    await close();
  });
});
