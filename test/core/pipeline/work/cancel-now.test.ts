import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cancel } from "../../../../src/core/control/control.ts";
import { tiers } from "../../../../src/core/model/words.ts";
import { QueueServer, serveMessage } from "../../../../src/core/pipeline/work/serve-queues.ts";
import { Drain, workBatch } from "../../../../src/core/pipeline/work/work.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { MemoryWorkQueues } from "../../../../src/memory/work-queues.ts";
import { memoryPipeline, workerSeconds } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const never = () => new Promise<never>(() => {});

/** Two types: one whose handler calls for ever and ignores its signal, and one whose handler takes half a minute. */
function neighbours(options: Partial<TaskType> = {}, more: readonly TaskType[] = []) {
  const calls: number[] = [];
  let alive = true;
  const deaf = typeOf(
    async () => {
      while (alive) {
        calls.push(pipeline.clock.now());
        await sleep(500);
      }
      return never();
    },
    { name: "deaf", input: z.unknown(), timeoutSeconds: 600, ...options },
  );
  const innocent = typeOf(
    async () => {
      await sleep(30_000);
      return "done";
    },
    { name: "innocent", input: z.unknown(), timeoutSeconds: 600, ...options },
  );
  const pipeline = memoryPipeline([deaf, innocent, ...more]);
  const sleep = (ms: number) => new Promise<void>((resolve) => pipeline.clock.after(ms, () => resolve()));
  const submit = async (type: string, count: number) => {
    for (let index = 0; index < count; index++) await pipeline.accept({ type, input: index });
  };
  const read = async (type: string) => {
    const { items } = await pipeline.records.list({ tenantId: "acme", limit: 2_000 });
    return items.filter((record) => record.type === type);
  };
  const kill = () => {
    alive = false;
  };
  /** Asks for the end of all tasks of a type. */
  const cancelAll = async (type: string, now: boolean) => {
    for (const record of await read(type)) await cancel({ ...pipeline.ports, types: pipeline.types }, record, { now });
  };
  return { ...pipeline, calls, submit, read, kill, cancelAll };
}

/** A batch of a tier's messages in one process of a function. */
function batchOf(world: ReturnType<typeof neighbours>, ends = false) {
  const drain = new Drain(world.clock);
  if (ends) drain.now();
  let ended = 0;
  const ports = {
    ...world.ports,
    onStopping: drain.onStopping,
    isStopping: drain.isStopping,
    endProcess: () => {
      ended += 1;
      drain.now();
    },
  };
  const deliveries = world.queues.take("normal", 10, 5400);
  const verdicts = workBatch(ports, deliveries, world.clock.now() + workerSeconds * 1000);
  return { verdicts, ended: () => ended };
}

const cancelled = (interrupted: string) => ({
  status: "cancelled",
  history: [{ outcome: "cancelled", error_type: "AttemptInterrupted", error: expect.stringContaining(interrupted) }],
});

