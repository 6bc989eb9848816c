import { CreateScheduleGroupCommand, ListSchedulesCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { afterEach, describe, expect, test } from "vitest";
import { SchedulerRules } from "../../src/aws/rules.ts";
import { iso } from "../../src/core/model/record.ts";
import { fireArrived } from "../../src/core/schedules/fire.ts";
import { changeSchedule, createSchedule } from "../../src/core/schedules/manage-schedules.ts";
import { startScheduler } from "../../src/local/scheduler/scheduler.ts";
import { operator } from "../support/identities.ts";
import { schedulesPipeline } from "../support/schedules-pipeline.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** The core over the scheduler's own wire, with one clock for both; each firing is delivered so many times. */
async function setUp({ deliveries = 1 } = {}) {
  const pipeline = schedulesPipeline();
  const { clock } = pipeline;
  const scheduler = await startScheduler({
    port: 0,
    stateDir: undefined,
    clock,
    fire: async ({ input }) => {
      const arrived = { payload: JSON.parse(input) };
      for (let times = 0; times < deliveries; times++) await fireArrived(ports, arrived, clock.now() + 300_000);
    },
  });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new SchedulerClient({ endpoint: scheduler.url, region: "us-east-1", credentials, maxAttempts: 1 });
  cleanups.push(scheduler.close, () => client.destroy());
  await client.send(new CreateScheduleGroupCommand({ Name: "g" }));
  const config = { scheduleGroup: "g", fireArn: "arn:f", schedulerRoleArn: "arn:r", schedulerDlqArn: "arn:q" };
  const ports = { ...pipeline.ports, rules: new SchedulerRules(client, config) };
  const make = async (body: object) =>
    (await createSchedule(ports, operator, { name: "s", task: pipeline.task, ...body })).schedule;
  const times = (schedule: { schedule_id: string }) => pipeline.tasksOf(schedule).map((task) => task.scheduled_for);
  const ruleNames = async () => {
    const { Schedules = [] } = await client.send(new ListSchedulesCommand({ GroupName: "g" }));
    return Schedules.map(({ Name }) => Name);
  };
  return { ...pipeline, ports, make, times, ruleNames };
}

const minute = 60_000;
const minutesFrom = (start: number, ...minutes: number[]) => minutes.map((count) => iso(start + count * minute));

describe("a schedule over EventBridge Scheduler's wire", () => {
  test.each([1, 3])(
    "a rate of 60 s makes four tasks in four minutes, each firing delivered %i times",
    async (deliveries) => {
      const { make, clock, times } = await setUp({ deliveries });
      const start = clock.now();
      const schedule = await make({ every_seconds: 60 });
      await clock.advance(4 * minute + 30_000);
      expect(times(schedule)).toEqual(minutesFrom(start, 1, 2, 3, 4));
    },
  );

  test("a resumed schedule does not catch up with the times of its pause", async () => {
    const { make, clock, times, ports } = await setUp();
    const start = clock.now();
    const schedule = await make({ cron: "* * * * *" });
    await clock.advance(2 * minute + 1);
    await changeSchedule(ports, schedule, { enabled: false });
    await clock.advance(10 * minute);
    await changeSchedule(ports, schedule, { enabled: true });
    await clock.advance(2 * minute);
    expect(times(schedule)).toEqual(minutesFrom(start, 1, 2, 13, 14));
  });

  test("a rate keeps its pace over a pause and a change", async () => {
    const { make, clock, times, ports } = await setUp();
    const start = clock.now();
    const schedule = await make({ every_seconds: 300 });
    await clock.advance(7 * minute);
    await changeSchedule(ports, schedule, { enabled: false });
    await clock.advance(6 * minute);
    await changeSchedule(ports, schedule, { enabled: true });
    await changeSchedule(ports, schedule, { overlap: "skip" });
    await changeSchedule(ports, schedule, { overlap: "allow" });
    await clock.advance(10 * minute);
    expect(times(schedule)).toEqual(minutesFrom(start, 5, 15, 20));
  });

  test("a schedule runs within its bounds, and is gone from the scheduler afterwards", async () => {
    const { make, clock, times, ruleNames } = await setUp();
    const start = clock.now();
    const [starts_at, ends_at] = minutesFrom(start, 2, 5);
    const schedule = await make({ cron: "* * * * *", starts_at, ends_at });
    expect(await ruleNames()).toEqual([schedule.schedule_id]);
    await clock.advance(10 * minute);
    expect(times(schedule)).toEqual(minutesFrom(start, 2, 3, 4));
    expect(await ruleNames()).toEqual([]);
  });

  test("a schedule runs by the clocks of its zone", async () => {
    const { make, clock, times } = await setUp();
    const schedule = await make({ cron: "30 2 * * *", timezone: "America/New_York" });
    await clock.advance(24 * 60 * minute);
    expect(times(schedule)).toEqual(["2027-01-01T07:30:00.000Z"]);
  });
});
