import { describe, expect, test } from "vitest";
import { z } from "zod";
import { release } from "../../../../src/core/extras/limits/held-permit.ts";
import { changeLimits } from "../../../../src/core/extras/limits/manage-flow.ts";
import { bucketCount, bucketName, bucketOf, bucketsFor, bucketsOf } from "../../../../src/core/extras/limits/shards.ts";
import { parseTicket, ticketText } from "../../../../src/core/model/envelope.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import type { WaitQueue } from "../../../../src/core/model/wait-queue.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { envelopeOf } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ ms: z.number(), n: z.number() });
const line: WaitQueue = { name: "concurrency/test.task/acme/", kind: "concurrency", type: "test.task" };

/** A pipeline with one type with places for all its tasks together, and what its handlers did. */
function setUp(limit: number) {
  let running = 0;
  const seen = { most: 0, starts: [] as { n: number; at: number }[] };
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    running += 1;
    seen.most = Math.max(seen.most, running);
    seen.starts.push({ n, at: pipeline.clock.now() });
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
    running -= 1;
  };
  const type = typeOf(handler, { input, timeoutSeconds: 30, concurrency: { limit } });
  const pipeline = memoryPipeline([type]);
  const submitMany = async (count: number, ms: number) => {
    const from = pipeline.records.all().length;
    for (let n = from; n < from + count; n++) {
      await pipeline.accept({ input: { n, ms } });
      // Tasks of one millisecond have no order.
      await pipeline.clock.advance(1);
    }
  };
  return {
    ...pipeline,
    pipeline,
    pool: workerPool(pipeline, { apart: true }),
    submitMany,
    seen,
    type,
    runningNow: () => running,
  };
}

describe("the buckets of a line's places", () => {
  test.each([1, 15, 16, 17, 40, 1_000, 10_000])("together have room for %s places", (limit) => {
    const buckets = bucketsOf(line, { limit });
    expect(buckets.reduce((sum, { room }) => sum + room, 0)).toBe(limit);
    expect(Math.max(...buckets.map(({ room }) => room))).toBeLessThanOrEqual(16);
    expect(new Set(buckets.map(({ name }) => name)).size).toBe(buckets.length);
    expect(buckets[0]?.name).toBe(line.name);
  });

  test("have no room beyond the limit", () => {
    expect(bucketOf(line, 3, { limit: 20 }).room).toBe(0);
  });

  test("are asked by tasks evenly, and by each in the same order", () => {
    const sizes = { limit: 160 };
    const firsts = new Map<number, number>();
    for (let task = 0; task < 2_000; task++) {
      const asked = bucketsFor(line, `task ${task}`, sizes);
      expect(asked).toEqual(bucketsFor(line, `task ${task}`, sizes));
      expect(new Set(asked.map(({ index }) => index)).size).toBe(3);
      const index = asked[0]?.index ?? -1;
      firsts.set(index, (firsts.get(index) ?? 0) + 1);
    }
    expect(firsts.size).toBe(bucketCount(sizes));
    expect(Math.min(...firsts.values())).toBeGreaterThan(120);
  });

  test("are in the ticket of a task that was admitted", () => {
    expect(parseTicket(ticketText({ hasPermit: true, bucket: 624, isBackup: true, slotMs: 5, tryUntilMs: 7 }))).toEqual(
      {
        ...{ hasPermit: true, bucket: 624, isBackup: true, slotMs: 5, tryUntilMs: 7 },
      },
    );
    expect(parseTicket(ticketText({ hasPermit: true, bucket: 3 }))).toEqual({ hasPermit: true, bucket: 3 });
    expect(parseTicket("held.x@")).toBeUndefined();
    expect(parseTicket("-spare@")).toBeUndefined();
    expect(parseTicket("heldspare@")).toBeUndefined();
  });
});

