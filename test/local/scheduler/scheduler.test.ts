import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  CreateScheduleGroupCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  GetScheduleGroupCommand,
  ListSchedulesCommand,
  ResourceNotFoundException,
  SchedulerClient,
  UpdateScheduleCommand,
  ValidationException,
} from "@aws-sdk/client-scheduler";
import { afterEach, describe, expect, test } from "vitest";
import { type Fired, type LostFiring, startScheduler } from "../../../src/local/scheduler/scheduler.ts";
import { FakeClock } from "../fake-clock.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

interface Setup {
  clock?: FakeClock;
  stateDir?: string;
  /** Attempts that fail before one succeeds. */
  failures?: number;
}

async function setUp({ clock = new FakeClock(), stateDir, failures = 0 }: Setup = {}) {
  const fired: (Fired & { at: string })[] = [];
  const lost: LostFiring[] = [];
  const scheduler = await startScheduler({
    port: 0,
    stateDir,
    clock,
    async fire(event) {
      fired.push({ ...event, at: new Date(clock.now()).toISOString().slice(11, 19) });
      if (fired.length <= failures) throw new Error("target is down");
    },
    async sendToDlq(firing) {
      lost.push(firing);
    },
  });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new SchedulerClient({ endpoint: scheduler.url, region: "us-east-1", credentials, maxAttempts: 1 });
  cleanups.push(scheduler.close, () => client.destroy());
  const create = (more: Partial<CreateScheduleCommandInput>) => client.send(new CreateScheduleCommand(rule(more)));
  return { clock, client, create, fired, lost, close: scheduler.close };
}

function rule(more: Partial<CreateScheduleCommandInput>): CreateScheduleCommandInput {
  const Target = {
    Arn: "arn:aws:lambda:us-east-1:000000000000:function:fire",
    RoleArn: "arn:aws:iam::0:role/r",
    Input: "{}",
  };
  return { Name: "s", ScheduleExpression: "rate(1 hour)", FlexibleTimeWindow: { Mode: "OFF" }, Target, ...more };
}

