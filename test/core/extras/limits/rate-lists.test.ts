import { describe, expect, test } from "vitest";
import { z } from "zod";
import { changeLimits, limitKey } from "../../../../src/core/extras/limits/manage-flow.ts";
import { knownTypesOf } from "../../../../src/core/task/catalog.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { type RateListOption, typeRate } from "../../../../src/core/task/type-limits.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ n: z.number(), key: z.string().optional() });
const daySeconds = 86_400;
const olga = { tenantId: "acme", isAdmin: false, principal: "olga" };

function setUp(rates: RateListOption<z.output<typeof input>>, more: Partial<TaskType> = {}, apart = false) {
  const starts: { n: number; key: string | undefined; at: number }[] = [];
  const type = typeOf(
    ({ n, key }: z.output<typeof input>) => {
      starts.push({ n, key, at: pipeline.clock.now() });
    },
    { input, rateLimit: typeRate(rates as never), ...more },
  );
  const pipeline = memoryPipeline([type]);
  const submitMany = async (count: number, key?: string) => {
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { n, ...(key !== undefined && { key }) } });
      await pipeline.clock.advance(1);
    }
  };
  const entry = knownTypesOf([type]).get(type.name) ?? expect.fail();
  return { ...pipeline, pipeline, pool: workerPool(pipeline, { apart }), starts, submitMany, entry };
}

/** The most starts in any time of this length. */
const mostWithin = (starts: readonly { at: number }[], seconds: number): number =>
  Math.max(0, ...starts.map(({ at }) => starts.filter((one) => one.at >= at && one.at < at + seconds * 1000).length));

const line = "rate/test.task/acme/";

