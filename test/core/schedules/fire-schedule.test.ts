import { describe, expect, test } from "vitest";
import * as z from "zod";
import { cancel } from "../../../src/core/control/control.ts";
import { createGate, withoutDepth } from "../../../src/core/limits/gate.ts";
import { type Limits, noLimits } from "../../../src/core/limits/limits.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import { lateAfterSeconds } from "../../../src/core/schedules/fire-schedule.ts";
import { changeSchedule, deleteSchedule, runSchedule } from "../../../src/core/schedules/manage-schedules.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { operator } from "../../support/identities.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";

const minute = 60_000;
const hour = 60 * minute;

/** A schedule that runs every minute, at its first time. */
async function minutely(body: object = {}) {
  const pipeline = schedulesPipeline();
  const schedule = await pipeline.make({ cron: "* * * * *", ...body });
  await pipeline.clock.advance(minute);
  return { ...pipeline, schedule };
}

describe("a firing", () => {
  test("a firing submits the schedule's task for its time, in its creator's name", async () => {
    const { fireRule, schedule, tasksOf, stored, clock, queues, log } = await minutely({
      task: { type: "echo", input: { value: 1 }, priority: "low", tags: { a: "b" }, max_attempts: 2 },
    });
    expect(await fireRule(schedule)).toBe("submitted");
    const [task, ...more] = tasksOf(schedule);
    expect(more).toEqual([]);
    expect(task).toMatchObject({
      tenant_id: "acme",
      type: "echo",
      priority: "low",
      tags: { a: "b" },
      max_attempts: 2,
      requested_by: "olga",
      schedule_id: schedule.schedule_id,
      scheduled_for: iso(clock.now()),
      correlation_id: `${schedule.schedule_id}:${iso(clock.now())}`,
    });
    expect(queues.waiting("low")).toHaveLength(1);
    expect(await stored(schedule)).toMatchObject({ last_run_at: iso(clock.now()), last_task_id: task?.task_id });
    expect(log.lines.filter(({ message }) => message !== "task submitted")).toMatchObject([
      { level: "info", message: "schedule fired", fields: { outcome: "submitted" } },
    ]);
  });

  test("a firing that is delivered three times makes one task", async () => {
    const { fireRule, schedule, tasksOf, clock, drain } = await minutely();
    const time = iso(clock.now());
    expect(await Promise.all([fireRule(schedule), fireRule(schedule), fireRule(schedule)])).toEqual(
      Array(3).fill("submitted"),
    );
    expect(tasksOf(schedule)).toHaveLength(1);
    await drain();
    expect(await fireRule(schedule, time)).toBe("submitted");
    expect(tasksOf(schedule)).toMatchObject([{ status: "completed", attempts_total: 1 }]);
  });

  test("four firings a minute apart, each delivered three times, make four tasks", async () => {
    const { fireRule, schedule, tasksOf, clock } = await minutely({ cron: undefined, every_seconds: 60 });
    const first = clock.now();
    for (let fired = 0; fired < 4; fired++, await clock.advance(minute)) {
      for (let times = 0; times < 3; times++) await fireRule(schedule);
    }
    expect(tasksOf(schedule).map(({ scheduled_for }) => scheduled_for)).toEqual(
      [0, 1, 2, 3].map((minutes) => iso(first + minutes * minute)),
    );
  });

  test("firings out of order make each time's task, and the last run stays the latest", async () => {
    const { fireRule, schedule, tasksOf, clock, stored } = await minutely();
    const [first, second] = [clock.now(), clock.now() + minute];
    await clock.advance(2 * minute);
    await fireRule(schedule, iso(second));
    await fireRule(schedule, iso(first));
    expect(tasksOf(schedule)).toHaveLength(2);
    expect((await stored(schedule)).last_run_at).toBe(iso(second));
  });

  test("a firing that dies between its note and its submit is completed by the next delivery", async () => {
    const { fireRule, schedule, tasksOf, ports, records } = await minutely();
    const { create } = records;
    records.create = () => Promise.reject(new PortUnavailable("the table"));
    await expect(fireRule(schedule)).rejects.toMatchObject({ code: "unavailable" });
    expect(tasksOf(schedule)).toEqual([]);
    records.create = create;
    expect(await fireRule(schedule)).toBe("submitted");
    expect(tasksOf(schedule)).toHaveLength(1);
    expect(ports.records.all()).toHaveLength(1);
  });

  test("a message that could not be sent is sent by the next delivery", async () => {
    const { fireRule, schedule, tasksOf, queues } = await minutely();
    const { send } = queues;
    queues.send = () => Promise.reject(new PortUnavailable("the queue"));
    await expect(fireRule(schedule)).rejects.toMatchObject({ code: "unavailable" });
    queues.send = send;
    await fireRule(schedule);
    expect(tasksOf(schedule)).toHaveLength(1);
    expect(queues.waiting("normal")).toHaveLength(1);
  });

  test("a changed schedule does not change the task of a time that has one", async () => {
    const { fireRule, schedule, tasksOf, ports, clock, ruleOf } = await minutely();
    const time = iso(clock.now());
    await fireRule(schedule);
    const old = ruleOf(schedule.schedule_id);
    await changeSchedule(ports, schedule, { task: { type: "echo", input: { value: 2 } } });
    expect(await fireRule(schedule, time, old)).toBe("submitted");
    expect(tasksOf(schedule)).toHaveLength(1);
  });
});

