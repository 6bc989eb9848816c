import { describe, expect, test } from "vitest";
import { z } from "zod";
import { iso } from "../../../src/core/model/record.ts";
import { findSchedule } from "../../../src/core/schedules/align.ts";
import { RuleRefused } from "../../../src/core/schedules/cron.ts";
import {
  changeSchedule,
  createSchedule,
  deleteSchedule,
  putSchedule,
  runSchedule,
} from "../../../src/core/schedules/manage-schedules.ts";
import type { ScheduleRecord } from "../../../src/core/schedules/schedule-record.ts";
import { operator, submitter } from "../../support/identities.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

const hour = 3_600_000;
const key = (schedule: { tenant_id: string; schedule_id: string }) => ({
  tenant_id: schedule.tenant_id,
  schedule_id: schedule.schedule_id,
});
const call = { identity: operator, correlationId: "corr-1" };

describe("a created schedule", () => {
  test("a created schedule has a record, and its rule is in the scheduler", async () => {
    const { clock, make, stored, ruleOf, task } = schedulesPipeline();
    const schedule = await make({ timezone: "Europe/Berlin", cron: "30 2 * * MON-FRI" });
    expect(await stored(schedule)).toEqual({
      tenant_id: "acme",
      schedule_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "hourly",
      enabled: true,
      overlap: "allow",
      cron: "30 2 * * MON-FRI",
      timezone: "Europe/Berlin",
      task,
      state: "ready",
      revision: expect.any(Number),
      rule_revision: clock.now(),
      request_hash: expect.any(String),
      created_by: "olga",
      created_at: iso(clock.now()),
      updated_at: iso(clock.now()),
      enabled_since: iso(clock.now()),
      fired: [],
      skipped: 0,
      skips: [],
    });
    expect(ruleOf(schedule.schedule_id)).toEqual({
      name: schedule.schedule_id,
      expression: "cron(30 2 ? * MON-FRI *)",
      timezone: "Europe/Berlin",
      enabled: true,
      payload: { kind: "schedule", ...key(schedule), rule_revision: clock.now() },
    });
  });

  test("a tenant has as many schedules as its limit, and a repeat of one that it has is answered", async () => {
    const { ports, task, make } = schedulesPipeline();
    const bounded = { ...ports, gate: { schedulesOf: async (tenantId: string) => (tenantId === "acme" ? 2 : null) } };
    const create = (name: string, identity = operator) =>
      createSchedule(bounded, identity, { name, cron: "0 * * * *", task });
    await make({ name: "first" });
    expect(await create("second")).toMatchObject({ created: true });
    await expect(create("third")).rejects.toMatchObject({
      code: "quota_exceeded",
      detail: expect.stringContaining("2"),
    });
    expect(await create("second")).toMatchObject({ created: false });
    expect(await create("third", { ...operator, tenantId: "globex" })).toMatchObject({ created: true });
    const [first] = (await bounded.schedules.list("acme", { limit: 1 })).items;
    await deleteSchedule(bounded, first as ScheduleRecord);
    expect(await create("third")).toMatchObject({ created: true });
  });

  test("the id of a schedule follows from tenant and name", async () => {
    const { make, ports, task } = schedulesPipeline();
    const schedule = await make();
    const other = { name: "hourly", cron: "0 * * * *", task };
    const globex = await createSchedule(ports, { ...operator, tenantId: "globex" }, other);
    expect(globex.schedule.schedule_id).not.toBe(schedule.schedule_id);
    expect((await make()).schedule_id).toBe(schedule.schedule_id);
    expect((await make({ name: "other" })).schedule_id).not.toBe(schedule.schedule_id);
  });

  test("the rule has the schedule's bounds, and a start only while it is ahead", async () => {
    const { clock, make, ruleOf, ports } = schedulesPipeline();
    const [starts_at, ends_at] = [iso(clock.now() + hour), iso(clock.now() + 48 * hour)];
    const schedule = await make({ starts_at, ends_at });
    expect(ruleOf(schedule.schedule_id)).toMatchObject({ startAt: starts_at, endAt: ends_at });
    await clock.advance(2 * hour);
    await changeSchedule(ports, schedule, { overlap: "skip" });
    expect(ruleOf(schedule.schedule_id)).not.toHaveProperty("startAt");
  });

  test("a rule by a rate starts at its own next time, also when it is changed later", async () => {
    const { clock, make, ruleOf, ports } = schedulesPipeline();
    const schedule = await make({ cron: undefined, every_seconds: 3600 });
    const first = clock.now() + hour;
    expect(ruleOf(schedule.schedule_id)).toMatchObject({ expression: "rate(60 minutes)", startAt: iso(first) });
    await clock.advance(5.5 * hour);
    await changeSchedule(ports, schedule, { overlap: "skip" });
    expect(ruleOf(schedule.schedule_id)).toMatchObject({ startAt: iso(first + 5 * hour) });
  });
});