describe("the wire", () => {
  test("a schedule comes back as it was created", async () => {
    const { create, client } = await setUp();
    const StartDate = new Date("2027-02-01T00:00:00.000Z");
    const more = {
      ScheduleExpressionTimezone: "Europe/Berlin",
      StartDate,
      Description: "d",
      State: "DISABLED" as const,
    };
    const { ScheduleArn } = await create(more);
    expect(ScheduleArn).toBe("arn:aws:scheduler:us-east-1:000000000000:schedule/default/s");
    expect(await client.send(new GetScheduleCommand({ Name: "s" }))).toMatchObject({
      ...rule(more),
      Arn: ScheduleArn,
      GroupName: "default",
      ActionAfterCompletion: "NONE",
      CreationDate: new Date("2027-01-01T00:00:00.000Z"),
    });
  });

  test("an update replaces the whole schedule, and a delete removes it", async () => {
    const { create, client } = await setUp();
    await create({ Description: "d" });
    await client.send(new UpdateScheduleCommand(rule({ ScheduleExpression: "rate(2 hours)" })));
    const updated = await client.send(new GetScheduleCommand({ Name: "s" }));
    expect(updated).toMatchObject({ ScheduleExpression: "rate(2 hours)" });
    expect(updated.Description).toBeUndefined();
    await client.send(new DeleteScheduleCommand({ Name: "s" }));
    await expect(client.send(new GetScheduleCommand({ Name: "s" }))).rejects.toThrow(ResourceNotFoundException);
  });

  test("errors are the SDK's exceptions", async () => {
    const { create, client } = await setUp();
    await create({ ClientToken: "one" });
    await expect(create({ ClientToken: "two" })).rejects.toThrow(ConflictException);
    await expect(create({ Name: "no spaces" })).rejects.toThrow(ValidationException);
    await expect(create({ Name: "t", ScheduleExpression: "cron(* * *)" })).rejects.toThrow(ValidationException);
    await expect(create({ Name: "t", GroupName: "none" })).rejects.toThrow(ResourceNotFoundException);
    const past = { StartDate: new Date("2026-12-31T23:54:59.000Z") };
    await expect(create({ Name: "t", ...past })).rejects.toThrow(/5 minutes/);
    const ended = { EndDate: new Date("2026-12-31T23:59:59.000Z") };
    await expect(create({ Name: "t", ...ended })).rejects.toThrow(ValidationException);
    const update = new UpdateScheduleCommand(rule({ Name: "none" }));
    await expect(client.send(update)).rejects.toThrow(ResourceNotFoundException);
    const remove = new DeleteScheduleCommand({ Name: "none" });
    await expect(client.send(remove)).rejects.toThrow(ResourceNotFoundException);
  });

  test("the same creation is accepted twice, for a client that missed the first answer", async () => {
    const { create } = await setUp();
    expect(await create({ ClientToken: "one" })).toMatchObject(
      await create({ ClientToken: "one" }).then(({ ScheduleArn }) => ({ ScheduleArn })),
    );
  });

  test("groups can be created, found and used", async () => {
    const { create, client } = await setUp();
    const group = { Name: "g" };
    const { ScheduleGroupArn } = await client.send(new CreateScheduleGroupCommand(group));
    await expect(client.send(new CreateScheduleGroupCommand(group))).rejects.toThrow(ConflictException);
    const found = await client.send(new GetScheduleGroupCommand(group));
    expect(found).toMatchObject({ Arn: ScheduleGroupArn, Name: "g", State: "ACTIVE" });
    await create({ GroupName: "g" });
    await create({});
    await client.send(new DeleteScheduleCommand({ Name: "s", GroupName: "g" }));
    const { Schedules } = await client.send(new ListSchedulesCommand({}));
    expect(Schedules).toMatchObject([{ Name: "s", GroupName: "default", Target: { Arn: rule({}).Target?.Arn } }]);
  });

  test("the list has pages", async () => {
    const { create, client } = await setUp();
    for (const Name of ["b", "a", "a-b", "c"]) await create({ Name });
    const first = await client.send(new ListSchedulesCommand({ MaxResults: 3 }));
    const second = await client.send(new ListSchedulesCommand({ MaxResults: 3, NextToken: first.NextToken }));
    const names = [first, second].map(({ Schedules = [] }) => Schedules.map(({ Name }) => Name));
    expect(names).toEqual([["a", "a-b", "b"], ["c"]]);
    expect(second.NextToken).toBeUndefined();
    const { Schedules } = await client.send(new ListSchedulesCommand({ NamePrefix: "a", State: "ENABLED" }));
    expect(Schedules).toHaveLength(2);
  });

  test("a port in use is refused with the system's error", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as { port: number };
    const start = startScheduler({ port, stateDir: undefined, fire: async () => {} });
    await expect(start).rejects.toMatchObject({ code: "EADDRINUSE" });
    taken.close();
  });
});