test("the third time in a row that comes while the last task runs counts as missed, and so does each later one until one runs", async () => {
  const { fireRule, schedule, clock, metrics, ports, tasksOf } = await minutely({ overlap: "skip" });
  expect(await fireRule(schedule)).toBe("submitted");
  for (const missed of [0, 0, 1, 2]) {
    await clock.advance(minute);
    expect(await fireRule(schedule)).toBe("skipped");
    expect(metrics.sum("schedule_missed")).toBe(missed);
  }
  const [task] = tasksOf(schedule);
  if (task !== undefined) await cancel(ports, task);
  for (const outcome of ["submitted", "skipped", "skipped"]) {
    await clock.advance(minute);
    expect(await fireRule(schedule)).toBe(outcome);
  }
  expect(metrics.sum("schedule_missed")).toBe(2);
});

test("with an alarm each time without a task counts, also the first one that overlaps, until the alarm is taken back", async () => {
  const { fireRule, schedule, clock, metrics, ports } = await minutely({ overlap: "skip", alarm: true });
  expect(schedule).toMatchObject({ alarm: true });
  expect(await fireRule(schedule)).toBe("submitted");
  await clock.advance(minute);
  expect(await fireRule(schedule)).toBe("skipped");
  expect(metrics.sum("schedule_missed")).toBe(1);
  const changed = await changeSchedule(ports, schedule, { alarm: false });
  expect(changed).not.toHaveProperty("alarm");
  await clock.advance(minute);
  expect(await fireRule(schedule)).toBe("skipped");
  expect(metrics.sum("schedule_missed")).toBe(1);
});

describe("a firing counts as a submit of its tenant", () => {
  /** Two schedules at their first time, of a tenant with limits. */
  async function limited(limits: Limits) {
    const pipeline = schedulesPipeline();
    const { clock, log, records, queues } = pipeline;
    const gatePorts = { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues };
    const gate = createGate(gatePorts, { ...noLimits, tenants: { acme: limits } });
    Object.assign(pipeline.ports, { scheduleGate: withoutDepth(gate) });
    const schedules = [
      await pipeline.make({ name: "first", cron: "* * * * *" }),
      await pipeline.make({ name: "second", cron: "* * * * *" }),
    ] as const;
    await clock.advance(minute);
    return { ...pipeline, schedules };
  }

  test.each<[string, Limits, RegExp]>([
    ["rate", { submits_per_second: 0.01, burst: 1 }, /^limit: .*tasks per second/],
    ["tasks in progress", { tasks_in_progress: 1 }, /^limit: .*1 tasks in progress/],
  ])("over the tenant's %s a time is skipped, counted, and has its reason", async (_, limits, reason) => {
    const { fireRule, schedules, tasksOf, stored, clock, log, metrics } = await limited(limits);
    const [first, second] = schedules;
    const time = iso(clock.now());
    expect(await fireRule(first)).toBe("submitted");
    expect(await fireRule(second)).toBe("skipped");
    expect(tasksOf(second)).toEqual([]);
    expect(await stored(second)).toMatchObject({
      ...{ skipped: 1, skips: [time], fired: [], last_skip_reason: expect.stringMatching(reason) },
    });
    expect(await stored(second)).not.toHaveProperty("last_task_id");
    expect(log.lines.at(-1)).toMatchObject({ level: "warn", message: "schedule skipped a time" });
    expect(metrics.sum("schedule_missed")).toBe(1);
    // Another delivery of the same time, when there is room again.
    await clock.advance(10 * minute);
    expect(await fireRule(second, time)).toBe("ignored");
    expect(tasksOf(second)).toEqual([]);
  });

  test("a delivery after the task was submitted skips nothing, although there is no room any more", async () => {
    const { fireRule, schedules, tasksOf, stored } = await limited({ submits_per_second: 0.01, burst: 1 });
    expect(await fireRule(schedules[0])).toBe("submitted");
    expect(await fireRule(schedules[0])).toBe("submitted");
    expect(tasksOf(schedules[0])).toHaveLength(1);
    expect(await stored(schedules[0])).toMatchObject({ skipped: 0 });
  });

  test("a tenant without limits is not held up", async () => {
    const { fireRule, schedules } = await limited({});
    expect([await fireRule(schedules[0]), await fireRule(schedules[1])]).toEqual(["submitted", "submitted"]);
  });
});

