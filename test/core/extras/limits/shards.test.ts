import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { advance } from "../../../../src/core/extras/limits/advance.ts";
import { allShards, shardOf } from "../../../../src/core/extras/limits/place-book.ts";
import { markSharded, unmark } from "../../../../src/core/extras/limits/shards.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { WaitQueue } from "../../../../src/core/model/wait-queue.ts";
import type { WaitingTask } from "../../../../src/core/ports/flow.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { envelopeOf } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ ms: z.number(), n: z.number() });
const places: WaitQueue = { name: "concurrency/test.task/acme/", kind: "concurrency", type: "test.task" };
const rate: WaitQueue = { name: "rate/test.task/acme/", kind: "rate", type: "test.task" };

/** A pipeline with one type, and what its handlers did. */
function setUp(options: Partial<TaskType>) {
  const starts: number[] = [];
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    starts.push(n);
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
  };
  const pipeline = memoryPipeline([typeOf(handler, { input, timeoutSeconds: 30, ...options })]);
  const submitMany = async (count: number, ms: number) => {
    for (let n = 0; n < count; n++) await pipeline.accept({ input: { n, ms } });
  };
  return { ...pipeline, pool: workerPool(pipeline), submitMany, starts };
}

/** A task that is added to its own shard of a line by another process. */
async function joining({ accept, clock, ports }: ReturnType<typeof setUp>): Promise<WaitingTask & { shard: number }> {
  const record = await accept({ input: { n: 0, ms: 10 } });
  const { created_at: createdAt, task_id: taskId, tenant_id: tenantId } = record;
  const envelope = envelopeOf(record, clock.now());
  return { id: ports.newId(), tier: "normal", createdAt, taskId, tenantId, envelope, shard: shardOf(taskId) };
}

describe("the tasks of a line with a large limit", () => {
  test("wait in fifteen shards, all start, and leave no mark", async () => {
    const { submitMany, pool, starts, lines, records } = setUp({ concurrency: { limit: 129 } });
    await submitMany(700, 1_000);
    await pool.pass(900);
    expect(await lines.first(places.name, 1_000)).toEqual([]);
    const waiting = await lines.first(places.name, 1_000, allShards);
    expect(waiting).toHaveLength(700 - 129);
    expect(new Set(waiting.map(({ shard }) => shard)).size).toBe(15);
    expect(await lines.state(places.name)).toMatchObject({ sharded: true });
    await pool.pass(20_000);
    expect(starts).toHaveLength(700);
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
    await pool.pass(300_000);
    const { sharded, check } = await lines.state(places.name);
    expect([sharded, check]).toEqual([undefined, undefined]);
  });

  test("start at the pace of a fast rate", async () => {
    const { submitMany, pool, starts } = setUp({ rateLimit: { limit: 500, perSeconds: 1 } });
    await submitMany(800, 10);
    await pool.pass(2_500, 100);
    expect(starts).toHaveLength(800);
  });

  test("are in one shard up to 128 places, and starts a second", async () => {
    for (const options of [{ concurrency: { limit: 128 } }, { rateLimit: { limit: 120, perSeconds: 1 } }]) {
      const { submitMany, pool, lines } = setUp(options);
      await submitMany(400, 5_000);
      await pool.pass(500);
      const [waiting] = await Promise.all([places, rate].map(({ name }) => lines.first(name, 1_000)));
      const other = await lines.first(rate.name, 1_000);
      expect((waiting?.length ?? 0) + other.length).toBeGreaterThan(100);
      expect((await lines.state(places.name)).sharded ?? (await lines.state(rate.name)).sharded).toBeUndefined();
    }
  });

  test("start when the limit is lowered, and those of before are found", async () => {
    const under = setUp({ concurrency: { limit: 200 } });
    const { submitMany, pool, starts, flowSettings } = under;
    await submitMany(500, 1_000);
    await pool.pass(500);
    await flowSettings.put({ kind: "limits", name: "limits/test.task", concurrency: 20 });
    await pool.pass(120_000);
    expect(starts).toHaveLength(500);
  });

  test("join in the same moment with few marks", async () => {
    const { submitMany, pool, lines, clock } = setUp({ concurrency: { limit: 200 } });
    const noted = lines.shard.bind(lines);
    const shard = vi.fn(async (name: string) => {
      await new Promise<void>((resolve) => clock.after(10, resolve));
      return noted(name);
    });
    lines.shard = shard;
    await submitMany(1_200, 5_000);
    await pool.pass(1_000);
    expect(shard.mock.calls.length).toBeGreaterThan(0);
    expect(shard.mock.calls.length).toBeLessThan(100);
  });

  test("wait where the line of their rate does not answer, and start later", async () => {
    const { submitMany, pool, lines, starts, records } = setUp({ rateLimit: { limit: 1_000, perSeconds: 1 } });
    const acquireToken = lines.acquireToken.bind(lines);
    lines.acquireToken = () => Promise.reject(new PortUnavailable("throttled"));
    await submitMany(50, 10);
    await pool.pass(100, 50);
    expect(await lines.first(rate.name, 100, allShards)).toHaveLength(50);
    lines.acquireToken = acquireToken;
    await pool.pass(5_000, 100);
    expect(starts).toHaveLength(50);
    expect(records.all().every(({ attempts }) => attempts === 1)).toBe(true);
  });
});

