import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { changePriority } from "../../../../src/core/control/change-waiting.ts";
import { release, renew } from "../../../../src/core/extras/limits/held-permit.ts";
import { changeLimits } from "../../../../src/core/extras/limits/manage-flow.ts";
import { keptUntilMs, takenUntilMs } from "../../../../src/core/extras/limits/place-book.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { hasEnded, type TaskRecord } from "../../../../src/core/model/record.ts";
import type { WaitQueue } from "../../../../src/core/model/wait-queue.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith, queueVisibilitySeconds } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ key: z.string(), ms: z.number().default(400), n: z.number().default(0) });

/** A pipeline with one type with places, and what its handlers did. */
function setUp(limit: number, more: Partial<TaskType> = {}) {
  const runs: { key: string; n: number; began: number; ended?: number }[] = [];
  const handler = async ({ key, ms, n }: z.output<typeof input>, _task: TaskContext) => {
    const run: (typeof runs)[number] = { key, n, began: pipeline.clock.now() };
    runs.push(run);
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
    run.ended = pipeline.clock.now();
    return n;
  };
  const type = typeOf(handler, {
    input,
    timeoutSeconds: 30,
    concurrency: { key: ({ key }: { key: string }) => key, limit },
    ...more,
  });
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const submitMany = async (count: number, key: string, ms = 400) => {
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { key, ms, n } });
      // Tasks of one millisecond have no order.
      await pipeline.clock.advance(1);
    }
  };
  return { ...pipeline, pipeline, pool, runs, submitMany, type };
}

type Run = { began: number; ended?: number };

/** The most runs at the same time. */
function mostAtOnce(runs: readonly Run[], endOf: (run: Run) => number = ({ ended = Number.NaN }) => ended): number {
  const events = runs.flatMap((run) => [
    { at: run.began, by: 1 },
    { at: endOf(run), by: -1 },
  ]);
  events.sort((a, b) => a.at - b.at || a.by - b.by);
  let now = 0;
  return Math.max(...events.map(({ by }) => (now += by)));
}

