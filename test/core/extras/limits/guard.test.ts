import { expect, test } from "vitest";
import { closeBreaker, pause, resume } from "../../../../src/core/extras/limits/manage-flow.ts";
import type { PauseTarget } from "../../../../src/core/model/wait-queue.ts";
import type { Pause } from "../../../../src/core/ports/flow.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const forAcme = { scope: "type", type: "test.task", tenantId: "acme" } as const;
const forAll = { scope: "type", type: "test.task" } as const;

/** A type that fails while `service.fails` says so, by the number of its call. */
function setUp(more: Partial<TaskType> = {}) {
  const service: { fails: (call: number) => boolean; ms: number } = { fails: () => true, ms: 50 };
  const calls: string[] = [];
  const type = typeOf(
    async (_input, task: { tenantId: string }) => {
      calls.push(task.tenantId);
      const fails = service.fails(calls.length);
      await new Promise<void>((resolve) => pipeline.clock.after(service.ms, resolve));
      if (fails) throw new Error("down");
    },
    { maxAttempts: 1, ...more },
  );
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const { ports, accept, metrics } = pipeline;
  let counted = 0;
  const add = metrics.add.bind(metrics);
  metrics.add = (name, ...rest) => {
    if (name === "breaker_open") counted += 1;
    return add(name, ...rest);
  };
  const paused = async (target: PauseTarget) => {
    const pausing = pause(ports, target, "olga");
    await pool.pass(3_000);
    await pausing;
  };
  const resumed = (target: PauseTarget) => resume(ports, target, "normal", "olga");
  const of = (tenantId: string) => ({ identity: { tenantId, principal: "p", role: "operator" as const } });
  const acceptMany = async (count: number, tenantId = "acme") => {
    for (let n = 0; n < count; n++) {
      // Tasks wait in the order of their milliseconds.
      await pipeline.clock.advance(1);
      await accept({}, of(tenantId));
    }
  };
  return { ...pipeline, counted: () => counted, pool, service, calls, paused, resumed, acceptMany };
}

test.each([[forAcme], [forAll]])("a resume of %j stops by itself when all attempts fail again", async (target) => {
  const { pool, service, calls, paused, resumed, acceptMany, flowSettings, counted, records } = setUp();
  await paused(target);
  await acceptMany(400);
  await pool.pass(1_000);
  await resumed(target);
  await pool.pass(60_000);
  // Without it all 400 are called within ten seconds.
  expect(calls.length).toBeGreaterThanOrEqual(20);
  expect(calls.length).toBeLessThanOrEqual(60);
  const stopped = calls.length;
  await pool.pass(3_600_000, 60_000);
  expect(calls).toHaveLength(stopped);
  expect(records.all().filter(({ status }) => status === "pending")).toHaveLength(400 - stopped);
  expect(await flowSettings.find("pause/type/test.task/acme")).toMatchObject({
    by: "offload",
    reason: "after the resume, 20 attempts in a row failed again",
  });
  // The alarm on open breakers counts it every four minutes.
  expect(counted()).toBeGreaterThanOrEqual(14);
  // A resume of the same target ends it, when the cause is mended.
  service.fails = () => false;
  await resumed(target);
  await pool.pass(60_000);
  expect(calls).toHaveLength(400);
  expect((await flowSettings.all()).filter(({ kind }) => kind === "pause")).toEqual([]);
});

test("one success in fifteen attempts lets it go on; ten minutes later it is watched no more", async () => {
  const { pool, service, calls, paused, resumed, acceptMany, flowSettings } = setUp();
  await paused(forAcme);
  await acceptMany(200);
  await pool.pass(1_000);
  service.fails = (call) => call % 15 !== 0;
  await resumed(forAcme);
  await pool.pass(600_000, 1_000);
  expect(calls).toHaveLength(200);
  service.fails = () => true;
  await acceptMany(100);
  await pool.pass(60_000);
  expect(calls).toHaveLength(300);
  expect((await flowSettings.all()).filter(({ kind }) => kind === "pause")).toEqual([]);
});

