import { describe, expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { iso } from "../../../src/core/model/record.ts";
import { type AppSchedule, appRule, defineSchedule, notATimeOf } from "../../../src/core/schedules/app-schedule.ts";
import { nextTimes } from "../../../src/core/schedules/calendar.ts";
import { fireAppSchedule } from "../../../src/core/schedules/fire-app-schedule.ts";
import { appScheduleViews, setAppSchedulePaused } from "../../../src/core/schedules/manage-app-schedules.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { echo } from "../../support/task-types.ts";

const common = { name: "clean-up", cron: "0 2 * * *", type: echo, input: { value: "all" } } as const;
const forEach = defineSchedule({ ...common, forEachTenant: true });
const forOne = defineSchedule({ ...common, name: "ops-only", tenantId: "ops" });

const at = "2027-01-01T02:00:00.000Z";

/** A pipeline with known tenants, at the schedule's time. */
async function known(count: number, schedule: AppSchedule = forEach) {
  const pipeline = schedulesPipeline([echo], [schedule]);
  const tenants = Array.from({ length: count }, (_, index) => `tenant-${String(index).padStart(5, "0")}`);
  for (const tenant of tenants) await pipeline.tenants.note(tenant);
  await pipeline.clock.advance(2 * 3_600_000);
  const { ports, clock } = pipeline;
  const firing = { kind: "app_schedule", name: schedule.name, scheduled_for: at } as const;
  const fire = (seconds = 300, scheduled_for: string = at) =>
    fireAppSchedule(ports, { ...firing, scheduled_for }, clock.now() + seconds * 1000);
  return { ...pipeline, tenantIds: tenants, fire };
}

describe("a schedule for one tenant", () => {
  test("one task is submitted for its time, however often the firing is delivered", async () => {
    const { fire, tasksOf } = await known(3, forOne);
    for (let times = 0; times < 3; times++) expect(await fire()).toBe("submitted");
    expect(tasksOf(forOne)).toMatchObject([
      { tenant_id: "ops", requested_by: "schedule:ops-only", scheduled_for: at, schedule_id: forOne.schedule_id },
    ]);
  });
});

describe("a schedule for each tenant", () => {
  test("one task is submitted for every known tenant", async () => {
    const { fire, tasksOf, tenantIds, log } = await known(450);
    expect(await fire()).toBe("submitted");
    expect(
      tasksOf(forEach)
        .map(({ tenant_id }) => tenant_id)
        .sort(),
    ).toEqual(tenantIds);
    expect(log.lines.at(-1)).toMatchObject({ level: "info", fields: { submitted: 450, refused: 0 } });
  });

  test("no task is submitted when no tenant is known", async () => {
    const { fire, tasksOf } = await known(0);
    expect(await fire()).toBe("submitted");
    expect(tasksOf(forEach)).toEqual([]);
  });

  test("a repeated delivery does nothing more, and the next time has its own tasks", async () => {
    const { fire, tasksOf, clock } = await known(10);
    for (let times = 0; times < 3; times++) await fire();
    expect(tasksOf(forEach)).toHaveLength(10);
    await clock.advance(24 * 3_600_000);
    await fire(300, iso(clock.now()));
    expect(tasksOf(forEach)).toHaveLength(20);
  });

  test("each tenant's task has its own attempts and its own end", async () => {
    const { fire, drain, tasksOf } = await known(3);
    await fire();
    await drain();
    expect(tasksOf(forEach)).toMatchObject(Array(3).fill({ status: "completed", attempts: 1 }));
  });

  test("10,000 tasks are submitted once each, although a crash comes half-way", async () => {
    const { fire, tasksOf, records, tenantIds } = await known(10_000);
    const { create } = records;
    let left = 4_321;
    records.create = async (record, now) => {
      if (left-- === 0) throw new PortUnavailable("the table");
      return create.call(records, record, now);
    };
    await expect(fire()).rejects.toMatchObject({ code: "unavailable" });
    const before = tasksOf(forEach).length;
    expect(before).toBeGreaterThan(4_000);
    expect(before).toBeLessThan(5_000);
    let created = 0;
    records.create = (record, now) => {
      created += 1;
      return create.call(records, record, now);
    };
    expect(await fire()).toBe("submitted");
    const tenants = tasksOf(forEach).map(({ tenant_id }) => tenant_id);
    expect(tenants).toHaveLength(10_000);
    expect(new Set(tenants)).toEqual(new Set(tenantIds));
    // It went on with the page that it was at: nothing before it was touched again.
    expect(created).toBeLessThanOrEqual(10_000 - before + 225);
  });

  test("a firing stops before its time is up, and continues when it is delivered again, however late", async () => {
    const { fire, tasksOf, clock, records } = await known(1_000);
    const { create } = records;
    records.create = async (record, now) => {
      await clock.advance(100);
      return create.call(records, record, now);
    };
    await expect(fire(60)).rejects.toMatchObject({ name: "FiringUnfinished" });
    const begun = tasksOf(forEach).length;
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThan(1_000);
    records.create = create;
    await clock.advance(30 * 3_600_000);
    expect(await fire()).toBe("submitted");
    expect(tasksOf(forEach)).toHaveLength(1_000);
  });

  test.each([
    [
      "a refusal for",
      "invalid_input",
      { level: "error", fields: { tenant_id: "tenant-00007", outcome: "refused" } },
      0,
    ],
    ["a limit of", "quota_exceeded", { level: "warn", fields: { tenant_id: "tenant-00007", outcome: "skipped" } }, 1],
  ] as const)("%s one tenant does not keep the others from their tasks", async (_, code, line, skipped) => {
    const { fire, tasksOf, records, log } = await known(30);
    const { create } = records;
    records.create = async (record, now) => {
      if (record.tenant_id === "tenant-00007") throw new Problem(code, "That is enough.");
      return create.call(records, record, now);
    };
    expect(await fire()).toBe("submitted");
    expect(tasksOf(forEach)).toHaveLength(29);
    expect(log.lines.filter(({ message }) => message !== "task submitted")).toMatchObject([
      line,
      { level: "info", fields: { submitted: 29, skipped, refused: 1 - skipped } },
    ]);
  });
});

describe("a schedule of the code whose tasks must not overlap", () => {
  const skipping = { ...common, overlap: "skip", cron: "0 * * * *" } as const;
  const ofOps = defineSchedule({ ...skipping, tenantId: "ops" });
  const ofEach = defineSchedule({ ...skipping, forEachTenant: true });
  const hour = (number: number) => `2027-01-01T0${number}:00:00.000Z`;
  const viewOf = async ({ ports }: Awaited<ReturnType<typeof known>>, schedule: AppSchedule, tenantId = "ops") =>
    (await appScheduleViews(ports, tenantId, [schedule]))[0];

  test("a time gets no task while the last one has not ended, and the next one after its end does", async () => {
    const pipeline = await known(0, ofOps);
    const { fire, drain, clock, tasksOf, metrics } = pipeline;
    expect(await fire(300, hour(2))).toBe("submitted");
    await clock.advance(3_600_000);
    expect(await fire(300, hour(3))).toBe("skipped");
    const [first] = tasksOf(ofOps);
    expect(await viewOf(pipeline, ofOps)).toMatchObject({
      overlap: "skip",
      skipped: 1,
      last_skip_reason: `overlap: task ${first?.task_id} has not ended`,
      last_run_at: hour(2),
      last_task_id: first?.task_id,
    });
    expect(metrics.sum("schedule_missed")).toBe(0);
    await drain();
    await clock.advance(3_600_000);
    expect(await fire(300, hour(4))).toBe("submitted");
    expect(tasksOf(ofOps)).toMatchObject([{ scheduled_for: hour(2) }, { scheduled_for: hour(4) }]);
  });

  test("a delivery that comes again submits its time once, also when the first one died before its submit", async () => {
    const { fire, records, tasksOf } = await known(0, ofOps);
    const { create } = records;
    records.create = async () => {
      throw new PortUnavailable("the table");
    };
    await expect(fire()).rejects.toMatchObject({ code: "unavailable" });
    records.create = create;
    expect(await fire()).toBe("submitted");
    expect(await fire()).toBe("submitted");
    expect(tasksOf(ofOps)).toHaveLength(1);
  });

  test("the third time in a row counts as missed", async () => {
    const { fire, clock, metrics } = await known(0, ofOps);
    for (let number = 2; number < 6; number++) {
      await fire(300, hour(number));
      await clock.advance(3_600_000);
    }
    expect(metrics.sum("schedule_missed")).toBe(1);
  });

  test("each tenant is skipped for its own task, also after a time that it had no task for", async () => {
    const pipeline = await known(2, ofEach);
    const { fire, drain, clock, ports, tasksOf } = pipeline;
    const [busy = "", paused = ""] = pipeline.tenantIds;
    await fire(300, hour(2));
    // Only the second tenant's task ends.
    for (const record of tasksOf(ofEach).filter(({ tenant_id }) => tenant_id === paused)) {
      await ports.records.change(record, { when: {}, set: { status: "cancelled" } });
    }
    const olga = { tenantId: busy, principal: "olga" };
    await setAppSchedulePaused(ports, ofEach, olga, true);
    await clock.advance(3_600_000);
    await fire(300, hour(3));
    await setAppSchedulePaused(ports, ofEach, olga, false);
    await clock.advance(3_600_000);
    await fire(300, hour(4));
    const timesOf = (tenant: string) =>
      tasksOf(ofEach)
        .filter(({ tenant_id }) => tenant_id === tenant)
        .map(({ scheduled_for }) => scheduled_for);
    expect(timesOf(busy)).toEqual([hour(2)]);
    expect(timesOf(paused)).toEqual([hour(2), hour(3)]);
    expect(await viewOf(pipeline, ofEach, busy)).toMatchObject({ skipped: 2, last_run_at: hour(2) });
    await drain();
    await clock.advance(3_600_000);
    await fire(300, hour(5));
    expect(timesOf(busy)).toEqual([hour(2), hour(5)]);
  });

  test("a task that was refused is no last task", async () => {
    const pipeline = await known(0, ofOps);
    const { fire, records, tasksOf, clock } = pipeline;
    await fire(300, hour(2));
    const { create } = records;
    const [first] = tasksOf(ofOps);
    await pipeline.drain();
    await clock.advance(3_600_000);
    records.create = async () => {
      throw new Problem("invalid_input", "That does not fit.");
    };
    expect(await fire(300, hour(3))).toBe("refused");
    expect(await viewOf(pipeline, ofOps)).toMatchObject({
      ...{ last_run_at: hour(2), last_task_id: first?.task_id },
      ...{ last_error: "That does not fit.", last_error_at: hour(3) },
    });
    records.create = create;
    await clock.advance(3_600_000);
    expect(await fire(300, hour(4))).toBe("submitted");
  });
});

describe("an interval of the code with a start", () => {
  /** The crontab rule of an expression of EventBridge Scheduler. */
  const crontabOf = (expression: string) => {
    const [minutes = "", hours = ""] = expression.slice("cron(".length, -1).split(" ");
    const ranged = (field: string, most: number) => field.replace(/^(\d+)\//, `$1-${most}/`);
    return `${ranged(minutes, 59)} ${ranged(hours, 23)} * * *`;
  };
  const { cron: _, ...every } = { ...common, tenantId: "ops" } as const;
  const startsAt = "2027-01-01T02:30:20+01:00";

  test.each([
    [300, "cron(1/5 * * * ? *)", "every five minutes"],
    [3_600, "cron(31 * * * ? *)", "an hour"],
    [6 * 3_600, "cron(31 1/6 * * ? *)", "six hours"],
    [5_400, "cron(1,31 * * * ? *)", "an hour and a half, of half hours"],
    [7 * 3_600, "cron(31 * * * ? *)", "seven hours, of hours"],
    [7 * 86_400, "cron(31 1 * * ? *)", "a week, of days"],
    [61 * 60, "cron(* * * * ? *)", "61 minutes, of minutes"],
  ])("%i seconds are the rule %s: %s", (everySeconds, expression) => {
    const schedule = defineSchedule({ ...every, everySeconds, startsAt });
    expect(appRule(schedule)).toMatchObject({ expression, timezone: "UTC" });
    const first = Date.parse("2027-01-01T01:31:00.000Z");
    const times = [0, 1, 2, 3].map((number) => first + number * everySeconds * 1000);
    const end = times.at(-1) ?? 0;
    const fired = nextTimes({ cron: crontabOf(expression), timezone: "UTC" }, "", first - 86_400_000, 2_000);
    const own = fired.filter((time) => time <= end && notATimeOf(schedule, iso(time)) === undefined);
    expect(own).toEqual(times);
  });

  test("a time between two of the interval is passed over, and its next time is known before it has fired", async () => {
    const schedule = defineSchedule({ ...every, everySeconds: 5_400, startsAt });
    const { fire, tasksOf, ports } = await known(0, schedule);
    const [view] = await appScheduleViews(ports, "ops", [schedule]);
    expect(view).toMatchObject({ starts_at: "2027-01-01T01:30:20.000Z", next_run_at: "2027-01-01T03:01:00.000Z" });
    expect(await fire(300, "2027-01-01T01:31:00.000Z")).toBe("submitted");
    expect(await fire(300, "2027-01-01T02:01:00.000Z")).toBe("ignored");
    expect(await fire(300, "2027-01-01T00:01:00.000Z")).toBe("ignored");
    expect(await fire(300, "2027-01-01T03:01:00.000Z")).toBe("submitted");
    expect(tasksOf(schedule)).toHaveLength(2);
  });

  test("a cron rule of the code has no time before its start", async () => {
    const schedule = defineSchedule({ ...common, tenantId: "ops", startsAt: new Date("2027-01-01T02:00:01Z") });
    const { fire, tasksOf, ports } = await known(0, schedule);
    expect(await fire()).toBe("ignored");
    expect(tasksOf(schedule)).toEqual([]);
    const [view] = await appScheduleViews(ports, "ops", [schedule]);
    expect(view?.next_run_at).toBe("2027-01-02T02:00:00.000Z");
  });
});

describe("a paused schedule", () => {
  const pause = (pipeline: Awaited<ReturnType<typeof known>>, schedule: AppSchedule, tenantId: string, paused = true) =>
    setAppSchedulePaused(pipeline.ports, schedule, { tenantId, principal: "olga" }, paused);
  const viewed = async ({ ports }: Awaited<ReturnType<typeof known>>, schedule: AppSchedule, tenantId: string) =>
    (await appScheduleViews(ports, tenantId, [schedule]))[0];

  test("its time is skipped and counted once, however often the firing is delivered, also after it is resumed", async () => {
    const pipeline = await known(1, forOne);
    await pause(pipeline, forOne, "ops");
    expect(await pipeline.fire()).toBe("skipped");
    expect(await pipeline.fire()).toBe("ignored");
    await pause(pipeline, forOne, "ops", false);
    expect(await pipeline.fire()).toBe("ignored");
    expect(pipeline.tasksOf(forOne)).toEqual([]);
    expect(await viewed(pipeline, forOne, "ops")).toMatchObject({
      ...{ enabled: true, paused_since: null, skipped: 1, last_skipped_at: at, last_run_at: null },
      last_skip_reason: expect.stringContaining("paused since 2027-01-01T02:00:00.000Z"),
    });
  });

  test("a time whose task exists is no skipped one, although its firing comes again after the pause", async () => {
    const pipeline = await known(1, forOne);
    await pipeline.fire();
    await pause(pipeline, forOne, "ops");
    expect(await pipeline.fire()).toBe("submitted");
    expect(pipeline.tasksOf(forOne)).toHaveLength(1);
    expect(await viewed(pipeline, forOne, "ops")).toMatchObject({ skipped: 0, enabled: false, paused_by: "olga" });
  });

  test("one tenant's pause keeps only its own task back", async () => {
    const pipeline = await known(30);
    await pause(pipeline, forEach, "tenant-00007");
    for (let times = 0; times < 2; times++) expect(await pipeline.fire()).toBe("submitted");
    expect(pipeline.tasksOf(forEach)).toHaveLength(29);
    expect(pipeline.log.lines.at(-1)).toMatchObject({ fields: { submitted: 29, skipped: 1, refused: 0 } });
    expect(await viewed(pipeline, forEach, "tenant-00007")).toMatchObject({
      ...{ enabled: false, skipped: 1, last_run_at: null, last_task_id: null },
    });
    const other = await viewed(pipeline, forEach, "tenant-00008");
    expect(other).toMatchObject({
      enabled: true,
      skipped: 0,
      last_run_at: at,
      next_run_at: "2027-01-02T02:00:00.000Z",
    });
    expect(pipeline.tasksOf(forEach).map(({ task_id }) => task_id)).toContain(other?.last_task_id);
  });

  test("a pause for all holds for every tenant, and no tenant can end it", async () => {
    const pipeline = await known(3);
    await pause(pipeline, forEach, "*");
    expect(await pipeline.fire()).toBe("skipped");
    expect(await viewed(pipeline, forEach, "tenant-00001")).toMatchObject({ enabled: false, skipped: 1 });
    await expect(pause(pipeline, forEach, "tenant-00001", false)).rejects.toMatchObject({ code: "conflict" });
    await pause(pipeline, forEach, "*", false);
    expect(await viewed(pipeline, forEach, "tenant-00001")).toMatchObject({ enabled: true });
    expect(pipeline.tasksOf(forEach)).toEqual([]);
  });

  test("a firing that is half done stops at a pause for all", async () => {
    const pipeline = await known(1_000);
    const { create } = pipeline.records;
    pipeline.records.create = async (record, now) => {
      await pipeline.clock.advance(100);
      return create.call(pipeline.records, record, now);
    };
    await expect(pipeline.fire(60)).rejects.toMatchObject({ name: "FiringUnfinished" });
    const begun = pipeline.tasksOf(forEach).length;
    await pause(pipeline, forEach, "*");
    expect(await pipeline.fire()).toBe("skipped");
    expect(pipeline.tasksOf(forEach)).toHaveLength(begun);
  });
});

describe("what a schedule of the app shows", () => {
  test("the refusal of a task, until a time has one", async () => {
    const { fire, ports, records, clock } = await known(1, forOne);
    const { create } = records;
    records.create = async () => {
      throw new Problem("invalid_input", "That is no input.");
    };
    expect(await fire()).toBe("refused");
    const view = async () => (await appScheduleViews(ports, "ops", [forOne]))[0];
    expect(await view()).toMatchObject({ last_error: "That is no input.", last_error_at: at, last_run_at: null });
    records.create = create;
    await clock.advance(24 * 3_600_000);
    const next = iso(clock.now());
    expect(await fire(300, next)).toBe("submitted");
    expect(await view()).toMatchObject({ last_error: null, last_run_at: next });
  });

  test("a rate has no known time before its first firing, and then counts from it", async () => {
    const rate = defineSchedule({
      name: "rate",
      everySeconds: 3_600,
      type: echo,
      input: { value: "a" },
      tenantId: "ops",
    });
    const { fire, ports, clock } = await known(1, rate);
    const view = async () => (await appScheduleViews(ports, "ops", [rate]))[0];
    expect(await view()).toMatchObject({ next_run_at: null });
    await fire();
    await clock.advance(60_000);
    expect(await view()).toMatchObject({ next_run_at: "2027-01-01T03:00:00.000Z", last_run_at: at });
  });
});

describe("a firing of the app that must not submit", () => {
  test("a firing of a schedule that is no longer in the code is ignored", async () => {
    const { ports, clock } = await known(1);
    const firing = { kind: "app_schedule", name: "gone", scheduled_for: at } as const;
    expect(await fireAppSchedule(ports, firing, clock.now() + 300_000)).toBe("ignored");
  });

  test("a time of an interval is late only when its next time has passed, at whatever second it was", async () => {
    const rate = defineSchedule({
      ...{ name: "rate", everySeconds: 3_600 },
      ...{ type: echo, input: { value: "a" } },
      tenantId: "ops",
    });
    const { fire, clock } = await known(0, rate);
    await clock.advance(20 * 60_000);
    expect(await fire(300, "2027-01-01T02:00:11.000Z")).toBe("submitted");
    await clock.advance(41 * 60_000);
    expect(await fire(300, "2027-01-01T02:00:12.000Z")).toBe("skipped");
  });

  test("a late firing is skipped when there was a later time since", async () => {
    const { fire, tasksOf, clock } = await known(2);
    await clock.advance(23 * 3_600_000);
    expect(await fire()).toBe("submitted");
    expect(await fire(300, "2026-12-30T02:00:00.000Z")).toBe("skipped");
    expect(tasksOf(forEach)).toHaveLength(2);
  });
});

describe("a schedule with an alarm of its own", () => {
  const watched = defineSchedule({ ...common, name: "billing", tenantId: "ops", alarm: true });

  test.each([
    ["is late", false, 1],
    ["is paused", true, 0],
  ])("when it %s, its times without a task are counted under its name", async (_, paused, counted) => {
    const { fire, ports, clock, metrics } = await known(0, watched);
    if (paused) await setAppSchedulePaused(ports, watched, { tenantId: "ops", principal: "olga" }, true);
    await clock.advance(2 * 86_400_000);
    expect(await fire()).toBe("skipped");
    const own = metrics.added.filter(({ name }) => name === "watched_schedule_missed");
    expect(own.map(({ of }) => of)).toEqual(Array(counted).fill({ tier: "normal", type: "billing" }));
  });

  test("a schedule without one counts in none", async () => {
    const { fire, clock, metrics } = await known(0, forOne);
    await clock.advance(2 * 86_400_000);
    await fire();
    expect([metrics.sum("schedule_missed"), metrics.sum("watched_schedule_missed")]).toEqual([1, 0]);
  });
});