describe("a list of rates", () => {
  test("3 a second and 20 a minute: both hold, the rest of a minute is not spaced, and nobody waits for more", async () => {
    const { submitMany, pool, starts, records } = setUp([
      { limit: 20, perSeconds: 60 },
      { limit: 3, perSeconds: 1 },
    ]);
    await submitMany(50);
    await pool.pass(7_500, 100);
    // A rate of 20 a minute alone would have started three.
    expect(starts).toHaveLength(20);
    await pool.pass(140_000, 100);
    expect(starts.map(({ n }) => n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect([mostWithin(starts, 1), mostWithin(starts, 60)]).toEqual([3, 20]);
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
  });

  test("tasks wait for days for the rate of the day, in order, and start as soon as it allows", async () => {
    const { submitMany, pool, starts, clock, lines, queues } = setUp([
      { limit: 2, perSeconds: 1 },
      { limit: 4, perSeconds: daySeconds },
    ]);
    const begin = clock.now();
    await submitMany(10);
    await pool.pass(2 * daySeconds * 1000 + 60_000, 60_000);
    expect(starts.map(({ n }) => n)).toEqual(Array.from({ length: 10 }, (_, n) => n));
    expect(mostWithin(starts, daySeconds)).toBe(4);
    expect(starts.map(({ at }) => Math.floor((at - begin) / daySeconds / 1000))).toEqual([
      0, 0, 0, 0, 1, 1, 1, 1, 2, 2,
    ]);
    expect(starts.every(({ at }) => (at - begin) % (daySeconds * 1000) < 60_000)).toBe(true);
    expect(queues.waiting("normal")).toEqual([]);
    expect(await lines.list("", 10)).toEqual([]);
  });

  test("starts that are spread over the time come back one part after the other", async () => {
    const { submitMany, pool, starts } = setUp([
      { limit: 1, perSeconds: 1 },
      { limit: 8, perSeconds: 3_600 },
    ]);
    for (let n = 0; n < 8; n++) {
      await submitMany(1);
      await pool.pass(450_000, 5_000);
    }
    await submitMany(8);
    await pool.pass(3_800_000, 5_000);
    expect(starts).toHaveLength(16);
    expect(mostWithin(starts, 3_600)).toBe(8);
    const waits = starts.slice(8).map(({ at }, index) => at - (starts[index]?.at ?? 0) - 3_600_000);
    // A sixteenth of the hour at most.
    expect(waits.every((ms) => ms >= 0 && ms <= 230_000)).toBe(true);
  });

  test("a task that one rate refuses takes from none", async () => {
    const { submitMany, pool, lines, starts } = setUp([
      { limit: 2, perSeconds: 1 },
      { limit: 2, perSeconds: daySeconds },
    ]);
    await submitMany(2);
    await pool.pass(10_000, 100);
    const before = await lines.state(line);
    expect(before.starts?.free_by).toBe(daySeconds);
    await submitMany(5);
    await pool.pass(900_000, 1_000);
    expect(starts).toHaveLength(2);
    const { nextTokenMs, starts: counted } = await lines.state(line);
    expect({ nextTokenMs, starts: counted }).toEqual({ nextTokenMs: before.nextTokenMs, starts: before.starts });
  });

  test("each key has the rates for itself", async () => {
    const key = ({ key }: z.output<typeof input>) => String(key);
    const { submitMany, pool, starts } = setUp([
      { key, limit: 5, perSeconds: 1 },
      { key, limit: 3, perSeconds: 60 },
    ]);
    await submitMany(6, "a");
    await submitMany(2, "b");
    await pool.pass(10_000, 100);
    expect(starts.map((one) => one.key).sort()).toEqual(["a", "a", "a", "b", "b"]);
  });

  test("keys that differ for an input end its task, and no start is taken", async () => {
    const key = ({ key }: z.output<typeof input>) => String(key);
    const { submitMany, pool, records, lines } = setUp([
      { key, limit: 5, perSeconds: 1 },
      { key: ({ n }) => n, limit: 3, perSeconds: 60 },
    ]);
    await submitMany(1, "a");
    await pool.pass(1_000, 100);
    expect(records.all()[0]).toMatchObject({ status: "failed", error_kind: "permanent" });
    expect(records.all()[0]?.error).toContain("the keys of its rates differ");
    expect(await lines.state("rate/test.task/acme/a")).toEqual({ permits: new Map() });
  });

  test("processes that know nothing of each other, and die at random: every rate holds, and all tasks end", async () => {
    const { submitMany, pool, starts, records } = setUp(
      [
        { limit: 4, perSeconds: 1 },
        { limit: 15, perSeconds: 30 },
      ],
      { maxAttempts: 20, retry: { waitsSeconds: [1] } },
      true,
    );
    await submitMany(60);
    for (let step = 0; step < 400; step++) {
      await pool.pass(500, 100);
      if (step % 40 === 7) pool.kill((count) => count - 1);
    }
    await pool.pass(200_000, 1_000);
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
    expect(mostWithin(starts, 1)).toBeLessThanOrEqual(4);
    expect(mostWithin(starts, 30)).toBeLessThanOrEqual(15);
  });

  test("a line that refuses each second write gives no start twice", async () => {
    const { submitMany, pool, starts, lines } = setUp([
      { limit: 10, perSeconds: 1 },
      { limit: 12, perSeconds: 20 },
    ]);
    const acquireTokens = lines.acquireTokens.bind(lines);
    let calls = 0;
    lines.acquireTokens = async (...given) => {
      return calls++ % 2 === 0 && acquireTokens(...given);
    };
    await submitMany(30);
    await pool.pass(60_000, 100);
    expect(starts).toHaveLength(30);
    expect([mostWithin(starts, 1) <= 10, mostWithin(starts, 20)]).toEqual([true, 12]);
  });

  test("a late task of a slow rate starts now, and counts from now on", async () => {
    const { submitMany, pool, starts, queues } = setUp([
      { limit: 1, perSeconds: 600 },
      { limit: 2, perSeconds: 3_600 },
    ]);
    const put = queues.put.bind(queues);
    let late = 0;
    queues.put = (tier, body, options = {}) => {
      const lateSeconds = options.ticket?.slotMs !== undefined && late++ === 0 ? 300 : 0;
      put(tier, body, { ...options, delaySeconds: (options.delaySeconds ?? 0) + lateSeconds });
    };
    await submitMany(5);
    await pool.pass(9_000_000, 5_000);
    expect(starts).toHaveLength(5);
    expect(mostWithin(starts, 3_600)).toBe(2);
    const [first, second] = starts;
    expect(Math.round(((second?.at ?? 0) - (first?.at ?? 0)) / 60_000)).toBe(15);
  });

  test("a clock that is an hour late gives no start more", async () => {
    const { submitMany, pool, starts, ports, clock } = setUp([
      { limit: 5, perSeconds: 1 },
      { limit: 6, perSeconds: 7_200 },
    ]);
    await submitMany(3);
    await pool.pass(5_000, 100);
    const late = { ...clock, now: () => clock.now() - 3_600_000, after: clock.after.bind(clock) };
    Object.assign(ports, { clock: late });
    await submitMany(3);
    await pool.pass(60_000, 1_000);
    Object.assign(ports, { clock });
    expect(starts).toHaveLength(6);
    await submitMany(6);
    await pool.pass(7_100_000, 5_000);
    expect(mostWithin(starts, 7_200)).toBeLessThanOrEqual(6);
  });
});

describe("a list of rates and an operator's rate", () => {
  const list: RateListOption = [
    { limit: 2, perSeconds: 1 },
    { limit: 5, perSeconds: 60 },
  ];
  const type = { name: "test.task", priority: "normal" as const };

  test("a rate of the same time replaces that one of the list", async () => {
    const { submitMany, pool, starts, ports } = setUp(list);
    await changeLimits(ports, type, { rate: { limit: 8, per_seconds: 60 } }, "olga");
    await pool.pass(5_000);
    await submitMany(20);
    await pool.pass(50_000, 100);
    expect([mostWithin(starts, 1), starts.length]).toEqual([2, 8]);
  });

  test("a rate of another time replaces the first one, and the longer ones hold", async () => {
    const { submitMany, pool, starts, ports } = setUp(list);
    await changeLimits(ports, type, { rate: { limit: 1, per_seconds: 5 } }, "olga");
    await pool.pass(5_000);
    await submitMany(20);
    await pool.pass(58_000, 100);
    expect([mostWithin(starts, 5), starts.length]).toEqual([1, 5]);
  });

  test("the limit of a key is that of the first rate", async () => {
    const key = ({ key }: z.output<typeof input>) => String(key);
    const { submitMany, pool, starts, ports, entry } = setUp([
      { key, limit: 1, perSeconds: 1 },
      { key, limit: 5, perSeconds: 60 },
    ]);
    const set = await limitKey(ports, entry, "a", { limit: 4 }, olga);
    expect(set.rate).toEqual({ limit: 4, per_seconds: 1 });
    await pool.pass(5_000);
    await submitMany(20, "a");
    await pool.pass(50_000, 100);
    expect([mostWithin(starts, 1), starts.length]).toEqual([4, 5]);
  });
});

test("a task that has a place gives it back while it waits for the rate of the day, and takes one with its start", async () => {
  const { submitMany, pool, starts, records } = setUp(
    [
      { limit: 5, perSeconds: 1 },
      { limit: 2, perSeconds: 3_600 },
    ],
    { concurrency: { limit: 1 } },
  );
  await submitMany(6);
  await pool.pass(3 * 3_600_000, 1_000);
  expect(starts).toHaveLength(6);
  expect(mostWithin(starts, 3_600)).toBe(2);
  expect(records.all().every(({ status }) => status === "completed")).toBe(true);
});
