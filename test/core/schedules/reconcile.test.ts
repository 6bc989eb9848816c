import { describe, expect, test } from "vitest";
import { retry } from "../../../src/core/control/control.ts";
import { pause, resume } from "../../../src/core/extras/limits/manage-flow.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import { fire, fireArrived } from "../../../src/core/schedules/fire.ts";
import { lastReconcile, reconcile } from "../../../src/core/schedules/reconcile.ts";
import { MemoryOpenTasks } from "../../../src/memory/open-tasks.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { limits } from "../../support/parts/limits.ts";
import { rescue } from "../../support/parts/rescue.ts";
import { unique } from "../../support/parts/unique.ts";
import { newRecord } from "../../support/records.ts";
import { echo, typeOf } from "../../support/task-types.ts";
import { workerPool } from "../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits, rescue, unique);

const hour = 3_600_000;
const day = 24 * hour;

type Pipeline = ReturnType<typeof memoryPipeline>;

/** Loses every message of a tier, as a queue does whose retention is over. */
function lose({ queues }: Pipeline) {
  for (const { receiptHandle } of queues.take("normal", 1_000, 60)) queues.acknowledge(receiptHandle);
}

async function pass(pipeline: Pipeline) {
  await pipeline.reconcile(pipeline.clock.now() + 200_000);
  const found = await lastReconcile(pipeline.ports);
  if (found === undefined) throw new Error("no pass was noted");
  return found;
}

const big = { value: "x".repeat(2_000) };

describe("an open task that nothing wakes", () => {
  test("whose message is gone is sent again, and runs", async () => {
    const pipeline = memoryPipeline();
    const record = await pipeline.accept();
    lose(pipeline);
    await pipeline.clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ whole: true, open: 1, sent: 1, ended: 0, left: 0 });
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("that lost its unique key to another submit, and could not be withdrawn, never runs", async () => {
    const pipeline = memoryPipeline();
    const { ports, records, clock } = pipeline;
    const unique = { key: "k" };
    const { task_id } = await pipeline.accept({ unique });
    // Both looked at a free key; the other one took it first, and the table refuses to withdraw this one.
    const { holder } = ports.uniqueKeys;
    let looks = 0;
    ports.uniqueKeys.holder = (key) =>
      looks++ === 0 ? Promise.resolve(undefined) : holder.call(ports.uniqueKeys, key);
    const { change } = records;
    records.change = () => Promise.reject(new PortUnavailable("the table"));
    const joined = await pipeline.accept({ unique }).catch(() => undefined);
    Object.assign(records, { change });
    expect(joined?.task_id ?? task_id).toBe(task_id);
    await pipeline.drain();
    const left = records.all().find((record) => record.task_id !== task_id);
    expect(left).toMatchObject({ status: "pending" });
    await clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ sent: 0, ended: 1, left: 0 });
    await pipeline.drain();
    expect(await pipeline.recordOf({ tenant_id: "acme", task_id })).toMatchObject({ status: "completed" });
    expect(await pipeline.ports.records.get({ tenant_id: "acme", task_id: left?.task_id ?? "" })).toMatchObject({
      ...{ status: "pending", attempts_total: 0 },
      purge_at: Math.floor(clock.now() / 1000) - 3_600,
    });
  });

  test("whose submit got no answer is sent", async () => {
    const pipeline = memoryPipeline();
    const { send } = pipeline.queues;
    pipeline.queues.send = () => Promise.reject(new PortUnavailable("the queue"));
    await pipeline.accept({}, { idempotencyKey: "once" }).catch(() => {});
    pipeline.queues.send = send;
    await pipeline.clock.advance(3 * hour);
    await pass(pipeline);
    await pipeline.drain();
    expect(pipeline.records.all()).toMatchObject([{ status: "completed" }]);
  });

  test("whose message and worker are gone has a crashed attempt, and goes on", async () => {
    const pipeline = memoryPipeline();
    const record = await pipeline.accept();
    lose(pipeline);
    const began = iso(pipeline.clock.now());
    await pipeline.records.change(record, {
      when: {},
      set: { status: "processing", attempts: 1, attempts_total: 1, lease_until: began, started_at: began },
    });
    await pipeline.clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ sent: 1 });
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({
      status: "completed",
      history: [{ outcome: "crashed" }, { outcome: "completed" }],
    });
  });

  test("whose only copy of its input is lost ends as failed, once its message is certainly gone", async () => {
    const pipeline = memoryPipeline();
    const record = await pipeline.accept({ input: big, retention_seconds: 2_592_000 });
    lose(pipeline);
    await pipeline.clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ left: 1, sent: 0, ended: 0 });
    await pipeline.clock.advance(15 * day);
    expect(await pass(pipeline)).toMatchObject({ left: 0, sent: 0, ended: 1 });
    const failed = await pipeline.recordOf(record);
    expect(failed).toMatchObject({ status: "failed", error_kind: "permanent", error: expect.stringContaining("lost") });
    await expect(retry(pipeline.ports, failed)).rejects.toMatchObject({ code: "gone" });
  });

  test("that did not start in time ends as expired", async () => {
    const pipeline = memoryPipeline();
    const record = await pipeline.accept({ expires_in_seconds: 60 });
    lose(pipeline);
    await pipeline.clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ ended: 1 });
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "expired" });
  });
});