describe("a firing that must not submit", () => {
  test("a firing is ignored while the schedule is paused, and for times before it was resumed", async () => {
    const { fireRule, schedule, tasksOf, ports, clock, stored } = await minutely();
    const missed = iso(clock.now());
    await changeSchedule(ports, schedule, { enabled: false });
    expect(await fireRule(schedule)).toBe("ignored");
    await clock.advance(5 * minute + 1);
    await changeSchedule(ports, schedule, { enabled: true });
    expect(await fireRule(schedule, missed)).toBe("ignored");
    expect(tasksOf(schedule)).toEqual([]);
    expect((await stored(schedule)).skipped).toBe(0);
    await clock.advance(minute - 1);
    expect(await fireRule(schedule)).toBe("submitted");
  });

  test("a firing outside the schedule's bounds is ignored", async () => {
    const pipeline = schedulesPipeline();
    const start = pipeline.clock.now();
    const [starts_at, ends_at] = [iso(start + hour), iso(start + 2 * hour)];
    const schedule = await pipeline.make({ cron: "* * * * *", starts_at, ends_at });
    const rule = pipeline.ruleOf(schedule.schedule_id);
    await pipeline.clock.advance(2 * hour);
    const at = (ms: number) => pipeline.fireRule(schedule, iso(ms), rule);
    expect(await at(start + hour - minute)).toBe("ignored");
    expect(await at(start + 2 * hour)).toBe("ignored");
    expect(await at(start + 2 * hour - minute)).toBe("submitted");
  });

  test("a firing of a deleted schedule is ignored", async () => {
    const { fireRule, schedule, tasksOf, ports, ruleOf } = await minutely();
    const rule = ruleOf(schedule.schedule_id);
    await deleteSchedule(ports, schedule);
    expect(await fireRule(schedule, undefined, rule)).toBe("ignored");
    expect(tasksOf(schedule)).toEqual([]);
  });

  test("a schedule that was deleted and created again counts only from then on", async () => {
    const { fireRule, schedule, ports, clock, ruleOf, make, tasksOf } = await minutely();
    const [rule, time] = [ruleOf(schedule.schedule_id), iso(clock.now())];
    await deleteSchedule(ports, schedule);
    await clock.advance(1000);
    await make({ cron: "* * * * *" });
    expect(await fireRule(schedule, time, rule)).toBe("ignored");
    expect(tasksOf(schedule)).toEqual([]);
  });
});

