import type { SchedulerClient } from "@aws-sdk/client-scheduler";
import { describe, expect, test } from "vitest";
import { SchedulerRules } from "../../../src/aws/rules.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { iso } from "../../../src/core/model/record.ts";
import { wholeDeployment } from "../../../src/core/ports/audit.ts";
import { type AppSchedule, defineSchedule } from "../../../src/core/schedules/app-schedule.ts";
import { nextTimes } from "../../../src/core/schedules/calendar.ts";
import { fireArrived } from "../../../src/core/schedules/fire.ts";
import fc from "../../support/fast-check.ts";
import "../../../src/core/schedules/fire-app-schedule.ts";
import {
  appScheduleViews,
  nextAppTimes,
  setAppSchedulePaused,
} from "../../../src/core/schedules/manage-app-schedules.ts";
import { changeSchedule, createSchedule, deleteSchedule } from "../../../src/core/schedules/manage-schedules.ts";
import { scheduleIdOf, scheduleView } from "../../../src/core/schedules/schedule-record.ts";
import { ScheduleApi } from "../../../src/local/scheduler/schedule-api.ts";
import { ScheduleEngine } from "../../../src/local/scheduler/schedule-engine.ts";
import { ScheduleRows } from "../../../src/local/scheduler/schedule-rows.ts";
import { syncAppSchedules } from "../../../src/local/server/app-schedules.ts";
import { operator } from "../../support/identities.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { echo } from "../../support/task-types.ts";

/*
 * The law: the local scheduler fires a schedule exactly at the times that were shown before, whatever its rule is, and
 * whatever was changed, paused and restarted in between.
 */

/** Times that the tests look at, at once. A start of the scheduler fires a hundred missed times at most. */
const mostShown = 40;

const minuteMs = 60_000;

/** One delivered firing. */
interface Fired {
  at: string;
  outcome: string;
}

/** The core over the local scheduler, whose engine stops and starts on the same rows. Time passes by `passTo` only. */
function world() {
  const pipeline = schedulesPipeline([echo]);
  const { clock } = pipeline;
  // Without timers: `passTo` stops at each time of a schedule.
  const engineClock = { now: () => clock.now(), after: () => () => {} };
  const rows = new ScheduleRows(undefined);
  const fired: Fired[] = [];
  const fire = async ({ input }: { input: string }) => {
    const payload = JSON.parse(input) as { scheduled_for: string };
    const outcome = await fireArrived(ports, { payload }, clock.now() + 300_000);
    if (outcome !== "ignored") fired.push({ at: iso(Date.parse(payload.scheduled_for)), outcome });
  };
  const start = () => new ScheduleEngine({ rows, clock: engineClock, fire, sendToDlq: undefined });
  let engine = start();
  const api = new ScheduleApi({ rows, clock: engineClock, tick: () => engine.tick() });
  const client = clientOf(api);
  const config = { scheduleGroup: "default", fireArn: "arn:f", schedulerRoleArn: "arn:r", schedulerDlqArn: "arn:q" };
  const rules = new SchedulerRules(client, config);
  const ports = { ...pipeline.ports, rules };
  /** Delivers what is due. Of many firings at once, some are delivered again: they change one record. */
  const settle = async () => {
    await clock.advance(0);
    while (rows.dueFirings(Number.MAX_SAFE_INTEGER, 1).length > 0) {
      await clock.advance(Math.max(0, (rows.nextTryAt(clock.now()) ?? 0) - clock.now()));
      engine.tick();
      await clock.advance(0);
    }
  };
  const passTo = async (untilMs: number) => {
    for (let next = rows.nextScheduleAt(); next !== undefined && next <= untilMs; next = rows.nextScheduleAt()) {
      await clock.advance(Math.max(0, next - clock.now()));
      engine.tick();
      await settle();
    }
    await clock.advance(Math.max(0, untilMs - clock.now()));
  };
  /** The scheduler is stopped until then. */
  const stopTo = async (untilMs: number) => {
    engine.close();
    await clock.advance(untilMs - clock.now());
    engine = start();
    engine.tick();
    await settle();
  };
  const sync = async (schedules: readonly AppSchedule[]) => {
    ports.appSchedules = new Map(schedules.map((schedule) => [schedule.name, schedule]));
    await syncAppSchedules({ client, rules, group: "default" }, schedules);
    await settle();
  };
  const close = () => {
    engine.close();
    rows.close();
  };
  return { ...pipeline, ports, fired, passTo, stopTo, settle, sync, close };
}