describe("a line of many places", () => {
  test("400 tasks in 40 places: forty at a time, each once, and the places are used", async () => {
    const { submitMany, pool, seen, records, lines } = setUp(40);
    await submitMany(400, 2_000);
    await pool.pass(60_000, 100);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    expect(seen.starts).toHaveLength(400);
    expect(seen.most).toBe(40);
    const times = seen.starts.map(({ at }) => at);
    const usedMs = Math.max(...times) - Math.min(...times) + 2_000;
    expect((400 * 2_000) / (40 * usedMs)).toBeGreaterThan(0.85);
    // One of the first sixteen goes, and none is passed over for long.
    const late = seen.starts.map(({ n }, position) => position - n);
    expect(Math.max(...late)).toBeLessThanOrEqual(120);
    for (const { name } of bucketsOf(line, { limit: 40 })) expect((await lines.state(name)).permits.size).toBe(0);
  });

  test("100 tasks in 40 places, with calls that take their time: each once, by one message, in a tier that is behind, too", async () => {
    const { submitMany, pool, seen, records, queues, lines, ports, clock } = setUp(40);
    // A call takes 10 ms, so that workers that end tasks together see the same line.
    const slow = new Proxy(lines, {
      get: (target, name) => {
        const call = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
        return async (...given: unknown[]) => {
          await new Promise<void>((resolve) => clock.after(10, resolve));
          return call.apply(target, given);
        };
      },
    });
    Object.assign(ports, { lines: slow });
    const put = queues.put.bind(queues);
    let held = 0;
    queues.put = (tier, body, more = {}) => {
      if (more.ticket?.hasPermit) held += 1;
      put(tier, body, { ...more, delaySeconds: (more.delaySeconds ?? 0) + 30 });
    };
    await submitMany(100, 1_000);
    await pool.pass(40_000, 100);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    expect(seen.starts).toHaveLength(100);
    expect(held).toBeLessThanOrEqual(66);
    const buckets = bucketsOf(line, { limit: 40 }).map(({ name }) => name);
    expect((await lines.states(buckets)).map(({ permits: places }) => places.size)).toEqual([0, 0, 0]);
  });

  test("the place of a task that runs by a twin of its message, in another bucket, is free at once", async () => {
    const { submitMany, pool, seen, records, lines, ports, clock } = setUp(40);
    await submitMany(1, 20_000);
    await pool.pass(1_000, 100);
    const [record] = records.all() as [TaskRecord];
    const running = record.place_bucket ?? 0;
    const other = bucketOf(line, (running + 1) % 3, { limit: 40 });
    await lines.acquirePermits(other.name, [record.task_id], clock.now() + 60_000, other.room);
    await ports.queues.send({
      ...{ tier: "normal", envelope: envelopeOf(record, { ms: 20_000, n: 0 }), delaySeconds: 0 },
      ...{ solo: false, redrives: 0, ticket: { hasPermit: true, bucket: other.index } },
    });
    await pool.pass(2_000, 100);
    expect((await lines.state(other.name)).permits.size).toBe(0);
    expect((await lines.state(bucketName(line, running))).permits.size).toBe(1);
    await pool.pass(30_000, 100);
    expect(seen.starts).toHaveLength(1);
  });

  test("a task that cannot be let go is left to others", async () => {
    const { ports, lines, pipeline, clock } = setUp(40);
    const record = await pipeline.accept({ input: { n: 0, ms: 10 } });
    const { created_at: createdAt, task_id: taskId, tenant_id: tenantId } = record;
    const envelope = envelopeOf(record, { n: 0, ms: 10 });
    const next = Promise.resolve([{ id: "w1", tier: "normal" as const, createdAt, taskId, tenantId, envelope }]);
    // Its place has ended, and another task has it.
    const place = { line, bucket: 1, untilMs: clock.now() + 1_000, next };
    await release(ports, place, { task_id: "ended" }, "normal");
    expect(await lines.reserve(line.name, { taskId }, clock.now(), clock.now() + 1_000)).toBe(true);
  });

  test("a task finds the only free place, wherever it is", async () => {
    const { submitMany, pool, seen, lines, clock } = setUp(160);
    const far = clock.now() + 3_600_000;
    const buckets = bucketsOf(line, { limit: 160 });
    for (const { name, index, room } of buckets)
      for (let n = 0; n < room; n++) await lines.acquirePermits(name, [`${index} ${n}`], far, room);
    for (const { name, index, room } of buckets) {
      await lines.releasePermit(name, `${index} 0`, far);
      await submitMany(1, 500);
      await pool.pass(2_000, 100);
      expect(seen.starts).toHaveLength(index + 1);
      await lines.acquirePermits(name, [`${index} 0`], far, room);
    }
    expect(seen.most).toBe(1);
  });

  test("workers die: their places are free after their leases, and each task ends", async () => {
    const { submitMany, pool, seen, records } = setUp(40);
    await submitMany(160, 3_000);
    for (let round = 0; round < 6; round++) {
      await pool.pass(1_700, 100);
      pool.kill((count) => (count * 7 + round) % count);
    }
    await pool.pass(900_000, 1_000);
    expect(records.all().map(({ status }) => status)).toEqual(Array.from({ length: 160 }, () => "completed"));
    expect(seen.most).toBeLessThanOrEqual(46);
  });

  test("a raised limit is used at once, and a lowered one holds when enough have ended", async () => {
    const { submitMany, pool, ports, type, runningNow, clock } = setUp(3);
    const change = (concurrency: number) =>
      changeLimits(ports, { name: type.name, priority: "normal" }, { concurrency }, "olga");
    await submitMany(600, 5_000);
    await pool.pass(6_000, 100);
    expect(runningNow()).toBe(3);
    await change(50);
    await pool.pass(15_000, 100);
    expect(runningNow()).toBe(50);
    await change(20);
    await clock.advance(3_000);
    await pool.pass(5_000, 100);
    for (let second = 0; second < 20; second++) {
      await pool.pass(1_000, 100);
      expect(runningNow()).toBe(20);
    }
  });

  test("places of an earlier release, which are all in one item, count until they have ended", async () => {
    const { submitMany, pool, seen, lines, clock } = setUp(40);
    const endMs = clock.now() + 600_000;
    const old = Array.from({ length: 30 }, (_, n) => `old ${n}`);
    for (const id of old) await lines.acquirePermits(line.name, [id], endMs, 40);
    await submitMany(60, 1_000);
    await pool.pass(10_000, 100);
    expect(seen.starts).toHaveLength(0);
    for (const id of old.slice(0, 20)) await lines.releasePermit(line.name, id, endMs);
    // No worker has ended these, so a check of the line finds it out.
    await pool.pass(360_000, 100);
    expect(seen.starts).toHaveLength(60);
    expect(seen.most).toBeLessThanOrEqual(30);
  });

  test("names of buckets are no names of lines", () => {
    expect(bucketName(line, 0)).toBe(line.name);
    expect(bucketName(line, 12)).toBe("places/12/concurrency/test.task/acme/");
  });
});
