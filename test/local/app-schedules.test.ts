import { CreateScheduleGroupCommand, ListSchedulesCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { afterEach, expect, test } from "vitest";
import { SchedulerRules } from "../../src/aws/rules.ts";
import { type AppSchedule, defineSchedule } from "../../src/core/schedules/app-schedule.ts";
import { startScheduler } from "../../src/local/scheduler/scheduler.ts";
import { syncAppSchedules } from "../../src/local/server/app-schedules.ts";
import echo from "../../tasks/probe.echo.ts";
import { FakeClock } from "./fake-clock.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const scheduleOf = (name: string, cron: string): AppSchedule =>
  defineSchedule({ name, cron, type: echo, input: { value: 1 }, forEachTenant: true });

async function setUp() {
  const clock = new FakeClock();
  const fired: unknown[] = [];
  const scheduler = await startScheduler({
    port: 0,
    stateDir: undefined,
    clock,
    fire: async ({ input }) => {
      fired.push(JSON.parse(input));
    },
  });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new SchedulerClient({ endpoint: scheduler.url, region: "us-east-1", credentials });
  cleanups.push(scheduler.close, () => client.destroy());
  await client.send(new CreateScheduleGroupCommand({ Name: "g" }));
  const config = { scheduleGroup: "g", fireArn: "arn:f", schedulerRoleArn: "arn:r", schedulerDlqArn: "arn:q" };
  const rules = new SchedulerRules(client, config);
  const sync = (schedules: AppSchedule[]) => syncAppSchedules({ client, rules, group: "g" }, schedules);
  const names = async () => {
    const { Schedules = [] } = await client.send(new ListSchedulesCommand({ GroupName: "g" }));
    return Schedules.map(({ Name }) => Name);
  };
  return { sync, names, rules, clock, fired };
}

test("the app's schedules exist as long as the code has them, and others are left alone", async () => {
  const { sync, names, rules } = await setUp();
  const payload = { kind: "schedule", tenant_id: "acme", schedule_id: "s", rule_revision: 1 } as const;
  await rules.put({ name: "an-id", expression: "rate(1 day)", timezone: "UTC", enabled: false, payload });
  await sync([scheduleOf("a", "0 2 * * *"), scheduleOf("b", "0 3 * * *")]);
  expect(await names()).toEqual(["an-id", "app.a", "app.b"]);
  await sync([scheduleOf("b", "0 4 * * *"), scheduleOf("c", "0 3 * * *")]);
  expect(await names()).toEqual(["an-id", "app.b", "app.c"]);
  await sync([]);
  expect(await names()).toEqual(["an-id"]);
});

test("an app's schedule fires with its name and time", async () => {
  const { sync, clock, fired } = await setUp();
  await sync([scheduleOf("a", "0 2 * * *")]);
  await clock.advance(2 * 3600);
  expect(fired).toEqual([{ kind: "app_schedule", name: "a", scheduled_for: "2027-01-01T02:00:00Z" }]);
});
