import { expect, test } from "vitest";
import { schedulerRule } from "../../../src/core/schedules/align.ts";
import {
  changeSchedule,
  createSchedule,
  deleteSchedule,
  putSchedule,
} from "../../../src/core/schedules/manage-schedules.ts";
import fc from "../../support/fast-check.ts";
import { operator } from "../../support/identities.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { failOnce, slowDown } from "../../support/shaky.ts";

/** What clients do, and what fails while they do it. */
type Step =
  | { what: "create" | "put" | "change"; cron: string }
  | { what: "pause" | "resume" | "delete" | "check" }
  | { what: "scheduler"; down: "no" | "before" | "after" }
  | { what: "fault"; method: "create" | "replace" | "delete" | "get" | "request"; afterwards: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom("create" as const, "put" as const, "change" as const),
      cron: fc.constantFrom("0 1 * * *", "0 2 * * *"),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom("pause" as const, "resume" as const, "delete" as const, "check" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("scheduler" as const),
      down: fc.constantFrom("no" as const, "before" as const, "after" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant("fault" as const),
      method: fc.constantFrom(
        "create" as const,
        "replace" as const,
        "delete" as const,
        "get" as const,
        "request" as const,
      ),
      afterwards: fc.boolean(),
    }),
  },
);

/** By how many turns calls are slowed down, one after the other. */
const paces = fc.array(fc.nat(30), { minLength: 1, maxLength: 7 });

function world(paces: readonly number[] = []) {
  const pipeline = schedulesPipeline();
  const { ports, rules, task } = pipeline;
  let calls = 0;
  const turns = () => paces[calls++ % paces.length] ?? 0;
  for (const method of ["get", "replace", "delete", "create"]) slowDown(ports.schedules, method, turns);
  for (const method of ["put", "delete"]) slowDown(rules.rules, method, turns);
  let key = { tenant_id: "acme", schedule_id: "0f4f0b5e-6c4b-5d0c-9d0e-2f9a8f3f7c55" };
  const create = async (cron: string, what: "create" | "put") => {
    const { schedule } = await (what === "put"
      ? putSchedule(ports, operator, "s", { cron, task })
      : createSchedule(ports, operator, { name: "s", cron, task }));
    key = { tenant_id: "acme", schedule_id: schedule.schedule_id };
  };
  const fault = (method: string, afterwards: boolean) =>
    failOnce(method === "request" ? ports.checks : ports.schedules, method, afterwards);
  const set = (change: object) => changeSchedule(ports, key, change);
  const take = async (one: Step): Promise<unknown> => {
    if (one.what === "scheduler") return Object.assign(rules, { down: one.down });
    if (one.what === "fault") return fault(one.method, one.afterwards);
    if (one.what === "check") return pipeline.check();
    if (one.what === "create" || one.what === "put") return create(one.cron, one.what);
    if (one.what === "delete") return deleteSchedule(ports, key);
    return one.what === "change" ? set({ cron: one.cron }) : set({ enabled: one.what === "resume" });
  };
  /** Whether the step did what it is for. */
  const tried = (one: Step): Promise<boolean> =>
    take(one).then(
      () => true,
      () => false,
    );
  /** What clients see: the schedule, or undefined. */
  const seen = async () => {
    const { items } = await ports.schedules.list("acme", { limit: 10 });
    const [schedule] = items.filter(({ state }) => state === "ready");
    return schedule && { cron: schedule.cron, enabled: schedule.enabled };
  };
  /** Nothing fails any more, and every check that was asked for is made. */
  const settle = async () => {
    rules.down = "no";
    for (let times = 0; times < 12; times++) await pipeline.check();
  };
  return { ...pipeline, tried, seen, settle };
}

/** The rule in the scheduler is that of the schedule, and there is no other, nor any leftover. */
async function expectAligned({ ports, rules, clock }: ReturnType<typeof world>): Promise<void> {
  const { items } = await ports.schedules.list("acme", { limit: 10 });
  expect(items.filter(({ state }) => state !== "ready")).toEqual([]);
  const wanted = items.map((schedule) => schedulerRule(schedule, clock.now()));
  expect([...rules.rules.all().values()]).toEqual(wanted);
}

const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 15 });

test("rules follow their schedules in the end, whatever fails, and nothing is left over", async () => {
  await fc.assert(
    fc.asyncProperty(rounds, paces, async (rounds, paces) => {
      const all = world(paces);
      // The steps of a round are under way at the same time.
      for (const round of rounds) await Promise.all(round.map(all.tried));
      await all.settle();
      await expectAligned(all);
    }),
    { numRuns: 500 },
  );
});

/** What clients see after a step that was accepted; a step that is not listed changes nothing. */
const effects: { [what: string]: ((one: Step) => unknown) | undefined } = {
  create: () => expect.anything(),
  put: (one) => ({ cron: "cron" in one ? one.cron : "", enabled: true }),
  change: (one) => expect.objectContaining({ cron: "cron" in one ? one.cron : "" }),
  pause: () => expect.objectContaining({ enabled: false }),
  resume: () => expect.objectContaining({ enabled: true }),
  delete: () => null,
};

test("while the scheduler fails, a refused request changes nothing that clients see, and an accepted one is seen", async () => {
  const sane = step.filter(({ what }) => what !== "fault");
  await fc.assert(
    fc.asyncProperty(fc.array(sane, { maxLength: 15 }), async (steps) => {
      const all = world();
      for (const one of steps) {
        const before = await all.seen();
        const done = await all.tried(one);
        const after = await all.seen();
        const wanted = effects[one.what]?.(one);
        if (!done || wanted === undefined) expect(after).toEqual(before);
        else expect(after ?? null).toEqual(wanted);
      }
      await all.settle();
      await expectAligned(all);
    }),
    { numRuns: 500 },
  );
});

test("while nothing fails, rules follow immediately, however many clients write at the same time", async () => {
  const sane = step.filter(({ what }) => what !== "fault" && what !== "scheduler" && what !== "check");
  await fc.assert(
    fc.asyncProperty(fc.array(sane, { minLength: 2, maxLength: 5 }), paces, async (steps, paces) => {
      const all = world(paces);
      await all.tried({ what: "create", cron: "0 1 * * *" });
      await Promise.all(steps.map(all.tried));
      await expectAligned(all);
    }),
    { numRuns: 300 },
  );
});