describe("a task that something wakes is left alone", () => {
  test.each([
    ["one that has just been submitted", {}, 0],
    ["one that sleeps", { delay_seconds: 86_400 }, 3 * hour],
  ])("%s", async (_, body, ms) => {
    const pipeline = memoryPipeline();
    await pipeline.accept(body);
    await pipeline.clock.advance(ms);
    expect(await pass(pipeline)).toMatchObject({ open: 1, sent: 0, ended: 0 });
  });

  test("one whose tier is behind", async () => {
    const pipeline = memoryPipeline();
    for (let n = 0; n < 1_001; n++) await pipeline.accept();
    await pipeline.clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ open: 1_001, sent: 0, left: 1_001 });
  });

  test("a task gets one message a pass, however often it is found", async () => {
    const pipeline = memoryPipeline();
    await pipeline.accept();
    await pipeline.clock.advance(3 * hour);
    for (let passes = 0; passes < 5; passes++) {
      await pass(pipeline);
      await pipeline.clock.advance(day);
    }
    expect(pipeline.queues.waiting("normal")).toHaveLength(6);
  });
});

describe("tasks in lines", () => {
  const target = { scope: "tier", tier: "normal" } as const;

  async function parked(body = {}) {
    const pipeline = memoryPipeline();
    const pausing = pause(pipeline.ports, target, "olga");
    await pipeline.clock.advance(0);
    await pipeline.clock.advance(5_000);
    await pausing;
    const record = await pipeline.accept(body);
    await pipeline.work();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending", line: expect.any(String) });
    return { ...pipeline, record };
  }

  test("a pause may last for a year: record and entry are kept", async () => {
    const pipeline = await parked({ input: big });
    for (let months = 0; months < 12; months++) {
      await pipeline.clock.advance(30 * day);
      await pass(pipeline);
      await pipeline.clock.advance(15 * day);
      await pass(pipeline);
      await pipeline.work();
    }
    const { purge_at } = await pipeline.recordOf(pipeline.record);
    expect(purge_at * 1000).toBeGreaterThan(pipeline.clock.now() + 10 * day);
    await resume(pipeline.ports, target, "normal", "olga");
    await pipeline.drain();
    expect(await pipeline.recordOf(pipeline.record)).toMatchObject({ status: "completed" });
  });

  test("a task that expired in its line ends there", async () => {
    const pipeline = await parked({ expires_in_seconds: 600 });
    await pipeline.clock.advance(3 * hour);
    expect(await pass(pipeline)).toMatchObject({ ended: 1 });
    expect(await pipeline.recordOf(pipeline.record)).toMatchObject({ status: "expired" });
  });
});

test("a pass is bounded by its time, and the next one goes on behind it", async () => {
  const pipeline = memoryPipeline([echo]);
  for (let n = 0; n < 350; n++) await pipeline.records.create(newRecord({ status: "processing" }), "2027-01-01");
  const openTasks = new MemoryOpenTasks(pipeline.records);
  let parts = 0;
  const ports = {
    ...pipeline.ports,
    depths: pipeline.queues,
    openTasks: {
      part: async (from: string | undefined) => {
        parts += 1;
        await pipeline.clock.advance(1_000);
        return openTasks.part(from);
      },
    },
  };
  expect(await reconcile(ports, pipeline.clock.now() + 1_500)).toMatchObject({ whole: false, open: 200, next: "200" });
  expect(await reconcile(ports, pipeline.clock.now() + 60_000)).toMatchObject({ whole: true, open: 150 });
  expect(parts).toBe(4);
});

