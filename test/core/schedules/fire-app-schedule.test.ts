import { describe, expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { iso } from "../../../src/core/model/record.ts";
import { type AppSchedule, defineSchedule } from "../../../src/core/schedules/app-schedule.ts";
import { fireAppSchedule } from "../../../src/core/schedules/fire-app-schedule.ts";
import { echo } from "../../support/memory-pipeline.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";

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
    ["a refusal for", "invalid_input", { level: "error", fields: { tenant_id: "tenant-00007", outcome: "refused" } }],
    ["a limit of", "quota_exceeded", { level: "warn", fields: { tenant_id: "tenant-00007", outcome: "skipped" } }],
  ] as const)("%s one tenant does not keep the others from their tasks", async (_, code, line) => {
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
      { level: "info", fields: { submitted: 29, refused: 1 } },
    ]);
  });
});

describe("a firing of the app that must not submit", () => {
  test("a firing of a schedule that is no longer in the code is ignored", async () => {
    const { ports, clock } = await known(1);
    const firing = { kind: "app_schedule", name: "gone", scheduled_for: at } as const;
    expect(await fireAppSchedule(ports, firing, clock.now() + 300_000)).toBe("ignored");
  });

  test("a late firing is skipped when there was a later time since", async () => {
    const { fire, tasksOf, clock } = await known(2);
    await clock.advance(23 * 3_600_000);
    expect(await fire()).toBe("submitted");
    expect(await fire(300, "2026-12-30T02:00:00.000Z")).toBe("skipped");
    expect(tasksOf(forEach)).toHaveLength(2);
  });
});