describe("firing", () => {
  test("a one-off fires once, at its second, with its context, and is deleted when it says so", async () => {
    const { create, client, clock, fired } = await setUp();
    const Input = JSON.stringify({
      arn: "<aws.scheduler.schedule-arn>",
      time: "<aws.scheduler.scheduled-time>",
      id: "<aws.scheduler.execution-id>",
      attempt: "<aws.scheduler.attempt-number>",
      other: "<aws.scheduler.unknown>",
    });
    const Target = { Arn: "arn:target", RoleArn: "arn:role", Input };
    await create({ ScheduleExpression: "at(2027-01-01T00:30:07)", ActionAfterCompletion: "DELETE", Target });
    await create({ Name: "kept", ScheduleExpression: "at(2027-01-01T01:00:00)" });
    await clock.advance(1806);
    expect(fired).toEqual([]);
    await clock.advance(86_400);
    expect(fired).toMatchObject([{ arn: "arn:target", at: "00:30:07", attempt: 1 }, { at: "01:00:00" }]);
    const [{ input = "", executionId, scheduleArn } = {}] = fired;
    expect(JSON.parse(input)).toEqual({
      arn: scheduleArn,
      time: "2027-01-01T00:30:07Z",
      id: executionId,
      attempt: "1",
      other: "<aws.scheduler.unknown>",
    });
    const { Schedules } = await client.send(new ListSchedulesCommand({}));
    expect(Schedules?.map(({ Name }) => Name)).toEqual(["kept"]);
  });

  test("a one-off in the past fires immediately", async () => {
    const { create, clock, fired } = await setUp();
    await create({ ScheduleExpression: "at(2026-12-31T23:00:00)" });
    await clock.advance(0);
    expect(fired).toMatchObject([{ scheduledTime: "2026-12-31T23:00:00Z" }]);
  });

  test("a one-off may be further away than a timer reaches", async () => {
    const { create, clock, fired } = await setUp();
    await create({ ScheduleExpression: "at(2027-01-31T00:00:00)" });
    await clock.advance(30 * 86_400 - 1);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toHaveLength(1);
  });

  test("a rate fires at its creation and then regularly, and a cron at its times", async () => {
    const { create, clock, fired } = await setUp();
    await create({ Name: "rate", ScheduleExpression: "rate(2 minutes)" });
    await create({ Name: "cron", ScheduleExpression: "cron(1/2 * * * ? *)" });
    await clock.advance(300);
    expect(fired.map(({ at }) => at)).toEqual(["00:00:00", "00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00"]);
  });

  test("start and end bound a recurring schedule, which can be deleted after that", async () => {
    const { create, client, clock, fired } = await setUp();
    await create({
      ScheduleExpression: "rate(1 minute)",
      StartDate: new Date("2027-01-01T00:01:30.000Z"),
      EndDate: new Date("2027-01-01T00:03:30.000Z"),
      ActionAfterCompletion: "DELETE",
    });
    await clock.advance(600);
    expect(fired.map(({ at }) => at)).toEqual(["00:01:30", "00:02:30"]);
    await expect(client.send(new GetScheduleCommand({ Name: "s" }))).rejects.toThrow(ResourceNotFoundException);
  });

  test("a disabled schedule does not fire until it is enabled", async () => {
    const { create, client, clock, fired } = await setUp();
    const ScheduleExpression = "cron(* * * * ? *)";
    await create({ ScheduleExpression, State: "DISABLED" });
    await clock.advance(90);
    expect(fired).toEqual([]);
    await client.send(new UpdateScheduleCommand(rule({ ScheduleExpression })));
    await clock.advance(30);
    expect(fired.map(({ at }) => at)).toEqual(["00:02:00"]);
  });

  test("a target without input gets the default event of AWS", async () => {
    const { create, clock, fired } = await setUp();
    await create({ Target: { Arn: "arn:target", RoleArn: "arn:role" } });
    await clock.advance(0);
    expect(JSON.parse(fired[0]?.input ?? "")).toMatchObject({
      source: "aws.scheduler",
      time: "2027-01-01T00:00:00Z",
      resources: ["arn:aws:scheduler:us-east-1:000000000000:schedule/default/s"],
    });
  });

  test("many schedules of one moment all fire", async () => {
    const { create, clock, fired } = await setUp();
    for (let number = 0; number < 50; number += 1) {
      await create({ Name: `s${number}`, ScheduleExpression: "at(2027-01-01T00:01:00)" });
    }
    await clock.advance(60);
    for (let turn = 0; turn < 50 && fired.length < 50; turn += 1) await clock.advance(0);
    expect(new Set(fired.map(({ scheduleArn }) => scheduleArn)).size).toBe(50);
    expect(fired).toHaveLength(50);
  });
});