test("an empty table costs one read and one write", async () => {
  const pipeline = memoryPipeline();
  expect(await pass(pipeline)).toMatchObject({ whole: true, open: 0, sent: 0, ended: 0, left: 0 });
  expect(pipeline.records.all()).toEqual([]);
  expect(pipeline.queues.waiting("normal")).toEqual([]);
});

describe("the end of a deployment", () => {
  const type = typeOf(() => 1, { name: "kept", rateLimit: { limit: 1, perSeconds: 10 } });
  const deployed = (pipeline: Pipeline) =>
    fire(pipeline.ports as never, { kind: "deployed" }, pipeline.clock.now() + 60_000);

  /** 130 tasks wait in the line of a pause, and others for their rate. */
  const setUp = async () => {
    const pipeline = memoryPipeline([typeOf(() => 1), type]);
    const pool = workerPool(pipeline);
    const target = { scope: "type", type: "test.task" } as const;
    const pausing = pause(pipeline.ports, target, "olga");
    await pool.pass(3_000);
    await pausing;
    for (let n = 0; n < 130; n++) await pipeline.accept({ type: "test.task" });
    for (let n = 0; n < 5; n++) await pipeline.accept({ type: "kept" });
    await pool.pass(1_000);
    const done = () => pipeline.records.all().filter(({ status }) => status === "completed").length;
    return { ...pipeline, pipeline, pool, target, done };
  };

  test("goes on with lines whose checks a failed release has lost, also of a pause that was resumed then", async () => {
    const { pipeline, pool, target, ports, done } = await setUp();
    await resume(ports, target, "normal", "olga");
    await pipeline.clock.advance(16 * 60_000);
    lose(pipeline);
    await pool.pass(600_000);
    const before = done();
    expect(before).toBeLessThan(10);
    await deployed(pipeline);
    await pool.pass(300_000);
    expect(done()).toBe(135);
  });

  test("sends nothing to a line whose check is on its way, and one check to a line however many tasks wait", async () => {
    const { pipeline, queues } = await setUp();
    const checks = () => queues.waiting("normal").filter(({ body }) => body.startsWith('{"line"')).length;
    const before = checks();
    await deployed(pipeline);
    expect(checks()).toBe(before);
    await pipeline.clock.advance(20 * 60_000);
    lose(pipeline);
    await deployed(pipeline);
    expect(queues.waiting("normal").filter(({ body }) => body.includes("pause/type/test.task"))).toHaveLength(1);
  });

  test("notes its time, once however often it is told, and not without a time", async () => {
    const { ports, clock } = memoryPipeline([echo]);
    const told = (more: object) =>
      fireArrived(ports as never, { payload: { kind: "deployed", ...more } }, clock.now() + 60_000);
    const first = { at: "2027-01-01T14:02:00Z", version: "1.0.0", status: "UPDATE_COMPLETE" };
    for (const more of [first, first, {}, { at: "yesterday" }]) await told(more);
    const starts = (at: string) => told({ at, version: "1.0.0", status: "UPDATE_IN_PROGRESS" });
    await starts("2027-01-01T14:00:00Z");
    await told(first);
    // Nobody heard of the start of this one.
    await told({ ...first, at: "2027-01-01T14:30:00Z" });
    await starts("2027-01-01T14:57:00Z");
    await told({ at: "2027-01-01T15:00:00Z", version: "1.1.0", status: "UPDATE_ROLLBACK_COMPLETE" });
    expect(await ports.deployments.newest()).toEqual([
      {
        started_at: "2027-01-01T14:57:00.000Z",
        deployed_at: "2027-01-01T15:00:00.000Z",
        version: "1.1.0",
        rolled_back: true,
      },
      {
        started_at: "2027-01-01T14:30:00.000Z",
        deployed_at: "2027-01-01T14:30:00.000Z",
        version: "1.0.0",
        rolled_back: false,
      },
      {
        started_at: "2027-01-01T14:02:00.000Z",
        deployed_at: "2027-01-01T14:02:00.000Z",
        version: "1.0.0",
        rolled_back: false,
      },
    ]);
  });

  test("leaves a line that cannot be read now to the daily pass", async () => {
    const { pipeline, lines } = await setUp();
    lines.state = () => Promise.reject(new PortUnavailable("the table"));
    await expect(deployed(pipeline)).resolves.toBe("looked");
  });
});