describe("a rule that does not follow its schedule", () => {
  test("a rule without a schedule is removed", async () => {
    const { fireRule, schedule, ports, ruleOf, rules } = await minutely();
    const rule = ruleOf(schedule.schedule_id) ?? expect.fail("the schedule has no rule");
    await deleteSchedule(ports, schedule);
    expect(ruleOf(schedule.schedule_id)).toBeUndefined();
    await rules.put(rule);
    expect(await fireRule(schedule)).toBe("ignored");
    expect(ruleOf(schedule.schedule_id)).toBeUndefined();
  });

  test("the rule of a create that was never finished is removed after half a minute, not immediately", async () => {
    const { fireRule, schedule, ports, ruleOf, clock } = await minutely();
    const rule = ruleOf(schedule.schedule_id) ?? expect.fail("the schedule has no rule");
    const creating = { ...schedule, state: "creating" as const, updated_at: iso(clock.now()) };
    await ports.schedules.replace(creating, schedule.revision);
    expect(await fireRule(schedule)).toBe("ignored");
    expect(ruleOf(schedule.schedule_id)).toEqual(rule);
    await clock.advance(30_000);
    expect(await fireRule(schedule)).toBe("ignored");
    expect(ruleOf(schedule.schedule_id)).toBeUndefined();
    expect(await ports.schedules.get(schedule)).toBeUndefined();
  });

  test("the rule of a delete that was never finished is removed", async () => {
    const { fireRule, schedule, ports, ruleOf } = await minutely();
    await ports.schedules.replace({ ...schedule, state: "deleting" }, schedule.revision);
    expect(await fireRule(schedule)).toBe("ignored");
    expect(ruleOf(schedule.schedule_id)).toBeUndefined();
    expect(await ports.schedules.get(schedule)).toBeUndefined();
  });

  test("an outdated rule is repaired, and submits only at times of the present schedule", async () => {
    const { fireRule, schedule, ports, ruleOf, rules, tasksOf, clock } = await minutely();
    const old = ruleOf(schedule.schedule_id) ?? expect.fail("the schedule has no rule");
    const changed = await changeSchedule(ports, schedule, { cron: "*/5 * * * *" });
    await rules.put(old);
    expect(await fireRule(schedule)).toBe("ignored");
    expect(tasksOf(schedule)).toEqual([]);
    expect(ruleOf(schedule.schedule_id)?.payload).toMatchObject({ rule_revision: changed.rule_revision });
    await clock.advance(4 * minute);
    expect(await fireRule(schedule, iso(clock.now()), old)).toBe("submitted");
  });
});

describe("a late firing", () => {
  const late = (lateAfterSeconds + 1) * 1000;

  test("a late firing is skipped when there was a later time since, and the schedule shows it", async () => {
    const { fireRule, schedule, clock, stored, tasksOf, log } = await minutely();
    const time = iso(clock.now());
    await clock.advance(late);
    expect(await fireRule(schedule, time)).toBe("skipped");
    expect(await fireRule(schedule, time)).toBe("ignored");
    expect(tasksOf(schedule)).toEqual([]);
    expect(await stored(schedule)).toMatchObject({
      skipped: 1,
      skips: [time],
      last_skip_reason: expect.stringMatching(/^late/),
    });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: "warn", message: "schedule skipped a time" }));
  });

  test("a late firing of the latest time still counts, however late", async () => {
    const rules = [
      { body: { cron: "0 * * * *" }, first: hour, now: 2 * hour - 1 },
      { body: { cron: undefined, every_seconds: 3600 }, first: minute, now: hour + minute - 1 },
    ];
    for (const { body, first, now } of rules) {
      const { make, clock, fireRule, tasksOf } = schedulesPipeline();
      const schedule = await make(body);
      const time = iso(clock.now() + first);
      await clock.advance(now);
      expect(await fireRule(schedule, time)).toBe("submitted");
      expect(tasksOf(schedule)).toHaveLength(1);
    }
  });

  test("a late firing of a time that has its task is not a skip", async () => {
    const { fireRule, schedule, clock, stored } = await minutely();
    const time = iso(clock.now());
    await fireRule(schedule);
    await clock.advance(minute);
    await fireRule(schedule);
    await clock.advance(late);
    expect(await fireRule(schedule, time)).toBe("submitted");
    expect((await stored(schedule)).skipped).toBe(0);
  });

  test("a late firing of a time that has its task is not a skip, although the schedule has forgotten it", async () => {
    const { fireRule, schedule, clock, stored, tasksOf } = await minutely();
    const time = iso(clock.now());
    for (let minutes = 0; minutes < 40; minutes++, await clock.advance(minute)) await fireRule(schedule);
    expect((await stored(schedule)).fired).toHaveLength(32);
    expect(await fireRule(schedule, time)).toBe("submitted");
    expect((await stored(schedule)).skipped).toBe(0);
    expect(tasksOf(schedule)).toHaveLength(40);
  });

  test("a late firing of a time that was noted in time but not submitted still counts", async () => {
    const { fireRule, schedule, clock, records, tasksOf } = await minutely();
    const time = iso(clock.now());
    const { create } = records;
    records.create = () => Promise.reject(new PortUnavailable("the table"));
    await expect(fireRule(schedule)).rejects.toMatchObject({ code: "unavailable" });
    records.create = create;
    await clock.advance(late);
    expect(await fireRule(schedule, time)).toBe("submitted");
    expect(tasksOf(schedule)).toMatchObject([{ scheduled_for: time }]);
  });

  test("the firings after an outage of a day submit a quarter of an hour's times, not a burst", async () => {
    const { fireRule, schedule, clock, tasksOf } = await minutely();
    const first = clock.now();
    await clock.advance(24 * hour);
    for (let time = first; time <= clock.now(); time += minute) await fireRule(schedule, iso(time));
    expect(tasksOf(schedule)).toHaveLength(16);
  });
});