describe("places of a key", () => {
  test("200 tasks of one key at limit 3: three at a time, in order of submission, each once, every place always used", async () => {
    const { submitMany, pool, runs, records } = setUp(3);
    await submitMany(200, "a");
    await pool.pass(60_000);
    expect(runs).toHaveLength(200);
    expect(mostAtOnce(runs)).toBe(3);
    expect(runs.map(({ n }) => n)).toEqual(Array.from({ length: 200 }, (_, n) => n));
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
    const began = Math.min(...runs.map((run) => run.began));
    const ended = Math.max(...runs.map((run) => run.ended ?? 0));
    expect((200 * 400) / (3 * (ended - began))).toBeGreaterThan(0.95);
  });

  test("no task fails while its line is throttled for an hour", async () => {
    const { submitMany, pool, records, lines } = setUp(1, { timeoutSeconds: 840 });
    const add = lines.add.bind(lines);
    lines.add = () => Promise.reject(new PortUnavailable("throttled"));
    await submitMany(4, "a", 800_000);
    await pool.pass(3_600_000, 10_000);
    lines.add = add;
    await pool.pass(4_000_000, 10_000);
    expect(records.all().map(({ status, attempts }) => [status, attempts])).toEqual(
      Array.from({ length: 4 }, () => ["completed", 1]),
    );
  });

  test("a waiting task says so, has no message, and starts when a place is free", async () => {
    const { submitMany, pool, records, lines } = setUp(1);
    await submitMany(2, "a", 5_000);
    await pool.pass(1_000);
    const [waiting] = records.all().filter(({ status }) => status === "pending");
    expect(waiting).toMatchObject({
      waiting_for: { kind: "concurrency" },
      line: "concurrency/test.task/acme/a",
      attempts: 0,
    });
    expect(await lines.first("concurrency/test.task/acme/a", 10)).toHaveLength(1);
    await pool.pass(5_000);
    const [started] = records.all().filter(({ status }) => status === "processing");
    expect(started?.task_id).toBe(waiting?.task_id);
    expect(started).not.toHaveProperty("waiting_for");
    expect(started).not.toHaveProperty("line");
    await pool.pass(6_000);
    expect(records.all().map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect((await lines.state("concurrency/test.task/acme/a")).permits.size).toBe(0);
  });

  test("workers killed at random: never more leases than places, and all tasks end", async () => {
    const { submitMany, pool, records, clock } = setUp(3, { maxAttempts: 20, retry: { waitsSeconds: [1] } });
    await submitMany(60, "a", 2_000);
    let seed = 7;
    const random = (count: number) => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed % count;
    };
    let kills = 0;
    const live = () =>
      records
        .all()
        .filter(({ status, lease_until = "" }) => status === "processing" && Date.parse(lease_until) > clock.now());
    for (let second = 0; second < 6_000 && records.all().some(({ status }) => status !== "completed"); second++) {
      await pool.pass(1_000);
      expect(live().length).toBeLessThanOrEqual(3);
      if (second % 9 === 0 && kills < 40) {
        pool.kill(random);
        kills += 1;
      }
    }
    expect(kills).toBe(40);
    expect(records.all().map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => "completed"));
  });

  test("a worker that stood still gives no later place of its task back", async () => {
    const { ports, lines } = setUp(1);
    const line: WaitQueue = { name: "concurrency/test.task/acme/a", kind: "concurrency", type: "test.task" };
    const [taken, kept] = [ports.clock.now() + 1_000, ports.clock.now() + 5_000];
    await lines.acquirePermits(line.name, ["task"], taken, 1);
    await lines.renewPermit(line.name, { task: "task", untilMs: taken }, kept);
    const task = { tenant_id: "acme", task_id: "task" };
    await release(ports, { line, bucket: 0, untilMs: taken }, task, "normal");
    expect((await lines.state(line.name)).permits).toEqual(new Map([["task", kept]]));
    await release(ports, { line, bucket: 0, untilMs: kept }, task, "normal");
    expect((await lines.state(line.name)).permits).toEqual(new Map());
  });

  test("a worker that stood still while it kept a place does not end the place of a running attempt", async () => {
    const { ports, lines, clock } = setUp(1);
    const line: WaitQueue = { name: "concurrency/test.task/acme/a", kind: "concurrency", type: "test.task" };
    const type = { timeoutSeconds: 30 };
    const task = { tenant_id: "acme", task_id: "task" };
    const taken = takenUntilMs(clock.now(), type);
    await lines.acquirePermits(line.name, ["task"], taken, 1);
    // The write of a renewal leaves its process after another message has kept the place for longer.
    const later = keptUntilMs(clock.now() + 170_000, type);
    const keep = lines.renewPermit.bind(lines);
    lines.renewPermit = async (name, from, untilMs) => {
      lines.renewPermit = keep;
      await keep(name, from, later);
      return keep(name, from, untilMs);
    };
    await clock.advance(1_000);
    await renew(ports, { line, bucket: 0, untilMs: taken }, task, type as TaskType);
    expect((await lines.state(line.name)).permits).toEqual(new Map([["task", later]]));
  });

  test("a second message of a running task does not keep its place beyond its end", async () => {
    const { pipeline, ports, pool, records, runs, queues, submitMany } = setUp(1);
    const { task_id } = await pipeline.accept({ input: { key: "a", ms: 3_000 } });
    const [moving] = records.all();
    if (moving !== undefined) await changePriority(ports, moving, "high");
    // The message in the old tier arrives a second after the one in the new tier.
    queues.take("normal", 1, 1);
    await pool.pass(2_000);
    await submitMany(1, "a", 1_000);
    await pool.pass(4_000);
    expect(runs).toHaveLength(2);
    expect(records.all().map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(records.all()[0]).toMatchObject({ task_id, attempts: 1, priority: "high" });
  });

  test("a message in the old tier of a moved task does not give back the place of the one in the new tier", async () => {
    const { ports, pipeline, pool, records, lines, clock } = setUp(1);
    await pipeline.accept({ input: { key: "a" } });
    const [moved] = records.all();
    const line = "concurrency/test.task/acme/a";
    // As if the message in the new tier had a place, and was about to start the task.
    await lines.acquirePermits(line, [moved?.task_id ?? ""], clock.now() + 60_000, 1);
    await ports.records.change(moved as TaskRecord, { when: {}, set: { priority: "low" } });
    await pipeline.work("normal");
    expect((await lines.state(line)).permits.size).toBe(1);
    await pool.pass(2_000);
    expect(records.all()).toMatchObject([{ status: "completed", attempts: 1 }]);
    expect((await lines.state(line)).permits.size).toBe(0);
  });

  test("a place is given back, also when nobody can read who is next", async () => {
    const { ports, lines } = setUp(1);
    const line: WaitQueue = { name: "concurrency/test.task/acme/a", kind: "concurrency", type: "test.task" };
    const untilMs = ports.clock.now() + 1_000;
    await lines.acquirePermits(line.name, ["task"], untilMs, 1);
    const next = Promise.reject(new PortUnavailable("the table"));
    await release(ports, { line, bucket: 0, untilMs, next }, { task_id: "task" }, "normal");
    expect((await lines.state(line.name)).permits.size).toBe(0);
  });

  test("a place is passed on when the end of its attempt is stored, however long that takes", async () => {
    const { submitMany, pool, records, lines, clock, runs } = setUp(1);
    const change = records.change.bind(records);
    records.change = async (key, how) => {
      if (how.set?.status === "completed") await new Promise<void>((resolve) => clock.after(300, resolve));
      return change(key, how);
    };
    const passedBy: string[] = [];
    const note = () => passedBy.push(...records.all().flatMap(({ status }) => (status === "processing" ? status : [])));
    for (const method of ["passPermit", "releasePermit"] as const) {
      const call = lines[method].bind(lines) as (...given: unknown[]) => Promise<never>;
      Object.assign(lines, {
        [method]: (...given: unknown[]) => {
          note();
          return call(...given);
        },
      });
    }
    await submitMany(5, "a");
    await pool.pass(20_000, 50);
    expect(runs).toHaveLength(5);
    expect(passedBy).toEqual([]);
  });

  test("a check that could not be sent is not noted, and is sent with the next look", async () => {
    const { submitMany, pool, lines, queues } = setUp(1, { timeoutSeconds: 600 });
    const sendCheck = vi.spyOn(queues, "sendCheck").mockRejectedValueOnce(new PortUnavailable("no queue"));
    await submitMany(2, "a", 300_000);
    await pool.pass(1_000);
    expect(sendCheck).toHaveBeenCalledOnce();
    expect((await lines.state("concurrency/test.task/acme/a")).check).toBeUndefined();
    await pool.pass(200_000);
    expect(sendCheck.mock.calls.length).toBeGreaterThan(1);
    expect((await lines.state("concurrency/test.task/acme/a")).check?.atMs).toBeGreaterThan(0);
  });

  test.each(["lines", "claim"] as const)(
    "what is given up while its %s is slow claims nothing, and keeps no place",
    async (slow) => {
      const { submitMany, pool, records, lines, clock } = setUp(1, { maxAttempts: 1 });
      const late = <T>(answer: T, ms: number) => new Promise<T>((resolve) => clock.after(ms, () => resolve(answer)));
      const first = lines.first.bind(lines);
      vi.spyOn(lines, "first").mockImplementationOnce(async (...given) =>
        late(await first(...given), slow === "lines" ? 12_000 : 5_000),
      );
      const change = records.change.bind(records);
      if (slow === "claim")
        vi.spyOn(records, "change").mockImplementationOnce(async (...given) => late(await change(...given), 8_000));
      await submitMany(2, "a");
      await pool.pass(2 * queueVisibilitySeconds * 1000);
      expect(records.all().map(({ status, attempts_total }) => [status, attempts_total])).toEqual([
        ["completed", 1],
        ["completed", 1],
      ]);
      expect((await lines.state("concurrency/test.task/acme/a")).permits.size).toBe(0);
    },
  );

  test("a second message of a running task that is given up leaves the attempt its place", async () => {
    const { submitMany, pool, runs, records, lines, queues, clock } = setUp(1, { timeoutSeconds: 600 });
    await submitMany(1, "a", 60_000);
    const [twin] = queues.waiting("normal").map(({ body }) => JSON.parse(body));
    await pool.pass(1_000);
    expect(runs).toHaveLength(1);
    const first = lines.first.bind(lines);
    const slow = vi.spyOn(lines, "first").mockImplementationOnce(async (...given) => {
      const answer = await first(...given);
      return new Promise((resolve) => clock.after(12_000, () => resolve(answer)));
    });
    await queues.send({ tier: "normal", envelope: twin, delaySeconds: 0, solo: false, redrives: 0 });
    await pool.pass(20_000);
    expect(slow).toHaveBeenCalled();
    expect((await lines.state("concurrency/test.task/acme/a")).permits.size).toBe(1);
    await submitMany(1, "a", 100);
    await pool.pass(10_000);
    expect(runs).toHaveLength(1);
    await pool.pass(2 * queueVisibilitySeconds * 1000);
    expect(records.all().map(({ status, attempts_total }) => [status, attempts_total])).toEqual([
      ["completed", 1],
      ["completed", 1],
    ]);
  });

  test("keys, tenants and types have places of their own; a number is a key", async () => {
    const { accept, pool, runs } = setUp(1, { input: z.object({ key: z.union([z.string(), z.number()]) }) as never });
    await accept({ input: { key: "a" } });
    await accept({ input: { key: "a" } });
    await accept({ input: { key: 1 } });
    await accept({ input: { key: "a" } }, { identity: { tenantId: "other", principal: "o", role: "operator" } });
    await pool.pass(100);
    expect(runs.map(({ key }) => key)).toEqual(["a", 1, "a"]);
  });

  test("tenants share the places of a deployment", async () => {
    const { accept, pool, runs } = setUp(1, { concurrency: { limit: 1, scope: "deployment" } });
    await accept({ input: { key: "a" } });
    await accept({ input: { key: "b" } }, { identity: { tenantId: "other", principal: "o", role: "operator" } });
    await pool.pass(100);
    expect(runs).toHaveLength(1);
    await pool.pass(1_000);
    expect(runs).toHaveLength(2);
  });

  test.each([
    ["before tasks that were submitted later and still wait", 3_000, [0, 1, 2, 1, 3, 4, 5]],
    ["after all tasks that have started meanwhile", 100, [0, 1, 2, 3, 4, 5, 1]],
  ])("a retry waits without a place and in no line, and goes %s", async (_, ms, expected) => {
    let failures = 0;
    const order: number[] = [];
    const pipeline = memoryPipeline([
      typeOf(
        async ({ n }: { n: number }) => {
          order.push(n);
          if (n === 1 && failures++ === 0) throw new Error("once");
          await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
        },
        { concurrency: { limit: 1 }, retry: { waitsSeconds: [2], jitter: "none" } },
      ),
    ]);
    const pool = workerPool(pipeline);
    for (let n = 0; n < 6; n++) {
      await pipeline.accept({ input: { n } });
      await pipeline.clock.advance(1);
    }
    await pool.pass(30_000);
    expect(order).toEqual(expected);
  });

  test("a task whose time comes later goes before tasks that were submitted after it and wait", async () => {
    const order: number[] = [];
    const pipeline = memoryPipeline([
      typeOf(
        async ({ n }: { n: number }) => {
          order.push(n);
          await new Promise<void>((resolve) => pipeline.clock.after(3_000, resolve));
        },
        { concurrency: { limit: 1 } },
      ),
    ]);
    const pool = workerPool(pipeline);
    for (const [n, delay_seconds] of [0, 4, 0, 0, 0].entries()) {
      await pipeline.accept({ input: { n }, delay_seconds });
      await pipeline.clock.advance(1);
    }
    await pool.pass(30_000);
    expect(order).toEqual([0, 2, 1, 3, 4]);
  });

  test("a cancelled task gives its turn to the next one", async () => {
    const { submitMany, pool, runs, records, pipeline } = setUp(1);
    const { cancel } = await import("../../../../src/core/control/control.ts");
    await submitMany(4, "a", 3_000);
    await pool.pass(1_000);
    const second = records.all().find(({ request_hash, status }) => status === "pending" && request_hash !== "");
    await cancel(pipeline.ports, second as never);
    await pool.pass(20_000);
    expect(runs).toHaveLength(3);
    expect(records.all().every((record) => hasEnded(record, pipeline.clock.now()))).toBe(true);
  });

  test("a waiting task expires", async () => {
    const { accept, pool, runs, records, clock } = setUp(1);
    await accept({ input: { key: "a", ms: 20_000 } });
    await clock.advance(1);
    await accept({ input: { key: "a" }, expires_in_seconds: 5 });
    await pool.pass(30_000);
    expect(runs).toHaveLength(1);
    expect(records.all().map(({ status }) => status)).toEqual(["completed", "expired"]);
  });

  test("a key that is no text fails its task for good, and an input that does not fit is `validation`", async () => {
    const { accept, pool, records } = setUp(1, { concurrency: { key: () => "" as never, limit: 1 } });
    await accept({ input: { key: "a" } });
    await pool.pass(100);
    expect(records.all()[0]).toMatchObject({ status: "failed", error_kind: "permanent" });
    const fussy = setUp(1);
    // As after a deployment: submit accepted an input that the type no longer does.
    const [known] = fussy.pipeline.types.values();
    Object.assign(known as object, { input: z.unknown() });
    await fussy.accept({ input: { key: 1 } });
    await fussy.pool.pass(100);
    expect(fussy.records.all()[0]).toMatchObject({ status: "failed", error_kind: "validation" });
  });

  test("a limit that is raised at run time lets more tasks go within seconds, and a lowered one fewer", async () => {
    const { submitMany, pool, runs, ports, clock } = setUp(1);
    await submitMany(7, "a", 20_000);
    await pool.pass(2_000);
    expect(runs).toHaveLength(1);
    const type = {
      name: "test.task",
      priority: "normal" as const,
    };
    await changeLimits(ports, type, { concurrency: 4 }, "olga");
    await pool.pass(5_000);
    expect(runs.filter(({ ended }) => ended === undefined)).toHaveLength(4);
    await changeLimits(ports, type, { concurrency: null }, "olga");
    await pool.pass(5_000);
    const before = clock.now();
    await pool.pass(100_000);
    expect(mostAtOnce(runs.filter(({ began }) => began > before))).toBe(1);
    expect(runs).toHaveLength(7);
  });
});

