import { expect, test } from "vitest";
import { cancel } from "../../../../src/core/control/control.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

function setUp(more: Partial<TaskType> = {}) {
  const calls: { at: number; failed: boolean }[] = [];
  const service = { down: true };
  const type = typeOf(
    async () => {
      calls.push({ at: pipeline.clock.now(), failed: service.down });
      await new Promise<void>((resolve) => pipeline.clock.after(50, resolve));
      if (service.down) throw new Error("down");
    },
    { breaker: { failures: 10, coolDownSeconds: 60 }, maxAttempts: 1, ...more },
  );
  const pipeline = memoryPipeline([type]);
  return { ...pipeline, pipeline, pool: workerPool(pipeline), calls, service };
}

test("ten failures in a row open it; one task tries after each cool-down; its success closes it", async () => {
  const { accept, pool, calls, service, flowSettings, records } = setUp();
  for (let n = 0; n < 10; n++) {
    await accept();
    await pool.pass(1_000);
  }
  expect(await flowSettings.all()).toMatchObject([{ kind: "breaker", name: "breaker/test.task/acme", failures: 10 }]);
  for (let n = 0; n < 20; n++) await accept();
  await pool.pass(30_000);
  expect(calls).toHaveLength(10);
  const waiting = records.all().filter(({ status }) => status === "pending");
  expect(waiting.map(({ waiting_for }) => waiting_for)).toEqual(waiting.map(() => ({ kind: "breaker" })));
  // The first one that tries fails, and the breaker stays open.
  await pool.pass(60_000);
  expect(calls).toHaveLength(11);
  service.down = false;
  await pool.pass(60_000);
  expect(calls.filter(({ failed }) => !failed).length).toBeGreaterThan(0);
  await pool.pass(10_000);
  expect(calls).toHaveLength(30);
  expect(await flowSettings.all()).toEqual([]);
  expect(records.all().filter(({ status }) => status === "completed")).toHaveLength(19);
});

test("a success between failures starts the row anew", async () => {
  const { accept, pool, calls, service, flowSettings } = setUp();
  for (let n = 0; n < 40; n++) {
    service.down = n % 10 !== 9;
    await accept();
    await pool.pass(3_000);
  }
  expect(calls).toHaveLength(40);
  expect(await flowSettings.all()).toEqual([]);
});

test("each tenant has a breaker of its own; a type without one is not counted", async () => {
  const { accept, pool, calls, flowSettings } = setUp({ breaker: { failures: 2, coolDownSeconds: 60 } });
  const beta = { identity: { tenantId: "beta", principal: "p", role: "operator" as const } };
  for (let n = 0; n < 4; n++) {
    await accept();
    await pool.pass(3_000);
  }
  expect(calls).toHaveLength(2);
  await accept({}, beta);
  await pool.pass(1_000);
  expect(calls).toHaveLength(3);
  const plain = setUp({ breaker: undefined });
  await plain.accept();
  await plain.pool.pass(1_000);
  expect(await plain.flowSettings.all()).toEqual([]);
  expect(await flowSettings.all()).toHaveLength(2);
});

test("the worker of the task that tries dies: another one tries", async () => {
  const { accept, pool, calls, service } = setUp({
    breaker: { failures: 2, coolDownSeconds: 5 },
    timeoutSeconds: 20,
    maxAttempts: 5,
    retry: { waitsSeconds: [1] },
  });
  await accept();
  await pool.pass(4_000);
  await accept();
  await accept();
  await pool.pass(1_000);
  expect(calls).toHaveLength(2);
  service.down = false;
  for (let ms = 0; ms < 30_000 && calls.length === 2; ms += 10) await pool.pass(10, 10);
  expect(calls).toHaveLength(3);
  pool.kill(() => 0);
  await pool.pass(300_000);
  expect(calls.length).toBeGreaterThanOrEqual(5);
});