describe("the same name again", () => {
  test("the same name with the same body returns the existing schedule", async () => {
    const { ports, make, task } = schedulesPipeline();
    const first = await make();
    const again = { name: "hourly", task, cron: "0 * * * *", every_seconds: null, timezone: "UTC", enabled: true };
    expect(await createSchedule(ports, operator, again)).toEqual({ schedule: first, created: false });
  });

  test("a rule of a year does not fire at its creation", async () => {
    const { clock, make, ruleOf } = schedulesPipeline();
    const { schedule_id } = await make({ cron: undefined, every_seconds: 31_536_000 });
    expect(ruleOf(schedule_id)).toMatchObject({ startAt: iso(clock.now() + 31_536_000_000) });
  });

  test("a null for the kind of rule that a schedule does not have changes nothing", async () => {
    const { ports, make, stored } = schedulesPipeline();
    const schedule = await make({ cron: undefined, every_seconds: 3600 });
    await changeSchedule(ports, schedule, { cron: null });
    expect(await stored(schedule)).toMatchObject({ every_seconds: 3600 });
    await expect(changeSchedule(ports, schedule, { every_seconds: null })).rejects.toMatchObject({
      detail: "cron: expected cron or every_seconds",
    });
    await changeSchedule(ports, schedule, { cron: "0 1 * * *", every_seconds: null });
    expect(await stored(schedule)).toMatchObject({ cron: "0 1 * * *" });
  });

  test.each([
    ["different", (index: number) => ({ cron: `${index} * * * *` }), "conflict"],
    ["equal", () => ({}), "again"],
  ])("of twelve %s bodies at once one makes the schedule", async (_, bodyOf, other) => {
    const { ports, task } = schedulesPipeline();
    const one = (index: number) =>
      createSchedule(ports, operator, { name: "many", task, cron: "0 * * * *", ...bodyOf(index) }).then(
        ({ created }) => (created ? "made" : "again"),
        (error: { code?: string }) => error.code,
      );
    const ends = await Promise.all(Array.from({ length: 12 }, (_, index) => one(index)));
    expect(ends.sort()).toEqual(["made", ...Array(11).fill(other)].sort());
  });

  test("a put makes the schedule of a name, writes nothing when it is the same, and replaces it whole", async () => {
    const { ports, task, stored, ruleOf, clock } = schedulesPipeline();
    const body = { task, cron: "0 1 * * *", starts_at: "2027-06-01T00:00:00Z", overlap: "skip", alarm: true };
    const { schedule, created } = await putSchedule(ports, operator, "own", body);
    expect(created).toBe(true);
    await clock.advance(1000);
    expect(await putSchedule(ports, operator, "own", body)).toEqual({ schedule, created: false });
    expect(await stored(schedule)).toEqual(schedule);
    await changeSchedule(ports, schedule, { enabled: false }, "olga");
    const { schedule: next } = await putSchedule(ports, operator, "own", { task, every_seconds: 60 });
    expect(next).toMatchObject({ every_seconds: 60, enabled: true, overlap: "allow", created_at: schedule.created_at });
    for (const field of ["cron", "starts_at", "alarm", "paused_since"]) expect(next).not.toHaveProperty(field);
    expect(ruleOf(schedule.schedule_id)).toMatchObject({ expression: "rate(1 minute)", enabled: true });
  });

  test("of twelve different puts at once each is accepted, one makes the schedule, and one is what it is", async () => {
    const { ports, task, rules } = schedulesPipeline();
    const put = (minute: number) => putSchedule(ports, operator, "own", { task, cron: `${minute} * * * *` });
    const ends = await Promise.allSettled(Array.from({ length: 12 }, (_, minute) => put(minute)));
    const made = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value.created] : []));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(rules.rules.all().size).toBe(1);
    // One that lost each race is refused, and may be repeated.
    for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "conflict" });
  });

  test("after a change, only the present body counts as the same", async () => {
    const { ports, make, stored } = schedulesPipeline();
    const schedule = await make();
    await changeSchedule(ports, schedule, { enabled: false });
    await expect(make()).rejects.toMatchObject({ code: "conflict" });
    expect(await make({ enabled: false })).toEqual(await stored(schedule));
  });

  test.each([
    { cron: "1 * * * *" },
    { overlap: "skip" },
    { timezone: "Europe/Berlin" },
    { task: { type: "echo", input: { value: 2 } } },
  ])("the same name with another body is a conflict: %j", async (change) => {
    const { make, stored } = schedulesPipeline();
    const schedule = await make();
    await expect(make(change)).rejects.toMatchObject({ code: "conflict" });
    expect(await stored(schedule)).toEqual(schedule);
  });

  test("many creates at the same time make one schedule with one rule", async () => {
    const { make, rules, ruleOf, stored } = schedulesPipeline();
    const made = await Promise.all(Array.from({ length: 20 }, () => make()));
    const [first] = made;
    if (first === undefined) throw new Error("none was made");
    expect(new Set(made.map(({ schedule_id }) => schedule_id)).size).toBe(1);
    expect(rules.rules.all().size).toBe(1);
    const { rule_revision } = await stored(first);
    expect(ruleOf(first.schedule_id)?.payload).toMatchObject({ rule_revision });
  });

  test("a name can be used again after a delete", async () => {
    const { ports, make, clock } = schedulesPipeline();
    const first = await make();
    await deleteSchedule(ports, first);
    const second = await make({ cron: "5 * * * *" });
    expect(second.schedule_id).toBe(first.schedule_id);
    expect(second.revision).toBeGreaterThanOrEqual(clock.now());
  });
});