test("a type without limits gets places at run time, and lets everybody go when they are taken away", async () => {
  const { submitMany, pool, runs, pipeline, type, ports, clock } = setUp(1);
  (pipeline.registry as Map<string, TaskType>).set(type.name, { ...type, concurrency: undefined });
  await changeLimits(ports, { name: type.name, priority: "normal" }, { concurrency: 2 }, "olga");
  await clock.advance(3_000);
  await submitMany(6, "a", 10_000);
  await pool.pass(25_000);
  expect(mostAtOnce(runs)).toBe(2);
  await changeLimits(ports, { name: type.name, priority: "normal" }, { concurrency: null }, "olga");
  await pool.pass(70_000);
  expect(runs).toHaveLength(6);
  expect((await pipeline.ports.lines.state("concurrency/test.task/*/")).permits.size).toBe(0);
});

test("a type that lost its limit lets everybody go who waits", async () => {
  const { submitMany, pool, runs, pipeline, type } = setUp(1);
  await submitMany(5, "a", 10_000);
  await pool.pass(1_000);
  expect(runs).toHaveLength(1);
  (pipeline.registry as Map<string, TaskType>).set(type.name, { ...type, concurrency: undefined });
  await pool.pass(70_000);
  expect(runs).toHaveLength(5);
});

test("in a queue that is two minutes behind, tasks that come late take places of those that are on their way", async () => {
  const { pipeline, pool, runs, queues, lines } = setUp(2);
  const send = queues.send.bind(queues);
  const sendCheck = queues.sendCheck.bind(queues);
  queues.send = (message) => send({ ...message, delaySeconds: message.delaySeconds + 120 });
  queues.sendCheck = (message) => sendCheck({ ...message, delaySeconds: message.delaySeconds + 120 });
  for (let n = 0; n < 20; n++) await pipeline.accept({ input: { key: "a", n } });
  for (let n = 0; n < 60; n++) {
    await pipeline.accept({ input: { key: "a", n } });
    await pool.pass(10_000);
  }
  // Each of the two places has a task at least every two minutes.
  expect(runs.length).toBeGreaterThan(10);
  expect(mostAtOnce(runs)).toBeLessThanOrEqual(2);
  await pool.pass(3_600_000);
  expect(runs).toHaveLength(80);
  expect((await lines.state("concurrency/test.task/acme/a")).permits.size).toBe(0);
});