test("of several tasks that were let go to try while their tier was behind, one tries", async () => {
  const { accept, pool, calls, queues, clock, records } = setUp({
    breaker: { failures: 1, coolDownSeconds: 60 },
    timeoutSeconds: 10,
    maxAttempts: 20,
    retry: { waitsSeconds: [1] },
  });
  await accept();
  await pool.pass(2_000, 100);
  for (let n = 0; n < 9; n++) await accept();
  await pool.pass(5_000);
  expect(calls).toHaveLength(1);
  // What is let go from now on comes at one moment.
  const backAt = clock.now() + 300_000;
  const send = queues.send.bind(queues);
  queues.send = (message) =>
    send({ ...message, delaySeconds: Math.max(message.delaySeconds, Math.ceil((backAt - clock.now()) / 1000)) });
  await pool.pass(420_000);
  const gaps = calls.slice(1).map(({ at }, index) => at - (calls[index]?.at ?? 0));
  expect(calls.length).toBeGreaterThan(2);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
  expect(records.all().every(({ status }) => status === "pending")).toBe(true);
});

test("a task that comes after the cool-down tries at once, when none waits", async () => {
  const { accept, pool, calls, service, flowSettings } = setUp({ breaker: { failures: 1, coolDownSeconds: 10 } });
  await accept();
  await pool.pass(30_000);
  service.down = false;
  await accept();
  await pool.pass(3_000);
  expect(calls).toHaveLength(2);
  expect(await flowSettings.all()).toEqual([]);
});

test("an open breaker also stops the tasks that wait for a place, and the one that tries may have to wait for one", async () => {
  const { accept, pool, calls, service, records, lines } = setUp({
    breaker: { failures: 4, coolDownSeconds: 60 },
    concurrency: { limit: 2 },
  });
  for (let n = 0; n < 30; n++) await accept();
  await pool.pass(30_000, 100);
  const counted = calls.length;
  // The second of two places may have begun as the last failure was counted.
  expect(counted).toBeLessThanOrEqual(5);
  await pool.pass(60_000);
  expect(calls).toHaveLength(counted + 1);
  service.down = false;
  await pool.pass(80_000);
  expect(calls).toHaveLength(30);
  expect(records.all().every(({ status }) => status !== "pending")).toBe(true);
  expect((await lines.state("concurrency/test.task/acme/")).permits.size).toBe(0);
});

test("a task that tries and has to wait for its rate's next start still tries then", async () => {
  const { accept, pool, calls, service } = setUp({
    breaker: { failures: 1, coolDownSeconds: 10 },
    rateLimit: { limit: 1, perSeconds: 100 },
  });
  await accept();
  await pool.pass(5_000);
  expect(calls).toHaveLength(1);
  service.down = false;
  await accept();
  await pool.pass(120_000);
  expect(calls).toHaveLength(2);
});

test("tasks that were cancelled in the line take no turn of those that try", async () => {
  const { accept, pool, calls, service, ports } = setUp({ breaker: { failures: 1, coolDownSeconds: 60 } });
  await accept();
  await pool.pass(5_000);
  const waiting = [];
  for (let n = 0; n < 5; n++) waiting.push(await accept());
  await pool.pass(5_000);
  for (const record of waiting.slice(0, 4)) await cancel(ports, record);
  service.down = false;
  await pool.pass(60_000);
  expect(calls).toHaveLength(2);
});

test("the task that tries also does so after it waited for its start", async () => {
  const { accept, pool, calls, service, flowSettings, clock } = setUp({
    breaker: { failures: 1, coolDownSeconds: 10 },
    rateLimit: { limit: 1, perSeconds: 100 },
  });
  for (let n = 0; n < 5; n++) {
    await accept();
    await clock.advance(1);
  }
  await pool.pass(50_000);
  expect(calls).toHaveLength(1);
  service.down = false;
  await pool.pass(600_000);
  expect(calls).toHaveLength(5);
  expect(await flowSettings.all()).toEqual([]);
});

test("a type that has none any more is not stopped by one that is open", async () => {
  const { accept, pool, calls, service, pipeline } = setUp({ breaker: { failures: 2, coolDownSeconds: 60 } });
  for (let n = 0; n < 5; n++) {
    await accept();
    await pool.pass(1_000);
  }
  expect(calls).toHaveLength(2);
  const [type] = pipeline.registry.values();
  (pipeline.registry as Map<string, TaskType>).set("test.task", { ...(type as TaskType), breaker: undefined });
  service.down = false;
  await accept();
  await pool.pass(1_000);
  expect(calls).toHaveLength(3);
  await pool.pass(60_000);
  expect(calls).toHaveLength(6);
});