type World = ReturnType<typeof world>;

/** The client of EventBridge Scheduler, without its wire: dates are seconds there. */
function clientOf(api: ScheduleApi): SchedulerClient {
  const methods: Record<string, string> = { Create: "POST", Update: "PUT", Delete: "DELETE" };
  const seconds = (date: Date | undefined) => (date === undefined ? undefined : date.getTime() / 1000);
  const send = async (command: { constructor: { name: string }; input: Record<string, unknown> }) => {
    const { name } = command.constructor;
    const { input } = command;
    if (name === "ListSchedulesCommand") {
      const query = { ScheduleGroup: String(input.GroupName), NamePrefix: String(input.NamePrefix) };
      return api.handle("GET", ["schedules"], new URLSearchParams(query), {});
    }
    const { Name, StartDate, EndDate } = input as { Name: string; StartDate?: Date; EndDate?: Date };
    const body = { ...input, StartDate: seconds(StartDate), EndDate: seconds(EndDate) };
    const method = methods[name.replace("ScheduleCommand", "")] ?? "";
    try {
      return api.handle(method, ["schedules", Name], new URLSearchParams({ groupName: "default" }), body);
    } catch (error) {
      throw Object.assign(error as Error, { name: (error as { code?: string }).code });
    }
  };
  return { send } as unknown as SchedulerClient;
}

/** A moment: so long after now, or so long after the next shown time. */
type Moment = { of: "now" | "next"; ms: number };

const seconds = (most: number) => fc.integer({ min: 0, max: most }).map((count) => count * 1000);

const moment: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({
    of: fc.constant("now" as const),
    ms: fc.oneof(seconds(300), seconds(7_200), seconds(300_000), seconds(40_000_000)),
  }),
  fc.record({ of: fc.constant("next" as const), ms: fc.constantFrom(-1, 0, 1, 999, 11_000, minuteMs) }),
);

const zone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago");

const cron = fc.constantFrom(
  ...["* * * * *", "*/15 * * * *", "30 2 * * *", "0 0 1 * *", "0 9 * * MON-FRI", "5,35 0-6/2 * * *"],
  ...["0 0 29 2 *", "15 14 1 */3 *", "59 23 31 12 *"],
);

const everySeconds = fc.oneof(
  fc.constantFrom(60, 120, 300, 3_600, 5_400, 86_400, 604_800, 31_536_000),
  fc.integer({ min: 1, max: 3_000 }).map((minutes) => minutes * 60),
);

/** A bound of a rule: none, or so many seconds from the moment of the write. */
const bound = fc.option(fc.oneof(fc.integer({ min: -100_000, max: 100_000 }), fc.integer({ min: -200, max: 400 })), {
  nil: null,
  freq: 2,
});

interface GivenRule {
  cron: string | null;
  every_seconds: number | null;
  timezone: string;
  starts: number | null;
  ends: number | null;
}

const rule: fc.Arbitrary<GivenRule> = fc
  .record({ cron, every: everySeconds, isCron: fc.boolean(), timezone: zone, starts: bound, ends: bound })
  .map(({ cron, every, isCron, ...rest }) => ({
    ...{ cron: isCron ? cron : null, every_seconds: isCron ? null : every },
    ...rest,
  }));

/** @param fraction Milliseconds of the bounds, which clients may give. */
const fieldsOf = ({ starts, ends, ...rest }: GivenRule, nowMs: number) => ({
  ...rest,
  starts_at: starts === null ? null : iso(nowMs + starts * 1000),
  ends_at: ends === null ? null : iso(nowMs + (Math.max(starts ?? 0, 0) + Math.abs(ends)) * 1000),
});

type Step =
  | { what: "pass" | "stop"; until: Moment }
  | { what: "create" | "change"; rule: GivenRule }
  | { what: "interval"; every_seconds: number }
  | { what: "pause" | "resume" | "overlap" | "delete" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constantFrom("pass" as const, "stop" as const), until: moment }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom("create" as const, "change" as const), rule }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("interval" as const), every_seconds: everySeconds }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom(
        "pause" as const,
        "resume" as const,
        "resume" as const,
        "overlap" as const,
        "delete" as const,
      ),
    }),
  },
);