describe("a cancel now, in a batch of a function", () => {
  test("a handler that ignores its signal is ended 5 s after the request, and its neighbours are given back without an attempt", async () => {
    const world = neighbours();
    await world.submit("deaf", 1);
    await world.submit("innocent", 9);
    const { verdicts, ended } = batchOf(world);
    await world.clock.advance(20_000);
    await world.cancelAll("deaf", true);
    expect(await world.read("deaf")).toMatchObject([{ status: "processing", cancel_now: true }]);
    await world.clock.advance(4_000);
    expect(ended()).toBe(0);
    await world.clock.advance(1_500);
    expect(await verdicts).toEqual(Array.from({ length: 10 }, () => "done"));
    expect(ended()).toBe(1);
    expect(await world.read("deaf")).toMatchObject([cancelled("its process was ended")]);
    const innocents = await world.read("innocent");
    expect(innocents).toHaveLength(9);
    for (const one of innocents) expect(one).toMatchObject({ status: "pending", attempts: 0, history: [] });
    expect(world.queues.waiting("normal").filter(({ visibleAt }) => visibleAt <= world.clock.now())).toHaveLength(9);
    world.kill();
  });

  test("a handler that stops in time keeps its process", async () => {
    const heeding = typeOf(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => world.clock.after(1_000, () => reject(signal.reason)));
        }),
      { name: "heeding", timeoutSeconds: 600 },
    );
    const world = neighbours({}, [heeding]);
    const { verdicts, ended } = await oneOf(world, "heeding");
    expect(await verdicts).toEqual(["done"]);
    expect(ended()).toBe(0);
    const [record] = await world.read("heeding");
    expect(record).toMatchObject({ status: "cancelled", history: [{ outcome: "cancelled" }] });
    expect(record?.history[0]).not.toHaveProperty("error");
  });

  test("the record says which step was interrupted", async () => {
    const stepping = typeOf((_, task) => task.step("charge the card", never), {
      name: "stepping",
      timeoutSeconds: 600,
    });
    const world = neighbours({}, [stepping]);
    const { verdicts } = await oneOf(world, "stepping");
    await verdicts;
    expect(await world.read("stepping")).toMatchObject([cancelled('its step "charge the card" had begun')]);
  });

  test("a request now after one without it ends the process, too", async () => {
    const world = neighbours();
    await world.submit("deaf", 1);
    const { verdicts, ended } = batchOf(world);
    await world.clock.advance(5_000);
    await world.cancelAll("deaf", false);
    await world.clock.advance(60_000);
    expect(ended()).toBe(0);
    await world.cancelAll("deaf", true);
    await world.clock.advance(5_000);
    await verdicts;
    expect(ended()).toBe(1);
    world.kill();
  });
});

/** Runs one task of a type, and cancels it now. */
async function oneOf(world: ReturnType<typeof neighbours>, type: string) {
  await world.submit(type, 1);
  const batch = batchOf(world);
  await world.clock.advance(1_000);
  await world.cancelAll(type, true);
  await world.clock.advance(10_000);
  return batch;
}

test("a task that is claimed while its process ends is given back before its handler starts", async () => {
  const world = neighbours();
  await world.submit("deaf", 1);
  const { verdicts } = batchOf(world, true);
  await world.clock.advance(1_000);
  expect(await verdicts).toEqual(["done"]);
  expect(world.calls).toEqual([]);
  expect(await world.read("deaf")).toMatchObject([{ status: "pending", attempts: 0, attempts_total: 1, history: [] }]);
});

describe("a cancel now, in a container worker", () => {
  test("of 1,000 attempts in a process, 200 that ignore it end within 10 s, and none of the others fails or loses an attempt", async () => {
    const world = neighbours({ runsOn: "container" });
    await world.submit("deaf", 200);
    await world.submit("innocent", 800);
    const ports = { ...world.ports, workQueues: new MemoryWorkQueues(world.queues, world.clock) };
    const start = () => {
      const server: QueueServer = new QueueServer(ports, {
        tiers,
        concurrency: 1_000,
        runAlone: async (delivery) => void (await serveMessage(ports, delivery, "alone")),
      });
      return { server, done: server.run() };
    };
    const first = start();
    for (let second = 0; second < 15; second++) await world.clock.advance(1_000);
    expect(first.server.running).toBe(1_000);
    const askedAt = world.clock.now();
    await world.cancelAll("deaf", true);
    await world.clock.advance(7_000);
    await first.done;
    world.kill();
    expect(Math.max(...world.calls) - askedAt).toBeLessThan(10_000);
    const deaf = await world.read("deaf");
    expect(new Set(deaf.map(({ status }) => status))).toEqual(new Set(["cancelled"]));
    start();
    for (let second = 0; second < 45; second++) await world.clock.advance(1_000);
    const innocent = await world.read("innocent");
    const seen = new Set(innocent.map(({ status, attempts, history }) => `${status} ${attempts} ${history.length}`));
    expect(seen).toEqual(new Set(["completed 1 1"]));
  });
});
