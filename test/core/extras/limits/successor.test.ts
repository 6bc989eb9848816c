import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { yieldPermit } from "../../../../src/core/extras/limits/advance.ts";
import { limiter } from "../../../../src/core/extras/limits/index.ts";
import { successorIn } from "../../../../src/core/extras/limits/permit.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { QueueServer } from "../../../../src/core/pipeline/work/serve-queues.ts";
import { workBatch } from "../../../../src/core/pipeline/work/work.ts";
import { Puller } from "../../../../src/core/task/puller.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { MemoryWorkQueues } from "../../../../src/memory/work-queues.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ n: z.number(), ms: z.number() });
const line = "concurrency/test.task/acme/";

/** A pipeline whose tier is behind: each message waits so many seconds in it, which may depend on the time. */
function setUp(limit: number, behind: (seconds: number) => number, more: Partial<TaskType> = {}) {
  const runs: { n: number; at: number; endAt: number }[] = [];
  const sent = { byMessage: 0, successors: 0 };
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    runs.push({ n, at: pipeline.clock.now(), endAt: pipeline.clock.now() + ms });
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
  };
  const type = typeOf(handler, { input, timeoutSeconds: 30, concurrency: { limit }, ...more });
  const pipeline = memoryPipeline([type]);
  const { queues, clock } = pipeline;
  const put = queues.put.bind(queues);
  const began = clock.now();
  queues.put = (tier, body, { delaySeconds = 0, ...options } = {}) => {
    if (options.ticket?.hasPermit && !options.ticket.isBackup) sent.byMessage += 1;
    if (body.startsWith('{"line":"places/')) sent.successors += 1;
    const atSeconds = (clock.now() - began) / 1_000 + delaySeconds;
    put(tier, body, { ...options, delaySeconds: delaySeconds + behind(atSeconds) });
  };
  const submitMany = async (count: number, ms: number) => {
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { n, ms } });
      await clock.advance(1);
    }
  };
  /** The part of the places' time that tasks run, between two times of the world. */
  const used = (fromSeconds: number, untilSeconds: number) => {
    const [fromMs, untilMs] = [began + fromSeconds * 1_000, began + untilSeconds * 1_000];
    const busyMs = runs.reduce(
      (sum, { at, endAt }) => sum + Math.max(0, Math.min(endAt, untilMs) - Math.max(at, fromMs)),
      0,
    );
    return busyMs / (limit * (untilMs - fromMs));
  };
  const state = () => pipeline.lines.state(line);
  return { ...pipeline, type, pool: workerPool(pipeline), runs, sent, submitMany, used, state };
}

const seconds = (count: number) => () => count;