test("tasks that their shards refuse, too, join a moment later, and none has to come again", async () => {
  const under = setUp({ concurrency: { limit: 200 } });
  const { submitMany, pool, lines, queues, starts } = under;
  const refused = refuseAbove(under, 30);
  await submitMany(1_100, 50);
  let anew = 0;
  const send = queues.send.bind(queues);
  queues.send = (message) => {
    if (message.ticket === undefined) anew += 1;
    return send(message);
  };
  await pool.pass(14_000, 100);
  expect(refused.length).toBeGreaterThan(100);
  expect(refused.every((shard) => shard !== undefined)).toBe(true);
  expect(anew).toBe(0);
  const waiting = await lines.first(places.name, 1_100, allShards);
  expect(waiting.length + starts.length).toBeGreaterThanOrEqual(1_100);
});

/** Refuses what is added to a partition of a line above so many in a second. */
function refuseAbove({ lines, clock }: ReturnType<typeof setUp>, perSecond: number) {
  const add = lines.add.bind(lines);
  const added = new Map<string, number>();
  const refused: (number | undefined)[] = [];
  lines.add = async (name, task) => {
    const second = `${task.shard ?? 0} ${Math.floor(clock.now() / 1_000)}`;
    const count = (added.get(second) ?? 0) + 1;
    added.set(second, count);
    if (count <= perSecond) return add(name, task);
    refused.push(task.shard);
    const cause = Object.assign(new Error("slower"), { name: "ProvisionedThroughputExceededException" });
    throw new PortUnavailable("the table", { cause });
  };
  return refused;
}

describe("a small line that more tasks join than its partition takes", () => {
  const small = { concurrency: { limit: 3 } };

  test("spreads them over shards: none has to come again, and all run", async () => {
    const under = setUp(small);
    const { submitMany, pool, lines, starts, records } = under;
    const refused = refuseAbove(under, 80);
    await submitMany(600, 50);
    await pool.pass(1_500, 100);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((shard) => shard === undefined)).toBe(true);
    const waiting = await lines.first(places.name, 1_000, allShards);
    expect(waiting.length + starts.length).toBeGreaterThanOrEqual(600);
    expect((await lines.state(places.name)).sharded).toBe(true);
    await pool.pass(60_000);
    expect(starts).toHaveLength(600);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    expect((await lines.state(places.name)).sharded).toBeUndefined();
  });

  test("is not spread by an outage of the table", async () => {
    const under = setUp(small);
    const { submitMany, pool, lines, starts } = under;
    const add = lines.add.bind(lines);
    const shards: (number | undefined)[] = [];
    lines.add = (_, { shard }) => {
      shards.push(shard);
      return Promise.reject(new PortUnavailable("the table"));
    };
    await submitMany(10, 50);
    await pool.pass(2_000, 100);
    expect(shards.length).toBeGreaterThan(0);
    expect(shards.every((shard) => shard === undefined)).toBe(true);
    lines.add = add;
    await pool.pass(60_000);
    expect(starts).toHaveLength(10);
    expect((await lines.state(places.name)).sharded).toBeUndefined();
    expect(under.ports.flow.lines.isSharded(places.name)).toBe(false);
  });

  test("the tasks that joined a line before it was spread have their turn while others join", async () => {
    const under = setUp({ concurrency: { limit: 40 } });
    const { submitMany, pool, lines, starts } = under;
    await submitMany(120, 1_000);
    await pool.pass(500);
    const early = (await lines.first(places.name, 200)).length;
    expect(early).toBeGreaterThan(50);
    under.ports.flow.lines.noteSharded(places.name, true);
    for (let round = 0; round < 12; round++) {
      await submitMany(60, 1_000);
      await pool.pass(1_000);
      under.ports.flow.lines.noteSharded(places.name, true);
    }
    expect((await lines.first(places.name, 200)).length).toBeLessThan(early - 10);
    await pool.pass(120_000);
    expect(starts).toHaveLength(840);
  });
});