describe("a failing target", () => {
  const ScheduleExpression = "at(2027-01-01T00:00:10)";

  test("a failing target is tried again, later and later, with the same execution", async () => {
    const { create, clock, fired } = await setUp({ failures: 3 });
    await create({ ScheduleExpression });
    await clock.advance(60);
    expect(fired.map(({ at, attempt }) => [at, attempt])).toEqual([
      ["00:00:10", 1],
      ["00:00:11", 2],
      ["00:00:13", 3],
      ["00:00:17", 4],
    ]);
    expect(new Set(fired.map(({ executionId }) => executionId)).size).toBe(1);
  });

  test("a failing target is given up after its attempts, and the firing goes to its dead-letter queue", async () => {
    const { create, client, clock, fired, lost } = await setUp({ failures: 99 });
    const RetryPolicy = { MaximumRetryAttempts: 2 };
    const Target = { Arn: "arn:t", RoleArn: "arn:r", Input: "{}", RetryPolicy, DeadLetterConfig: { Arn: "arn:dlq" } };
    await create({ ScheduleExpression, Target, ActionAfterCompletion: "DELETE" });
    await clock.advance(600);
    expect(fired).toHaveLength(3);
    expect(lost).toMatchObject([{ dlqArn: "arn:dlq", error: "Error: target is down", input: "{}", attempt: 3 }]);
    await expect(client.send(new GetScheduleCommand({ Name: "s" }))).rejects.toThrow(ResourceNotFoundException);
  });

  test("a failing target is given up when the event is too old", async () => {
    const { create, clock, fired } = await setUp({ failures: 99 });
    const RetryPolicy = { MaximumEventAgeInSeconds: 60 };
    await create({ ScheduleExpression, Target: { Arn: "arn:t", RoleArn: "arn:r", Input: "{}", RetryPolicy } });
    await clock.advance(600);
    expect(fired.at(-1)?.at).toBe("00:00:41");
  });

  test("a failing target does not delay the schedule's next times", async () => {
    const { create, clock, fired } = await setUp({ failures: 4 });
    await create({ ScheduleExpression: "cron(* * * * ? *)" });
    await clock.advance(60);
    expect(new Set(fired.map(({ scheduledTime }) => scheduledTime)).size).toBe(2);
  });
});

describe("a restart", () => {
  test("a restart fires missed one-offs, and a recurring schedule for each time that was missed", async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
    const clock = new FakeClock("2027-01-01T00:00:30.000Z");
    const before = await setUp({ clock, stateDir });
    await before.create({ Name: "once", ScheduleExpression: "at(2027-01-01T00:10:00)" });
    await before.create({ Name: "cron", ScheduleExpression: "cron(* * * * ? *)" });
    await before.close();
    clock.skip(120);

    const after = await setUp({ clock, stateDir });
    await clock.advance(0);
    expect(after.fired.map(({ scheduledTime }) => scheduledTime)).toEqual([
      "2027-01-01T00:01:00Z",
      "2027-01-01T00:02:00Z",
    ]);
    await after.close();
    clock.skip(600);

    const third = await setUp({ clock, stateDir });
    await clock.advance(0);
    const once = third.fired.filter(({ scheduleArn }) => scheduleArn.endsWith("/once"));
    expect(once).toMatchObject([{ scheduledTime: "2027-01-01T00:10:00Z" }]);
    expect(third.fired).toHaveLength(1 + 10);
    await clock.advance(30);
    expect(third.fired.at(-1)).toMatchObject({ scheduledTime: "2027-01-01T00:13:00Z" });
    expect(before.fired).toEqual([]);
  });

  test("after a long stop, a recurring schedule fires for its last hundred times", async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
    const clock = new FakeClock("2027-01-01T00:00:30.000Z");
    const before = await setUp({ clock, stateDir });
    await before.create({ Name: "cron", ScheduleExpression: "cron(* * * * ? *)" });
    await before.close();
    clock.skip(30 * 86_400);
    const after = await setUp({ clock, stateDir });
    for (let round = 0; round < 10; round++) await clock.advance(0);
    const times = after.fired.map(({ scheduledTime }) => scheduledTime).sort();
    expect(times).toHaveLength(100);
    expect(times.at(-1)).toBe("2027-01-31T00:00:00Z");
    expect(times[0]).toBe("2027-01-30T22:21:00Z");
  });

  test("a restart repeats a firing that was in progress", async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
    const clock = new FakeClock();
    const before = await setUp({ clock, stateDir, failures: 1 });
    await before.create({ ScheduleExpression: "at(2027-01-01T00:00:00)", ActionAfterCompletion: "DELETE" });
    await clock.advance(0);
    await before.close();
    const after = await setUp({ clock, stateDir });
    await clock.advance(1);
    expect(after.fired).toMatchObject([{ attempt: 2, executionId: before.fired[0]?.executionId }]);
  });
});
