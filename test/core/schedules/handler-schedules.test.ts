import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { iso } from "../../../src/core/model/record.ts";
import { scheduleIdOf } from "../../../src/core/schedules/schedule-record.ts";
import type { TaskContext } from "../../../src/core/task/context.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";

const report = defineTask({
  name: "shop.report",
  input: z.object({ shop: z.string().min(1) }),
  handler: ({ shop }) => shop,
});

/** A pipeline with a type whose handler makes calls of schedules. */
function calling(call: (task: TaskContext) => unknown) {
  const maker = defineTask({ name: "maker", input: z.unknown(), maxAttempts: 2, handler: (_, task) => call(task) });
  return schedulesPipeline([maker, report]);
}

const daily = { cron: "0 6 * * *", type: report, input: { shop: "a" } };
const key = { tenant_id: "acme", schedule_id: scheduleIdOf("acme", "report-of-a") };

describe("schedules of a handler", () => {
  test("a handler makes a schedule of its tenant, whose tasks belong to who submitted the handler's task", async () => {
    const timed = { timezone: "Europe/Berlin", overlap: "skip" as const, startsAt: new Date("2027-01-02T00:00:00Z") };
    const pipeline = calling(async (task) =>
      task.putSchedule("report-of-a", { ...daily, ...timed, priority: "low", maxAttempts: 3, tags: { by: "maker" } }),
    );
    const record = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: key.schedule_id });
    expect(await pipeline.stored(key)).toMatchObject({
      ...{ name: "report-of-a", state: "ready", created_by: "olga", cron: "0 6 * * *", timezone: "Europe/Berlin" },
      ...{ starts_at: "2027-01-02T00:00:00.000Z", overlap: "skip", enabled: true },
      task: {
        ...{ type: "shop.report", input: { shop: "a" }, priority: "low", max_attempts: 3, tags: { by: "maker" } },
      },
    });
    expect(pipeline.ruleOf(key.schedule_id)).toMatchObject({ expression: "cron(0 6 * * ? *)", enabled: true });
    await pipeline.clock.advance(Date.parse("2027-01-02T05:00:00.000Z") - pipeline.clock.now());
    expect(await pipeline.fireRule(key)).toBe("submitted");
    expect(pipeline.tasksOf(key)).toMatchObject([{ type: "shop.report", requested_by: "olga", tenant_id: "acme" }]);
  });

  test("a second call changes the schedule of the name, and the same one writes nothing", async () => {
    let hour = 6;
    const pipeline = calling((task) => task.putSchedule("report-of-a", { ...daily, cron: `0 ${hour} * * *` }));
    for (const next of [6, 6, 7]) {
      hour = next;
      const before = await pipeline.schedules.get(key);
      await pipeline.accept();
      await pipeline.drain();
      if (before !== undefined && before.cron === `0 ${next} * * *`) expect(await pipeline.stored(key)).toEqual(before);
      await pipeline.clock.advance(1_000);
    }
    expect(pipeline.schedules.all()).toMatchObject([{ cron: "0 7 * * *" }]);
    expect(pipeline.ruleOf(key.schedule_id)?.expression).toBe("cron(0 7 * * ? *)");
  });

  test("many calls at once with one name make one schedule, which has the definition of one of them", async () => {
    const pipeline = calling((task) =>
      Promise.all([1, 2, 3, 4].map((hour) => task.putSchedule("report-of-a", { ...daily, cron: `0 ${hour} * * *` }))),
    );
    const record = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
    const [only, ...others] = pipeline.schedules.all();
    expect(others).toEqual([]);
    const hour = only?.cron?.split(" ")[1];
    expect(pipeline.ruleOf(key.schedule_id)?.expression).toBe(`cron(0 ${hour} * * ? *)`);
  });

  test("an attempt that dies while the rule is made leaves nothing that fires, and the next one makes it", async () => {
    const pipeline = calling((task) => task.putSchedule("report-of-a", daily));
    pipeline.rules.down = "before";
    const record = await pipeline.accept();
    await pipeline.work();
    expect(pipeline.rules.all().size).toBe(0);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending", attempts: 1 });
    pipeline.rules.down = "no";
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
    expect(await pipeline.stored(key)).toMatchObject({ state: "ready" });
    expect(pipeline.rules.all().size).toBe(1);
  });

  test("a schedule is deleted once, and none is no error", async () => {
    const pipeline = calling(async (task) => {
      await task.putSchedule("report-of-a", daily);
      await task.deleteSchedule("report-of-a");
      await task.deleteSchedule("report-of-a");
      await task.deleteSchedule("another");
    });
    const record = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
    expect(pipeline.schedules.all()).toEqual([]);
    expect(pipeline.rules.all().size).toBe(0);
  });

  test.each([
    ["no name", "", daily, "1 to 128 characters"],
    ["a name that is no text", 7, daily, "a schedule's name must be a text, got 7"],
    ["a rule that AWS cannot express", "a", { ...daily, cron: "0 0 1 * MON" }, "cron"],
    ["both rules", "a", { ...daily, everySeconds: 60 }, "either cron or everySeconds, not both"],
    ["an interval of seconds", "a", { ...daily, cron: undefined, everySeconds: 90 }, "everySeconds"],
    ["an input that does not fit", "a", { ...daily, input: { shop: "" } }, "shop"],
    ["a type that is not known", "a", { ...daily, type: "none" }, "none"],
    ["the client's form", "a", { cron: "0 6 * * *", task: daily }, "task is not an option; did you mean type?"],
    ["an input without JSON", "a", { ...daily, input: { shop: 1n } }, "JSON"],
    ["a Promise", "a", { ...daily, input: Promise.resolve({}) }, "await it"],
    ["a start that is no time", "a", { ...daily, startsAt: "tomorrow" }, "startsAt"],
  ])("%s is the handler's error, for good", async (_, name, schedule, message) => {
    const pipeline = calling((task) => task.putSchedule(name as string, schedule as never));
    const record = await pipeline.accept();
    await pipeline.drain();
    const { status, error_kind, error } = await pipeline.recordOf(record);
    expect({ status, error_kind }).toEqual({ status: "failed", error_kind: "permanent" });
    expect(error).toContain(message);
    expect(pipeline.schedules.all()).toEqual([]);
  });

  test("a call after the attempt's end has no effect", async () => {
    let late: TaskContext | undefined;
    const pipeline = calling((task) => {
      late = task;
    });
    await pipeline.accept();
    await pipeline.drain();
    void late?.putSchedule("report-of-a", daily);
    await pipeline.clock.advance(1_000);
    expect(pipeline.schedules.all()).toEqual([]);
    expect(iso(pipeline.clock.now())).toMatch(/^2027/);
  });

  test("the compiler checks the input of a type, and takes any for a name", () => {
    const check = (task: TaskContext) => [
      task.putSchedule("a", daily),
      task.putSchedule("a", { everySeconds: 60, type: "shop.report", input: 7 }),
      // @ts-expect-error a shop is text
      task.putSchedule("a", { everySeconds: 60, type: report, input: { shop: 7 } }),
      // @ts-expect-error a type needs its input
      task.putSchedule("a", { everySeconds: 60, type: report }),
      // @ts-expect-error no other overlap
      task.putSchedule("a", { ...daily, overlap: "wait" }),
    ];
    expectTypeOf(check).returns.toEqualTypeOf<Promise<string>[]>();
    expect(check).toBeTypeOf("function");
  });
});