describe("a refused schedule", () => {
  const past = "2020-01-01T00:00:00Z";
  test.each([
    [{ cron: undefined }, "/cron"],
    [{ cron: null, every_seconds: null }, "/cron"],
    [{ every_seconds: 60 }, "/cron"],
    [{ cron: "0 0 31 2 *" }, "/cron"],
    [{ cron: undefined, every_seconds: 59 }, "/every_seconds"],
    [{ cron: undefined, every_seconds: 90 }, "/every_seconds"],
    [{ cron: undefined, every_seconds: 31_536_060 }, "/every_seconds"],
    [{ timezone: "Mars/Olympus" }, "/timezone"],
    [{ overlap: "queue" }, "/overlap"],
    [{ name: "" }, "/name"],
    [{ name: "two\nlines" }, "/name"],
    [{ name: "n".repeat(129) }, "/name"],
    [{ starts_at: "tomorrow" }, "/starts_at"],
    [{ ends_at: past }, "/ends_at"],
    [{ ends_at: "9999-12-31T23:59:59-23:00" }, "/ends_at"],
    [{ starts_at: "9999-12-31T23:59:59-23:00" }, "/starts_at"],
    [{ starts_at: "9999-12-31T23:59:59Z" }, "/starts_at"],
    [{ starts_at: "9999-12-31T23:59:59Z", cron: undefined, every_seconds: 60 }, "/starts_at"],
    [{ starts_at: "2028-01-01T00:00:00Z", ends_at: "2028-01-01T00:00:00Z" }, "/ends_at"],
    [{ starts_at: "2028-01-01T00:01:00Z", ends_at: "2028-01-01T00:02:00Z" }, "/ends_at"],
    [{ colour: "red" }, "/colour"],
    [{ task: undefined }, "/task"],
    [{ task: { type: "echo", input: { value: 1 }, delay_seconds: 1 } }, "/task/delay_seconds"],
    [{ task: { type: "echo", input: { other: 1 } } }, "/task/input/other"],
  ])("%j is refused, and nothing is stored", async (change, path) => {
    const { make, ports, rules } = schedulesPipeline();
    await expect(make(change)).rejects.toMatchObject({
      code: "invalid_input",
      options: { errors: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
    expect((await ports.schedules.list("acme", { limit: 10 })).items).toEqual([]);
    expect(rules.rules.all().size).toBe(0);
  });

  test("an unknown task type is refused", async () => {
    const { make } = schedulesPipeline();
    const refused = { code: "unknown_task_type", options: { errors: [{ path: "/task/type" }] } };
    await expect(make({ task: { type: "none", input: {} } })).rejects.toMatchObject(refused);
  });

  test("an input that no item of the table could hold is refused", async () => {
    const { make } = schedulesPipeline();
    for (const value of ["x".repeat(256 * 1024), "\ufffe".repeat(45_000)]) {
      await expect(make({ task: { type: "echo", input: { value } } })).rejects.toMatchObject({ code: "too_large" });
    }
  });

  test("a rule that EventBridge Scheduler refuses is refused", async () => {
    const { make, rules, ports } = schedulesPipeline();
    rules.refuses = new RuleRefused("Invalid Schedule Expression");
    await expect(make()).rejects.toMatchObject({ code: "invalid_input", detail: expect.stringContaining("cron") });
    expect((await ports.schedules.list("acme", { limit: 10 })).items).toEqual([]);
  });
});

describe("a changed schedule", () => {
  test("a change replaces the given fields, and the rule follows", async () => {
    const { ports, make, ruleOf, clock, task } = schedulesPipeline();
    const schedule = await make({ starts_at: iso(clock.now() + hour) });
    await clock.advance(1000);
    const changed = await changeSchedule(ports, schedule, {
      cron: "5 4 * * *",
      timezone: "Europe/Berlin",
      starts_at: null,
      overlap: "skip",
      task: { ...task, priority: "low" },
    });
    expect(changed).toMatchObject({ cron: "5 4 * * *", timezone: "Europe/Berlin", overlap: "skip" });
    expect(changed.task).toEqual({ ...task, priority: "low" });
    expect(changed).not.toHaveProperty("starts_at");
    expect(changed.rule_revision).toBeGreaterThan(schedule.rule_revision);
    expect(ruleOf(schedule.schedule_id)).toMatchObject({
      expression: "cron(5 4 * * ? *)",
      timezone: "Europe/Berlin",
      payload: { rule_revision: changed.rule_revision },
    });
  });

  test("a change can replace one kind of rule by the other", async () => {
    const { ports, make } = schedulesPipeline();
    const schedule = await make();
    const rate = await changeSchedule(ports, schedule, { every_seconds: 120 });
    expect([rate.cron, rate.every_seconds]).toEqual([undefined, 120]);
    const cron = await changeSchedule(ports, schedule, { cron: "0 3 * * *" });
    expect([cron.cron, cron.every_seconds]).toEqual(["0 3 * * *", undefined]);
  });

  test("a schedule can be paused and resumed, and keeps since when it runs", async () => {
    const { ports, make, ruleOf, clock } = schedulesPipeline();
    const schedule = await make();
    await clock.advance(hour);
    const paused = await changeSchedule(ports, schedule, { enabled: false });
    expect(paused.enabled_since).toBe(schedule.enabled_since);
    expect(ruleOf(schedule.schedule_id)?.enabled).toBe(false);
    await clock.advance(hour);
    const resumed = await changeSchedule(ports, schedule, { enabled: true });
    expect(resumed.enabled_since).toBe(iso(clock.now()));
    expect(ruleOf(schedule.schedule_id)?.enabled).toBe(true);
    await clock.advance(hour);
    const again = await changeSchedule(ports, schedule, { enabled: true });
    expect(again.enabled_since).toBe(resumed.enabled_since);
  });

  test("a schedule can be paused when its type is gone, and when it has ended", async () => {
    const { ports, make, ruleOf, clock } = schedulesPipeline();
    const schedule = await make({ ends_at: iso(clock.now() + 2 * hour) });
    await clock.advance(3 * hour);
    const paused = await changeSchedule({ ...ports, types: new Map() }, schedule, { enabled: false });
    expect(paused.enabled).toBe(false);
    expect(ruleOf(schedule.schedule_id)).toBeUndefined();
  });

  test.each([
    [{ cron: "61 * * * *" }, "/cron"],
    [{ cron: "0 * * * *", every_seconds: 60 }, "/cron"],
    [{ cron: null }, "/cron"],
    [{ timezone: "here" }, "/timezone"],
    [{ ends_at: "2020-01-01T00:00:00Z" }, "/ends_at"],
    [{ name: "other" }, "/name"],
    [{ task: { type: "echo", input: {}, colour: 1 } }, "/task/colour"],
  ])("an impossible change leaves the schedule unchanged: %j", async (change, path) => {
    const { ports, make, stored, ruleOf } = schedulesPipeline();
    const schedule = await make();
    const rule = ruleOf(schedule.schedule_id);
    const refused = {
      code: "invalid_input",
      options: { errors: expect.arrayContaining([expect.objectContaining({ path })]) },
    };
    await expect(changeSchedule(ports, schedule, change)).rejects.toMatchObject(refused);
    expect(await stored(schedule)).toEqual(schedule);
    expect(ruleOf(schedule.schedule_id)).toEqual(rule);
  });

  test("many changes at the same time are all kept", async () => {
    const { ports, make, stored, ruleOf } = schedulesPipeline();
    const schedule = await make();
    await Promise.all([
      changeSchedule(ports, schedule, { timezone: "Europe/Berlin" }),
      changeSchedule(ports, schedule, { cron: "7 * * * *" }),
      changeSchedule(ports, schedule, { overlap: "skip" }),
    ]);
    const now = await stored(schedule);
    expect(now).toMatchObject({ timezone: "Europe/Berlin", cron: "7 * * * *", overlap: "skip" });
    expect(ruleOf(schedule.schedule_id)).toMatchObject({
      expression: "cron(7 * * * ? *)",
      timezone: "Europe/Berlin",
      payload: { rule_revision: now.rule_revision },
    });
  });

  test("of many more changes at the same time, each is made or refused as a conflict", async () => {
    const { ports, make, stored, ruleOf, check } = schedulesPipeline();
    const schedule = await make();
    const minutes = Array.from({ length: 18 }, (_, minute) => minute);
    const changes = await Promise.allSettled(
      minutes.map((minute) => changeSchedule(ports, schedule, { cron: `${minute} 5 * * *` })),
    );
    const refused = changes.filter((change) => change.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) {
      expect(reason).toMatchObject({ code: "conflict", detail: expect.stringContaining("changed nothing") });
    }
    const isMade = (minute: number) => changes[minute]?.status === "fulfilled";
    const { cron = "" } = await stored(schedule);
    expect(isMade(Number(cron.split(" ")[0]))).toBe(true);
    await check();
    expect(ruleOf(schedule.schedule_id)?.payload).toMatchObject({
      rule_revision: (await stored(schedule)).rule_revision,
    });
  });
});

describe("a deleted schedule", () => {
  test("a deleted schedule is gone, with its rule", async () => {
    const { ports, make, ruleOf } = schedulesPipeline();
    const schedule = await make();
    await deleteSchedule(ports, schedule);
    await expect(findSchedule(ports, schedule)).rejects.toMatchObject({ code: "not_found" });
    await expect(deleteSchedule(ports, schedule)).rejects.toMatchObject({ code: "not_found" });
    await expect(changeSchedule(ports, schedule, {})).rejects.toMatchObject({ code: "not_found" });
    expect(ruleOf(schedule.schedule_id)).toBeUndefined();
    expect(await ports.schedules.get(schedule)).toBeUndefined();
  });

  test("another tenant cannot delete a schedule", async () => {
    const { ports, make, ruleOf } = schedulesPipeline();
    const schedule = await make();
    const rule = ruleOf(schedule.schedule_id) ?? expect.fail("the schedule has no rule");
    const foreign = { ...key(schedule), tenant_id: "globex" };
    await expect(deleteSchedule(ports, foreign)).rejects.toMatchObject({ code: "not_found" });
    expect(ruleOf(schedule.schedule_id)).toEqual(rule);
    expect(await findSchedule(ports, schedule)).toEqual(schedule);
  });
});

describe("while EventBridge Scheduler is down", () => {
  test.each(["before", "after"] as const)("a create is refused, and nothing is left (%s)", async (down) => {
    const { make, rules, ports, ruleOf } = schedulesPipeline();
    rules.down = down;
    await expect(make()).rejects.toMatchObject({ name: "PortUnavailable" });
    expect((await ports.schedules.list("acme", { limit: 10 })).items).toEqual([]);
    rules.down = "no";
    const schedule = await make({ cron: "5 * * * *" });
    expect(ruleOf(schedule.schedule_id)?.expression).toBe("cron(5 * * * ? *)");
  });

  test.each(["before", "after"] as const)("a change is refused and taken back (%s)", async (down) => {
    const { make, rules, ports, stored } = schedulesPipeline();
    const schedule = await make();
    rules.down = down;
    const change = { cron: "5 * * * *", enabled: false };
    await expect(changeSchedule(ports, schedule, change)).rejects.toMatchObject({ name: "PortUnavailable" });
    expect(await stored(schedule)).toMatchObject({ cron: "0 * * * *", enabled: true, state: "ready" });
    rules.down = "no";
    expect(await changeSchedule(ports, schedule, change)).toMatchObject(change);
  });

  test.each(["before", "after"] as const)("a delete is refused, and the schedule stays (%s)", async (down) => {
    const { make, rules, ports } = schedulesPipeline();
    const schedule = await make();
    rules.down = down;
    await expect(deleteSchedule(ports, schedule)).rejects.toMatchObject({ name: "PortUnavailable" });
    expect(await findSchedule(ports, schedule)).toMatchObject({ cron: "0 * * * *" });
    rules.down = "no";
    await deleteSchedule(ports, schedule);
    await expect(findSchedule(ports, schedule)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a request that crashed half-way", () => {
  test("an unfinished create is not seen, and the next create completes it, with the same body or another", async () => {
    for (const body of [{}, { cron: "5 * * * *" }]) {
      const { make, ports, clock, ruleOf } = schedulesPipeline();
      const schedule = await make();
      await ports.schedules.replace({ ...schedule, state: "creating" }, schedule.revision);
      await expect(findSchedule(ports, schedule)).rejects.toMatchObject({ code: "not_found" });
      await expect(make({ cron: "7 * * * *" })).rejects.toMatchObject({ code: "conflict" });
      await clock.advance(31_000);
      const again = await make(body);
      expect(again).toMatchObject({ state: "ready", ...body });
      expect(ruleOf(schedule.schedule_id)?.payload).toMatchObject({ rule_revision: again.rule_revision });
    }
  });

  test("an unfinished delete is not seen, and the name can be used again", async () => {
    const { make, ports } = schedulesPipeline();
    const schedule = await make();
    await ports.schedules.replace({ ...schedule, state: "deleting" }, schedule.revision);
    await expect(findSchedule(ports, schedule)).rejects.toMatchObject({ code: "not_found" });
    expect(await make()).toMatchObject({ state: "ready" });
  });
});

describe("a schedule that is run by hand", () => {
  test("a run by hand submits the task in the caller's name, and is shown on the schedule", async () => {
    const { make, ports, clock, stored, tasksOf } = schedulesPipeline();
    const schedule = await make({ enabled: false });
    await clock.advance(1000);
    const { record } = await runSchedule(ports, schedule, { ...call, identity: { ...operator, principal: "otto" } });
    expect(tasksOf(schedule)).toMatchObject([
      { task_id: record.task_id, requested_by: "otto", correlation_id: "corr-1" },
    ]);
    expect(record).not.toHaveProperty("scheduled_for");
    expect(await stored(schedule)).toMatchObject({ last_run_at: iso(clock.now()), last_task_id: record.task_id });
  });

  test("two runs with one idempotency key make one task", async () => {
    const { make, ports, tasksOf } = schedulesPipeline();
    const schedule = await make();
    const again = { ...call, idempotencyKey: "k" };
    const first = await runSchedule(ports, schedule, again);
    expect(await runSchedule(ports, schedule, again)).toMatchObject({ replayed: true, record: first.record });
    expect(tasksOf(schedule)).toHaveLength(1);
  });

  test("a run without a known type is refused", async () => {
    const { make, ports } = schedulesPipeline([typeOf(() => null, { input: z.unknown() })]);
    const schedule = await make();
    const run = runSchedule({ ...ports, types: new Map() }, schedule, { ...call, identity: submitter });
    await expect(run).rejects.toMatchObject({ code: "unknown_task_type" });
  });
});