/** The times that the API shows of a tenant's schedule. Each of its views shows the same. */
async function shownOf({ ports, clock }: World): Promise<string[]> {
  const schedule = await ports.schedules.get(key);
  if (schedule?.state !== "ready") return [];
  const { created_at, enabled } = schedule;
  const next = nextTimes(schedule, created_at, clock.now(), mostShown).map(iso);
  expect(scheduleView(schedule, clock.now()).next_run_at).toBe(enabled ? (next[0] ?? null) : null);
  return enabled ? next : [];
}

/** The longest that the last of many firings at once may take, as it is delivered again and again. */
const marginMs = 5 * minuteMs;

/** Until when a step lets time pass, so that no time after those shown can come. */
function untilOf({ of, ms }: Moment, nowMs: number, shown: readonly string[]): number {
  const [first, last] = [shown[0], shown.at(-1)];
  const wanted = (of === "next" && first !== undefined ? Date.parse(first) : nowMs) + ms;
  const most =
    shown.length === mostShown && last !== undefined ? Date.parse(last) - marginMs : Number.POSITIVE_INFINITY;
  return Math.max(nowMs, Math.min(wanted, most));
}

/** Lets time pass, and expects the shown times of it to fire, and no other. */
async function passAsShown(all: World, step: { what: string; until: Moment }, shown: readonly string[]): Promise<void> {
  const untilMs = untilOf(step.until, all.clock.now(), shown);
  all.fired.length = 0;
  if (step.what === "pass") await all.passTo(untilMs);
  else await all.stopTo(untilMs);
  const firedTimes = all.fired.map(({ at }) => at).sort();
  expect(firedTimes).toEqual(shown.filter((at) => Date.parse(at) <= all.clock.now()));
  if (step.what === "pass") expect(all.fired.every(({ outcome }) => outcome === "submitted")).toBe(true);
}

async function write({ ports, clock, task }: World, one: Step): Promise<void> {
  const change = (body: object) => changeSchedule(ports, key, body);
  if (one.what === "create") {
    await createSchedule(ports, operator, { name: "s", task, ...fieldsOf(one.rule, clock.now()) });
  } else if (one.what === "change") await change(fieldsOf(one.rule, clock.now()));
  else if (one.what === "interval") await change({ cron: null, every_seconds: one.every_seconds });
  else if (one.what === "overlap") await change({ overlap: "allow" });
  else if (one.what === "delete") await deleteSchedule(ports, key);
  else await change({ enabled: one.what === "resume" });
}

const key = { tenant_id: operator.tenantId, schedule_id: scheduleIdOf(operator.tenantId, "s") };

const start = fc.integer({ min: Date.UTC(2027, 0, 1), max: Date.UTC(2029, 0, 1) });

/** A write that the schedule does not allow is refused, and changes nothing. */
function refused(error: unknown): void {
  if (!(error instanceof Problem)) throw error;
  expect(["invalid_input", "not_found", "conflict"]).toContain(error.code);
  expect(error.detail).not.toContain("EventBridge Scheduler refused");
}
describe("a tenant's schedule fires at the times that were shown", () => {
  test("for any rule, over changes, pauses and restarts", async () => {
    await fc.assert(
      fc.asyncProperty(start, rule, fc.array(step, { minLength: 3, maxLength: 12 }), async (startMs, first, steps) => {
        const all = world();
        await all.clock.advance(startMs - all.clock.now());
        for (const one of [{ what: "create" as const, rule: first }, ...steps]) {
          if (one.what === "pass" || one.what === "stop") await passAsShown(all, one, await shownOf(all));
          else await write(all, one).catch(refused);
          await all.settle();
        }
        all.close();
      }),
      { numRuns: 100 },
    );
  });
});

test("a change does not lose a time that was due just before it", async () => {
  const all = world();
  const { schedule } = await createSchedule(all.ports, operator, { name: "s", task: all.task, every_seconds: 3_600 });
  await all.clock.advance(3_600_000 + 10);
  await changeSchedule(all.ports, schedule, { overlap: "skip" });
  await all.settle();
  expect(all.fired).toEqual([{ at: "2027-01-01T01:00:00.000Z", outcome: "submitted" }]);
  all.close();
});

type AppStep =
  | { what: "pass" | "stop"; until: Moment }
  | { what: "deploy"; rule: { cron: string } | { everySeconds: number } | undefined }
  | { what: "pause" | "resume"; tenantId: string };

const appRule = fc.oneof(fc.record({ cron }), fc.record({ everySeconds }));