describe("overlap: skip", () => {
  const skipping = () => minutely({ overlap: "skip" });

  test("a firing is skipped while the last task has not ended, and counted", async () => {
    const { fireRule, schedule, clock, stored, tasksOf, work } = await skipping();
    await fireRule(schedule);
    for (let minutes = 0; minutes < 2; minutes++) {
      await clock.advance(minute);
      expect(await fireRule(schedule)).toBe("skipped");
    }
    const [task] = tasksOf(schedule);
    expect(await stored(schedule)).toMatchObject({
      skipped: 2,
      skips: [iso(clock.now() - minute), iso(clock.now())],
      last_skip_reason: `overlap: task ${task?.task_id} has not ended`,
      last_task_id: task?.task_id,
    });
    await work();
    await clock.advance(minute);
    expect(await fireRule(schedule)).toBe("submitted");
    expect(tasksOf(schedule)).toHaveLength(2);
  });

  test("a skipped time counts once, however often it is delivered, also when the last task has ended since", async () => {
    const { fireRule, schedule, clock, stored, tasksOf, work } = await skipping();
    await fireRule(schedule);
    await clock.advance(minute);
    const skipped = iso(clock.now());
    await Promise.all([fireRule(schedule), fireRule(schedule), fireRule(schedule)]);
    await work();
    expect(await fireRule(schedule, skipped)).toBe("ignored");
    expect((await stored(schedule)).skipped).toBe(1);
    expect(tasksOf(schedule)).toHaveLength(1);
  });

  test("the second delivery of a time that has its task is not skipped", async () => {
    const { fireRule, schedule, clock, stored, tasksOf } = await skipping();
    const time = iso(clock.now());
    await fireRule(schedule);
    expect(await fireRule(schedule)).toBe("submitted");
    await clock.advance(minute);
    await fireRule(schedule);
    expect(await fireRule(schedule, time)).toBe("submitted");
    expect(await stored(schedule)).toMatchObject({ skipped: 1 });
    expect(tasksOf(schedule)).toHaveLength(1);
  });

  test.each(["gone", "cancelled", "expired"])("a firing after a task that is %s submits again", async (how) => {
    const expiring = how === "expired" ? { expires_in_seconds: 30 } : {};
    const task = { type: "echo", input: { value: 1 }, ...expiring };
    const { fireRule, schedule, clock, tasksOf, ports, records } = await minutely({ overlap: "skip", task });
    await fireRule(schedule);
    const [last = expect.fail("there is no task")] = tasksOf(schedule);
    if (how === "cancelled") await cancel(ports, last);
    if (how === "gone") await records.change(last, { when: {}, set: { purge_at: clock.now() / 1000 } });
    await clock.advance(minute);
    expect(await fireRule(schedule)).toBe("submitted");
    expect(tasksOf(schedule)).toHaveLength(2);
  });

  test("a task that was run by hand counts as the last task, and is itself never skipped", async () => {
    const { fireRule, schedule, ports, tasksOf } = await skipping();
    const call = { identity: operator, correlationId: "c" };
    await runSchedule(ports, schedule, call);
    await runSchedule(ports, schedule, call);
    expect(await fireRule(schedule)).toBe("skipped");
    expect(tasksOf(schedule)).toHaveLength(2);
  });

  test("the schedule remembers the latest 32 skips only, and counts all", async () => {
    const { fireRule, schedule, clock, stored } = await skipping();
    await fireRule(schedule);
    for (let minutes = 0; minutes < 40; minutes++) {
      await clock.advance(minute);
      await fireRule(schedule);
    }
    const { skipped, skips } = await stored(schedule);
    expect([skipped, skips.length, skips.at(-1)]).toEqual([40, 32, iso(clock.now())]);
  });
});

