import { expect, test } from "vitest";
import { iso } from "../../../src/core/model/record.ts";
import { changeSchedule } from "../../../src/core/schedules/manage-schedules.ts";
import fc from "../../support/fast-check.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { failOnce, slowDown } from "../../support/shaky.ts";

const minute = 60_000;

/** What can happen while a rule fires every minute. */
type Step =
  | { what: "fire"; ago: number; times: number; busy: boolean }
  | { what: "minute" }
  | { what: "work" }
  | { what: "fault"; port: "table" | "queue" | "schedules"; afterwards: boolean }
  | { what: "change"; value: number };

const small = fc.nat(3);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant("fire" as const),
      ago: small,
      times: fc.integer({ min: 1, max: 3 }),
      busy: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ what: "minute" as const }) },
  { weight: 2, arbitrary: fc.constant({ what: "work" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant("fault" as const),
      port: fc.constantFrom("table" as const, "queue" as const, "schedules" as const),
      afterwards: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("change" as const), value: small }) },
);

/** By how many turns calls are slowed down, one after the other. */
const paces = fc.array(fc.oneof(fc.nat(5), fc.nat(500)), { minLength: 1, maxLength: 7 });

async function run(overlap: "allow" | "skip", steps: readonly Step[], paces: readonly number[]) {
  const pipeline = schedulesPipeline();
  let calls = 0;
  const turns = () => paces[calls++ % paces.length] ?? 0;
  slowDown(pipeline.ports.schedules, "get", turns);
  slowDown(pipeline.ports.schedules, "replace", turns);
  slowDown(pipeline.ports.records, "get", turns);
  const { clock, ports } = pipeline;
  const start = clock.now();
  const schedule = await pipeline.make({ cron: "* * * * *", overlap });
  await clock.advance(minute);
  const delivered = new Set<string>();
  const deliver = (time: string) => {
    delivered.add(time);
    // A delivery that fails comes again, at the end.
    return pipeline.fireRule(schedule, time).catch(() => "failed");
  };
  const fail = {
    table: (afterwards: boolean) => failOnce(ports.records, "create", afterwards),
    queue: (afterwards: boolean) => failOnce(ports.queues, "send", afterwards),
    schedules: (afterwards: boolean) => failOnce(ports.schedules, "replace", afterwards),
  };
  const take = async (one: Step): Promise<unknown> => {
    if (one.what === "minute") return clock.advance(minute);
    if (one.what === "work") return pipeline.work();
    if (one.what === "fault") return fail[one.port](one.afterwards);
    if (one.what === "change") {
      const task = { type: "echo", input: { value: one.value } };
      return changeSchedule(ports, schedule, { task }).catch(() => undefined);
    }
    const time = iso(Math.max(start + minute, clock.now() - one.ago * minute));
    const deliveries = Array.from({ length: one.times }, () => deliver(time));
    return Promise.all([...deliveries, ...(one.busy ? [pipeline.work()] : [])]);
  };
  for (const one of steps) await take(one);
  for (const time of [...delivered].sort()) while ((await deliver(time)) === "failed");
  return { ...pipeline, schedule: await pipeline.stored(schedule), delivered };
}

test.each(["allow", "skip"] as const)(
  "each time has one task or one skip, whatever fails and however often it is delivered (overlap: %s)",
  async (overlap) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), paces, async (steps, paces) => {
        const { schedule, delivered, tasksOf } = await run(overlap, steps, paces);
        const ran = tasksOf(schedule).map((task) => task.scheduled_for ?? "");
        expect(new Set(ran).size).toBe(ran.length);
        expect(new Set(schedule.skips).size).toBe(schedule.skips.length);
        expect([...ran, ...schedule.skips].sort()).toEqual([...delivered].sort());
        expect(schedule.skipped).toBe(schedule.skips.length);
        if (overlap === "allow") expect(schedule.skips).toEqual([]);
      }),
      { numRuns: 300 },
    );
  },
  60_000,
);