const appStep: fc.Arbitrary<AppStep> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constantFrom("pass" as const, "stop" as const), until: moment }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant("deploy" as const), rule: fc.option(appRule, { nil: undefined }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom("pause" as const, "resume" as const),
      tenantId: fc.constantFrom("acme", "globex", wholeDeployment),
    }),
  },
);

const appSchedule = (rule: { cron: string } | { everySeconds: number }): AppSchedule =>
  defineSchedule({ name: "s", ...rule, type: echo, input: { value: 1 }, forEachTenant: true });

/** The times that a tenant sees of the app's schedule; undefined: they are not known yet. */
async function shownToTenant({ ports }: World, tenantId: string): Promise<string[] | undefined> {
  const [schedule] = ports.appSchedules.values();
  if (schedule === undefined) return [];
  const [view] = await appScheduleViews(ports, tenantId, [schedule]);
  const next = (await nextAppTimes(ports, schedule, tenantId, mostShown)).map(iso);
  expect(view?.next_run_at).toBe(next[0] ?? null);
  return next.length === 0 && view?.enabled ? undefined : next;
}

/** Lets time pass, and expects a tenant's tasks of exactly the times that it was shown. */
async function passForTenants(all: World, step: { what: string; until: Moment }): Promise<void> {
  const tenants = ["acme", "globex"];
  const shown = await Promise.all(tenants.map((tenantId) => shownToTenant(all, tenantId)));
  const fromMs = all.clock.now();
  const [schedule] = all.ports.appSchedules.values();
  // The schedule fires during a pause, too.
  const most = schedule === undefined ? [] : nextTimes(schedule, iso(fromMs), fromMs, mostShown).map(iso);
  const untilMs = untilOf(step.until, fromMs, shown[0]?.length === 0 ? most : (shown[0] ?? most));
  const before = all.records.all().length;
  if (step.what === "pass") await all.passTo(untilMs);
  else await all.stopTo(untilMs);
  const tasks = all.records.all().slice(before);
  for (const [index, tenantId] of tenants.entries()) {
    const times = tasks.filter((task) => task.tenant_id === tenantId).map((task) => task.scheduled_for);
    // After a stop, times that are too late are skipped.
    const due = shown[index]?.filter((at) => Date.parse(at) <= all.clock.now());
    if (due !== undefined) expect(step.what === "pass" ? due : due.filter((at) => times.includes(at))).toEqual(times);
    if (due !== undefined && due.length > 0) expect(times.at(-1)).toBe(due.at(-1));
  }
}

async function deployOrPause(all: World, one: AppStep): Promise<void> {
  if (one.what === "deploy") await all.sync(one.rule === undefined ? [] : [appSchedule(one.rule)]);
  const [schedule] = all.ports.appSchedules.values();
  if (schedule === undefined || (one.what !== "pause" && one.what !== "resume")) return;
  await setAppSchedulePaused(all.ports, schedule, { tenantId: one.tenantId, principal: "olga" }, one.what === "pause");
}

describe("a schedule of the code fires at the times that each tenant was shown", () => {
  test("for any rule, over deployments, pauses and restarts", async () => {
    await fc.assert(
      fc.asyncProperty(
        start,
        appRule,
        fc.array(appStep, { minLength: 3, maxLength: 12 }),
        async (startMs, first, steps) => {
          const all = world();
          for (const tenantId of ["acme", "globex"]) await all.tenants.note(tenantId);
          await all.clock.advance(startMs - all.clock.now());
          for (const one of [{ what: "deploy" as const, rule: first }, ...steps]) {
            if (one.what === "pass" || one.what === "stop") await passForTenants(all, one);
            else await deployOrPause(all, one).catch(refused);
            await all.settle();
          }
          all.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([60, 3_600, 5_400])(
    "an interval of %i s is known from its first time on, which is its deployment's",
    async (everySeconds) => {
      const all = world();
      await all.tenants.note("acme");
      await all.clock.advance(11_000);
      await all.sync([appSchedule({ everySeconds })]);
      expect(all.fired).toEqual([{ at: "2027-01-01T00:00:11.000Z", outcome: "submitted" }]);
      const [next] = (await shownToTenant(all, "acme")) ?? [];
      expect(next).toBe(iso(all.clock.now() + everySeconds * 1000));
      await all.sync([appSchedule({ everySeconds: 7_200 })]);
      expect(await shownToTenant(all, "acme")).toBeUndefined();
      all.close();
    },
  );
});