test("no task fails while the places of its line do not answer for an hour", async () => {
  const { submitMany, pool, lines, records } = setUp({ concurrency: { limit: 3 } });
  const acquirePermits = lines.acquirePermits.bind(lines);
  lines.acquirePermits = () => Promise.reject(new PortUnavailable("throttled"));
  await submitMany(4, 1_000);
  await pool.pass(3_600_000, 10_000);
  lines.acquirePermits = acquirePermits;
  await pool.pass(100_000, 1_000);
  expect(records.all().map(({ status, attempts }) => [status, attempts])).toEqual(
    Array.from({ length: 4 }, () => ["completed", 1]),
  );
});

describe("the mark of tasks in shards", () => {
  /** A line with a check and a mark, whose only place is taken, in a deployment in which each line has shards. */
  async function marked() {
    const under = setUp({ concurrency: { limit: 1 } });
    const { lines, clock } = under;
    const ports = Object.assign(under.ports, { maxInOne: 0 });
    await lines.planCheck(places.name, { id: "check", atMs: clock.now(), sharded: true }, undefined);
    return { ...under, ports, under };
  }
  const taken = (lines: ReturnType<typeof setUp>["lines"], nowMs: number) =>
    lines.acquirePermits(places.name, ["another"], nowMs + 120_000, 1);

  test("is set again for a task that joined while it was removed", async () => {
    const { under, lines, ports, clock } = await marked();
    await taken(lines, clock.now());
    const task = await joining(under);
    const unshard = lines.unshard.bind(lines);
    lines.unshard = async (name) => {
      // It has made sure of the mark, which it found.
      await lines.add(places.name, task);
      await unshard(name);
    };
    await lines.endChecks(places.name, "check");
    await unmark(ports, places);
    expect((await lines.state(places.name)).sharded).toBe(true);
  });

  test("stays for a task that joined while the check ended, if the process dies", async () => {
    const { under, lines, ports, clock } = await marked();
    await taken(lines, clock.now());
    const task = await joining(under);
    const endChecks = lines.endChecks.bind(lines);
    lines.endChecks = async (name, id) => {
      // It relies on the check, which it saw.
      await lines.add(places.name, task);
      await endChecks(name, id);
    };
    const die = () => Promise.reject(new Error("killed"));
    const unshard = lines.unshard.bind(lines);
    lines.unshard = (name) => unshard(name).then(die);
    await advance(ports, places, { tier: "normal", checkId: "check" });
    expect(await lines.state(places.name)).toMatchObject({ sharded: true, check: { id: expect.any(String) } });
  });

  test.each([true, false])(
    "does not matter to a task that joined before it was removed, is its place taken: %s",
    async (isTaken) => {
      const { under, lines, ports, clock } = await marked();
      if (isTaken) await taken(lines, clock.now());
      await lines.endChecks(places.name, "check");
      const task = await joining(under);
      await lines.add(places.name, task);
      const state = lines.state.bind(lines);
      let asked = 0;
      lines.state = async (name) => {
        const seen = await state(name);
        // The task has made sure of the mark, and the mark is removed after that.
        if (asked++ === 0) await lines.unshard(name);
        return seen;
      };
      await advance(ports, places, { tier: "normal", added: task });
      if (isTaken) expect(await state(places.name)).toMatchObject({ sharded: true, check: { id: expect.any(String) } });
      else expect([...(await state(places.name)).permits.keys()]).toEqual([task.taskId]);
    },
  );

  test("is removed by nobody while a check is planned", async () => {
    const { lines, ports } = await marked();
    await unmark(ports, places);
    expect((await lines.state(places.name)).sharded).toBe(true);
  });

  test("is written once where it is known", async () => {
    const { under, lines, ports } = await marked();
    const shard = vi.spyOn(lines, "shard");
    expect(await markSharded(ports, places, await joining(under))).toMatchObject({ sharded: true });
    expect(shard).not.toHaveBeenCalled();
  });
});