describe("a task that is refused", () => {
  test("a refused task is shown on the schedule and in the log, and not tried again", async () => {
    const { fireRule, schedule, ports, clock, stored, tasksOf, log } = await minutely();
    await fireRule(schedule);
    const before = await stored(schedule);
    const types = ports.types;
    Object.assign(ports, { types: new Map() });
    await clock.advance(minute);
    expect(await fireRule(schedule)).toBe("refused");
    expect(await stored(schedule)).toMatchObject({
      last_error: 'type: no task type is named "echo". GET /types lists the task types.',
      last_error_at: iso(clock.now()),
      last_run_at: before.last_run_at,
      last_task_id: before.last_task_id,
    });
    expect(log.lines.at(-1)).toMatchObject({
      level: "error",
      fields: { tenant_id: "acme", schedule_id: schedule.schedule_id, outcome: "refused" },
    });
    Object.assign(ports, { types });
    await clock.advance(minute);
    expect(await fireRule(schedule)).toBe("submitted");
    expect(await stored(schedule)).not.toHaveProperty("last_error");
    expect(tasksOf(schedule)).toHaveLength(2);
  });

  test("a refused task is logged without its input", async () => {
    const { fireRule, schedule, ports, stored, log } = await minutely({
      task: { type: "echo", input: { value: "s3cret" } },
    });
    const echo = ports.types.get("echo");
    const types = new Map([["echo", { ...echo, input: z.object({ value: z.int() }) }]]);
    Object.assign(ports, { types });
    expect(await fireRule(schedule)).toBe("refused");
    expect(log.lines.at(-1)?.fields?.error).toMatch(/^invalid_input: \/input\/value expected number/);
    expect(JSON.stringify(log.lines)).not.toContain("s3cret");
    expect((await stored(schedule))?.last_error).toContain("s3cret");
  });
});

describe("a firing that fails", () => {
  test.each([
    ["an internal error", new TypeError("a bug"), "An internal error occurred. The log has its cause."],
    ["an outage of the table", new PortUnavailable("the table"), "The task could not be accepted now."],
  ])("a firing that fails with %s is shown on the schedule until a later delivery succeeds", async (_, error, text) => {
    const { fireRule, schedule, records, clock, stored, tasksOf } = await minutely();
    const time = iso(clock.now());
    const { create } = records;
    records.create = () => Promise.reject(error);
    await expect(fireRule(schedule)).rejects.toThrow();
    const failed = await stored(schedule);
    expect(failed).toMatchObject({ last_error_at: time, last_run_at: time });
    expect(failed.last_error).toContain(text);
    expect(failed.last_error).toMatch(/The firing is delivered again\.$/);
    expect(failed.last_error).not.toContain("a bug");
    records.create = create;
    await clock.advance(1_000);
    expect(await fireRule(schedule, time)).toBe("submitted");
    expect(tasksOf(schedule)).toHaveLength(1);
    expect(await stored(schedule)).not.toHaveProperty("last_error");
    expect(await stored(schedule)).not.toHaveProperty("last_error_at");
  });

  test("a firing throws its own error when the schedule cannot be written, too", async () => {
    const { fireRule, schedule, ports, records } = await minutely();
    records.create = () => Promise.reject(new TypeError("a bug"));
    ports.schedules.replace = async () => {
      ports.schedules.get = () => Promise.reject(new RangeError("another bug"));
      return true;
    };
    await expect(fireRule(schedule)).rejects.toThrow("a bug");
  });
});