describe("the successor of a worker", () => {
  test.each([
    { limit: 1, ms: 1_000, behind: 30 },
    { limit: 1, ms: 1_000, behind: 90 },
    { limit: 3, ms: 3_000, behind: 300 },
    { limit: 4, ms: 3_000, behind: 90, bucketSize: 2 },
    { limit: 1, ms: 9_000, behind: 90 },
  ])("keeps $limit places of tasks of $ms ms in use, in a tier that is $behind s behind", async (of) => {
    const { limit, ms, behind, bucketSize } = of;
    const { submitMany, pool, used, sent, runs, records, ports } = setUp(limit, seconds(behind));
    Object.assign(ports, bucketSize === undefined ? {} : { bucketSize });
    const tasks = Math.ceil((700_000 * limit) / ms);
    await submitMany(tasks, ms);
    await pool.pass((behind + 600) * 1_000);
    expect(used(behind + 10, behind + 600)).toBeGreaterThanOrEqual(0.94);
    expect(sent.successors).toBeLessThanOrEqual(runs.length / 5);
    expect(sent.byMessage).toBeLessThanOrEqual(limit);
    await pool.pass(900_000);
    expect(runs).toHaveLength(tasks);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
  });

  test("keeps the places in use while the tier falls behind by half a second each second", async () => {
    const { submitMany, pool, used } = setUp(1, (at) => Math.min(300, at / 2));
    await submitMany(700, 1_000);
    await pool.pass(600_000);
    expect(used(10, 600)).toBeGreaterThanOrEqual(0.88);
  });

  test("is not sent where the tier keeps pace, and not for a few long tasks", async () => {
    const prompt = setUp(1, seconds(0));
    await prompt.submitMany(150, 1_000);
    await prompt.pool.pass(160_000);
    expect(prompt.sent.successors).toBe(0);
    const long = setUp(1, seconds(30), { timeoutSeconds: 60 });
    await long.submitMany(8, 45_000);
    await long.pool.pass(600_000);
    expect(long.sent.successors).toBe(0);
    expect(long.runs).toHaveLength(8);
  });

  test("ends after some looks when no task waits, and leaves nothing", async () => {
    const { submitMany, pool, sent, state, lines, clock } = setUp(1, seconds(30));
    await submitMany(75, 1_000);
    // The message of the successor is on its way when the last task ends.
    await pool.pass(110_000, 100);
    expect(sent.successors).toBe(1);
    const looks = vi.spyOn(lines, "state");
    await pool.pass(60_000, 100);
    expect(looks.mock.calls.length).toBeLessThan(20);
    expect((await state()).successor).toBeUndefined();
    expect((await state()).permits.size).toBe(0);
    expect(clock.nextTimer()).toBeUndefined();
  });

  test("ends its wait after half a minute, when a task takes longer", async () => {
    const { submitMany, pool, sent, state, accept, runs, clock } = setUp(1, seconds(30), { timeoutSeconds: 300 });
    await submitMany(70, 1_000);
    await accept({ input: { n: 99, ms: 200_000 } });
    await clock.advance(1);
    await accept({ input: { n: 100, ms: 1_000 } });
    await pool.pass(125_000);
    expect(sent.successors).toBe(1);
    expect((await state()).successor).toBeDefined();
    await pool.pass(60_000);
    expect((await state()).successor).toBeUndefined();
    await pool.pass(400_000);
    expect(runs.map(({ n }) => n).slice(-2)).toEqual([99, 100]);
  });

  test.each(["is lost", "cannot be sent"])("the line goes on by message when its message %s", async (how) => {
    const { submitMany, pool, runs, ports, records } = setUp(1, seconds(30));
    const { queues } = ports;
    const sendCheck = queues.sendCheck.bind(queues);
    queues.sendCheck = async (message) => {
      if (!message.check.line.startsWith("places/")) return sendCheck(message);
      if (how === "cannot be sent") throw new PortUnavailable("the queue");
    };
    await submitMany(400, 1_000);
    await pool.pass(900_000);
    expect(runs).toHaveLength(400);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
  });

  test.each([
    { when: "it waits", after: 500 },
    { when: "it got its place", after: 1_260 },
  ])("the line goes on when it dies while $when", async ({ after }) => {
    const { submitMany, pool, runs, state, records, lines } = setUp(1, seconds(30));
    const given = vi.spyOn(lines, "givePermit");
    await submitMany(400, 1_000);
    const began = () => lines.state(line).then(({ successor }) => successor !== undefined);
    for (let ms = 0; ms < 200_000 && !(await began()); ms += 20) await pool.pass(20, 20);
    if (after > 1_000) for (let ms = 0; ms < 3_000 && given.mock.calls.length === 0; ms += 1) await pool.pass(1, 1);
    expect((await state()).successor === undefined).toBe(after > 1_000);
    // The successor is the process that came last.
    pool.kill((count) => count - 1);
    await pool.pass(900_000);
    expect(new Set(runs.map(({ n }) => n)).size).toBe(400);
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
  });

  test.each([
    { method: "givePermit", when: "before" },
    { method: "givePermit", when: "after" },
    { method: "awaitPermit", when: "before" },
    { method: "awaitPermit", when: "after" },
  ] as const)("no place stands empty when $method fails $when it is made", async ({ method, when }) => {
    const { submitMany, pool, lines, runs } = setUp(1, seconds(30));
    const call = lines[method].bind(lines) as (...given: unknown[]) => Promise<boolean>;
    let calls = 0;
    const failing = async (...given: unknown[]) => {
      calls += 1;
      if (calls > 1) return call(...given);
      if (when === "after") await call(...given);
      throw new PortUnavailable("the table");
    };
    Object.assign(lines, { [method]: failing });
    await submitMany(200, 1_000);
    await pool.pass(180_000, 500);
    expect(calls).toBeGreaterThan(0);
    expect(runs.length).toBeGreaterThan(140);
    const gaps = runs.slice(1).map(({ at }, index) => at - (runs[index]?.at ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(3_000);
  });

  test("it looks again when the line does not answer for some seconds", async () => {
    const { submitMany, pool, lines, runs, state } = setUp(1, seconds(30));
    await submitMany(200, 1_000);
    for (let ms = 0; ms < 200_000 && (await state()).successor === undefined; ms += 20) await pool.pass(20, 20);
    const read = lines.state.bind(lines);
    lines.state = () => Promise.reject(new PortUnavailable("the table"));
    await pool.pass(500, 50);
    lines.state = read;
    await pool.pass(60_000, 500);
    const gaps = runs.slice(1).map(({ at }, index) => at - (runs[index]?.at ?? 0));
    expect(runs.length).toBeGreaterThan(100);
    expect(Math.max(...gaps)).toBeLessThan(3_000);
  });

  test("a place that comes while it ends its wait is used", async () => {
    const { submitMany, pool, ports, runs, state, clock } = setUp(1, seconds(30));
    const { lines } = ports;
    const { permits: places } = await state();
    expect(places.size).toBe(0);
    await submitMany(400, 1_000);
    const endWait = lines.endWait.bind(lines);
    let ended = 0;
    // Its time is over just when the other worker gives it the place.
    const givePlace = lines.givePermit.bind(lines);
    lines.endWait = async (name, id) => {
      ended += 1;
      const { permits: held } = await lines.state(name);
      const [task = "", untilMs = 0] = [...held][0] ?? [];
      await givePlace(name, { task, untilMs }, { id, untilMs: clock.now() + 60_000.5 });
      return endWait(name, id);
    };
    lines.givePermit = async () => false;
    await pool.pass(400_000);
    expect(ended).toBeGreaterThan(0);
    const gaps = runs.slice(1).map(({ at }, index) => at - (runs[index]?.at ?? 0));
    expect(Math.max(...gaps.slice(0, 200))).toBeLessThan(25_000);
  });

  test("the other messages of its batch do not wait for it", async () => {
    const { ports, queues, clock, lines, accept, runs } = setUp(1, seconds(0));
    await lines.acquirePermits(line, ["other"], clock.now() + 100_000, 1);
    const check = { line: `places/0/${line}`, check_id: "successor" };
    await ports.queues.sendCheck({ tier: "normal", check, delaySeconds: 0 });
    await accept({ input: { n: 1, ms: 10 }, type: "test.task" });
    const deliveries = queues.take("normal", 10, 60);
    expect(deliveries).toHaveLength(2);
    const decided = vi.fn();
    const shared = { onDecided: decided, isShared: () => false };
    const working = workBatch(ports, deliveries, clock.now() + 900_000, shared);
    for (let ms = 0; ms < 2_000; ms += 100) await clock.advance(100);
    expect(decided).toHaveBeenCalledOnce();
    for (let ms = 0; ms < 40_000; ms += 250) await clock.advance(250);
    expect(await working).toEqual(["done", "done"]);
    expect(runs).toHaveLength(0);
    expect((await lines.state(line)).successor).toBeUndefined();
  });

  test("waits for a place that is taken again after its first look", async () => {
    const { ports, queues, clock, lines, state } = setUp(1, seconds(0));
    const check = { line: `places/0/${line}`, check_id: "successor" };
    await ports.queues.sendCheck({ tier: "normal", check, delaySeconds: 0 });
    const working = workBatch(ports, queues.take("normal", 10, 60), clock.now() + 900_000);
    await clock.advance(100);
    await lines.acquirePermits(line, ["other"], clock.now() + 100_000, 1);
    await clock.advance(300);
    expect((await state()).successor).toMatchObject({ id: "successor" });
    for (let ms = 0; ms < 40_000; ms += 250) await clock.advance(250);
    await working;
    expect((await state()).successor).toBeUndefined();
  });

  test("goes on with the line of tasks in containers, by their queue", async () => {
    const { ports, queues, clock, submitMany, used, sent } = setUp(1, seconds(30), { runsOn: "container" });
    const serve = { ...ports, workQueues: new MemoryWorkQueues(queues, clock) };
    const server = new QueueServer(serve, { tiers: ["normal"], concurrency: 3, runAlone: async () => {} });
    void server.run();
    await submitMany(400, 1_000);
    for (let ms = 0; ms < 330_000; ms += 250) await clock.advance(250);
    expect(sent.successors).toBeGreaterThan(1);
    expect(used(40, 330)).toBeGreaterThanOrEqual(0.9);
    expect(queues.take("normal", 10, 60).filter(({ body }) => body.includes("places/"))).toEqual([]);
    server.stop(1);
  });

  test("gets a place of a worker that has had its share, or that cannot go on", async () => {
    const { ports, lines, clock, state } = setUp(1, seconds(0));
    const untilMs = clock.now() + 50_000;
    await lines.acquirePermits(line, ["task"], untilMs, 1);
    await lines.awaitPermit(line, { id: "successor", untilMs: clock.now() + 30_000 }, clock.now());
    const puller = new Puller(() => undefined, { behindMs: 30_000, cameMs: clock.now() });
    const offer = async (isPulled: boolean) =>
      yieldPermit({ ...ports, puller }, line, { permit: { task: "task", untilMs }, state: await state(), isPulled });
    expect(await offer(true)).toBe(false);
    await clock.advance(30_000);
    expect(await offer(false)).toBe(false);
    await lines.awaitPermit(line, { id: "successor", untilMs: clock.now() + 40_000 }, clock.now());
    expect(await offer(true)).toBe(false);
    expect(await offer(false)).toBe(true);
    expect([...(await state()).permits.keys()]).toEqual(["successor"]);
    // Its wait is over.
    expect(await offer(false)).toBe(false);
  });

  test("has a message that names a bucket", async () => {
    const check = (name: string) => successorIn({ line: name, check_id: "id" });
    const of = (name: string) => ({ name, kind: "concurrency", type: "test.task" });
    expect(check(`places/0/${line}`)).toEqual({ line: of(line), bucket: 0, id: "id" });
    expect(check(`places/624/${line}a/b\nc`)).toEqual({ line: of(`${line}a/b\nc`), bucket: 624, id: "id" });
    for (const other of [line, "places/x/pause/a/b", "places/1/other/a/b", `places/-1/${line}`])
      expect(check(other)).toBeUndefined();
    const { ports, queues, accept } = setUp(1, seconds(0));
    await accept({ input: { n: 1, ms: 1 } });
    const [delivery] = queues.take("normal", 1, 60);
    if (delivery === undefined) throw new Error("no message");
    expect(
      await limiter.check({ ...ports, puller: undefined }, delivery, { line: `places/0/${line}`, check_id: "id" }),
    ).toBe("done");
  });
});