test("a tenant that fails stops itself, and not the others, after a resume for all", async () => {
  const { pool, service, calls, paused, resumed, acceptMany, flowSettings } = setUp();
  await paused(forAll);
  await acceptMany(100, "bad");
  await pool.pass(1_000);
  service.fails = (call) => calls[call - 1] === "bad";
  await resumed(forAll);
  await pool.pass(60_000);
  await acceptMany(50, "good");
  await pool.pass(60_000);
  expect(calls.filter((tenant) => tenant === "good")).toHaveLength(50);
  expect(calls.length).toBeLessThanOrEqual(110);
  const pauses = (await flowSettings.all()).filter(({ kind }) => kind === "pause");
  expect(pauses.map(({ name }) => name)).toEqual(["pause/type/test.task/bad"]);
});

test("a resume for all is guarded, too, when only single tenants were paused by themselves", async () => {
  const { pool, calls, paused, resumed, acceptMany, flowSettings } = setUp();
  await paused(forAll);
  await acceptMany(300);
  await pool.pass(1_000);
  for (let times = 1; times <= 3; times++) {
    await resumed(forAll);
    // The guard of the resume before has ended.
    await pool.pass(660_000, 1_000);
    expect(calls.length).toBeLessThanOrEqual(60 * times);
    expect(await flowSettings.find("pause/type/test.task/acme")).toMatchObject({ by: "offload" });
  }
});

test("twenty tenants that fail stop the type for all, also after a second resume", async () => {
  const { pool, calls, paused, resumed, acceptMany, flowSettings } = setUp();
  await paused(forAll);
  for (let round = 0; round < 20; round++) for (let n = 0; n < 22; n++) await acceptMany(1, `tenant-${n}`);
  await pool.pass(1_000);
  for (let times = 1; times <= 2; times++) {
    await resumed(forAll);
    await pool.pass(120_000);
    expect(calls.length).toBeLessThanOrEqual(80 * times);
    expect(await flowSettings.find("pause/type/test.task")).toMatchObject({
      by: "offload",
      reason: expect.stringContaining("attempts of 20 tenants in a row failed"),
    });
  }
});

test("attempts that ran before the resume do not count, although they fail after it", async () => {
  const { pool, service, calls, paused, resumed, acceptMany, flowSettings } = setUp();
  service.ms = 8_000;
  await acceptMany(40);
  await pool.pass(1_000);
  await paused(forAcme);
  service.fails = (call) => call <= 40;
  await resumed(forAcme);
  // A process that starts a task reads of the guard.
  await acceptMany(1);
  await pool.pass(30_000);
  expect(calls).toHaveLength(41);
  expect((await flowSettings.all()).filter(({ kind }) => kind === "pause")).toEqual([]);
});

test("a tenant's own pause stays after a resume for all", async () => {
  const { paused, resumed, flowSettings } = setUp();
  await paused(forAcme);
  await paused(forAll);
  await resumed(forAll);
  const pauses = (await flowSettings.all()).filter(({ kind }) => kind === "pause");
  expect(pauses.map(({ name }) => name)).toEqual(["pause/type/test.task/acme"]);
});

test("a type with a breaker is stopped by it, after a resume and after its breaker is closed by hand", async () => {
  const { pool, calls, paused, resumed, acceptMany, flowSettings, ports } = setUp({
    breaker: { failures: 10, coolDownSeconds: 3_600 },
  });
  await paused(forAcme);
  await acceptMany(300);
  await pool.pass(1_000);
  await resumed(forAcme);
  await pool.pass(60_000);
  const first = calls.length;
  expect(first).toBeLessThanOrEqual(40);
  await closeBreaker(ports, { type: "test.task", tenantId: "acme" }, "normal", "olga");
  await pool.pass(60_000);
  expect(calls.length - first).toBeGreaterThanOrEqual(10);
  expect(calls.length - first).toBeLessThanOrEqual(40);
  const settings = await flowSettings.all();
  expect(settings.filter(({ kind }) => kind === "pause")).toEqual([]);
  expect(settings.find(({ name }) => name === "breaker/test.task/acme")).toMatchObject({
    openUntilMs: expect.any(Number),
  });
});

