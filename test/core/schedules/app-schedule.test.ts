import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { appRule, appSchedules, defineSchedule, parseAppSchedules } from "../../../src/core/schedules/app-schedule.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { toCatalog } from "../../../src/core/task/to-catalog.ts";

const report = defineTask({
  name: "report.daily",
  input: z.strictObject({ sections: z.array(z.string()).min(1) }),
  handler: ({ sections }) => sections.length,
});

const nightly = {
  name: "report.nightly",
  cron: "0 2 * * *",
  type: report,
  input: { sections: ["orders"] },
  forEachTenant: true,
} as const;

describe("a schedule in code", () => {
  test("a schedule in code becomes data", () => {
    const schedule = defineSchedule({
      ...nightly,
      input: { sections: ["orders"] },
      timezone: "Europe/Berlin",
      priority: "low",
      maxAttempts: 2,
      tags: { by: "schedule" },
    });
    expect(schedule).toEqual({
      name: "report.nightly",
      schedule_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      cron: "0 2 * * *",
      timezone: "Europe/Berlin",
      task: {
        type: "report.daily",
        input: { sections: ["orders"] },
        priority: "low",
        max_attempts: 2,
        tags: { by: "schedule" },
      },
    });
    expect(parseAppSchedules(JSON.stringify([schedule])).get("report.nightly")).toEqual(schedule);
    expect(appRule(schedule)).toEqual({
      expression: "cron(0 2 * * ? *)",
      timezone: "Europe/Berlin",
      payload: { kind: "app_schedule", name: "report.nightly" },
    });
  });

  test("a schedule may be for one tenant, and by a rate", () => {
    const { forEachTenant: _, cron: __, ...rest } = nightly;
    const schedule = defineSchedule({ ...rest, input: { sections: ["a"] }, everySeconds: 300, tenantId: "ops" });
    expect(schedule).toMatchObject({ tenant_id: "ops", every_seconds: 300, timezone: "UTC" });
    expect(appRule(schedule).expression).toBe("rate(5 minutes)");
  });

  test("a schedule may skip times that overlap, and start later", () => {
    const startsAt = "2027-01-01T00:00:00+01:00";
    const given = { ...nightly, input: { sections: ["a"] }, overlap: "skip" as const, startsAt };
    const schedule = defineSchedule(given);
    expect(schedule).toMatchObject({ overlap: "skip", starts_at: "2026-12-31T23:00:00.000Z" });
    expect(parseAppSchedules(JSON.stringify([schedule])).get("report.nightly")).toEqual(schedule);
    expect(defineSchedule({ ...given, overlap: "allow" })).not.toHaveProperty("overlap");
    expect(defineSchedule({ ...given, startsAt: new Date(startsAt) })).toEqual(schedule);
  });

  test("the input of a schedule has the type of its task type", () => {
    expectTypeOf(defineSchedule<{ sections: string[] }>)
      .parameter(0)
      .toHaveProperty("input")
      .toEqualTypeOf<{ sections: string[] }>();
    // @ts-expect-error a section is text
    expect(() => defineSchedule({ ...nightly, input: { sections: [7] } })).toThrow("input.sections");
  });

  test.each([
    [{ name: "Nightly Report" }, "name must be"],
    [{ name: "n".repeat(49) }, "at most 48 characters"],
    [{ cron: undefined }, "expected cron or everySeconds"],
    [{ everySeconds: 60 }, "not both"],
    [{ cron: "0 0 31 2 *" }, "never fires"],
    [{ cron: undefined, everySeconds: 90 }, "everySeconds"],
    [{ timezone: "here" }, "timezone"],
    [{ input: { sections: [] } }, "input.sections"],
    [{ maxAttempts: 21 }, "maxAttempts"],
    [{ overlap: "wait" }, "overlap must be one of allow, skip"],
    [{ startsAt: "tomorrow" }, "startsAt"],
    [{ startsAt: new Date(Number.NaN) }, "startsAt"],
    [{ tags: { "a b": "" } }, "tags"],
    [{ tenantId: "acme" }, "either tenantId or forEachTenant"],
    [{ forEachTenant: undefined }, "either tenantId or forEachTenant"],
    [{ forEachTenant: undefined, tenantId: "a b" }, "tenantId must match"],
  ])("a schedule that cannot work is refused when it is defined: %j", (change, words) => {
    const define = () => defineSchedule({ ...nightly, ...change } as unknown as Parameters<typeof defineSchedule>[0]);
    expect(define).toThrow(new RegExp(`^defineSchedule\\("[^"]+"\\): .*${words}`));
  });
});

describe("the app's schedules", () => {
  const schedule = defineSchedule({ ...nightly, input: { sections: ["orders"] } });

  test("the app's schedules submit types that the deployment accepts", () => {
    expect(appSchedules([schedule], toCatalog([report]))).toEqual([schedule]);
    expect(() => appSchedules([schedule], [])).toThrow(
      "report.nightly submits report.daily, which is not a task type of this app: expected a file tasks/report.daily.ts",
    );
  });

  test("the app's schedules have different names", () => {
    expect(() => appSchedules([schedule, schedule], toCatalog([report]))).toThrow(
      "two schedules are named report.nightly",
    );
  });
});