test.each([
  [forAcme, "acme", ["acme"], "20 attempts in a row failed again"],
  [forAll, "*", Array.from({ length: 25 }, (_, n) => `tenant-${n}`), "attempts of 20 tenants in a row failed again"],
] as const)(
  "a pause that a type made by itself after the resume of %j is in the audit of %s once",
  async (target, tenantId, tenants, found) => {
    const { pool, paused, resumed, acceptMany, audit, flowSettings } = setUp();
    await paused(target);
    for (let n = 0; n < 75; n++) await acceptMany(1, tenants[n % tenants.length]);
    await pool.pass(1_000);
    await resumed(target);
    await pool.pass(120_000);
    const reason = `after the resume, ${found}`;
    const { items } = await audit.list({ tenantId, limit: 100 });
    const [pause] = (await flowSettings.all()).filter(({ kind }) => kind === "pause") as Pause[];
    expect(items).toMatchObject([
      {
        ...{ actor: "offload", action: "pauseType", target: { type: "test.task" }, status: 200, at: pause?.since },
        request: target === forAll ? { all: true, reason } : { reason },
      },
    ]);
  },
);

test("who pauses at the moment of the last failure is not replaced, and the audit has no second pause", async () => {
  const { pool, paused, resumed, acceptMany, audit, flowSettings } = setUp();
  await paused(forAcme);
  await acceptMany(60);
  await pool.pass(1_000);
  await resumed(forAcme);
  const own: Pause = {
    ...{ kind: "pause", name: "pause/type/test.task/acme" },
    ...{ since: "2027-01-01T00:00:00.000Z", by: "olga" },
  };
  const count = flowSettings.countForGuard.bind(flowSettings);
  flowSettings.countForGuard = async (...given) => {
    const failures = await count(...given);
    if (failures === 20) await flowSettings.put(own);
    return failures;
  };
  await pool.pass(60_000);
  expect(await flowSettings.find(own.name)).toEqual(own);
  expect((await audit.list({ tenantId: "acme", limit: 100 })).items).toEqual([]);
});

test("counts of tenants go away with their next success, and a hundred are kept at most", async () => {
  const { pool, service, calls, paused, resumed, acceptMany, flowSettings } = setUp();
  const tenants = Array.from({ length: 130 }, (_, n) => `tenant-${n}`);
  const counts = async () =>
    (await flowSettings.all()).filter(({ name }) => name.startsWith("guard/pause/type/test.task/")).length;
  await paused(forAll);
  await pool.pass(1_000);
  await resumed(forAll);
  await pool.pass(20_000);
  // A tenant that completes between the others: the type as a whole goes on.
  service.fails = (call) => calls[call - 1] !== "good";
  for (const tenant of tenants) {
    await acceptMany(1, "good");
    await acceptMany(1, tenant);
    await pool.pass(1_000);
  }
  expect(await counts()).toBe(100);
  service.fails = () => false;
  for (const tenant of tenants) await acceptMany(1, tenant);
  await pool.pass(30_000);
  expect(await counts()).toBe(0);
  expect(calls).toHaveLength(3 * tenants.length);
});

test("a type that was not resumed costs no read and no write more", async () => {
  const { pool, calls, acceptMany, flowSettings } = setUp({ timeoutSeconds: 60 });
  let reads = 0;
  const all = flowSettings.all.bind(flowSettings);
  flowSettings.all = () => {
    reads += 1;
    return all();
  };
  await acceptMany(1);
  await pool.pass(1_000);
  expect(calls).toHaveLength(1);
  expect(reads).toBe(1);
  expect(await all()).toEqual([]);
});
