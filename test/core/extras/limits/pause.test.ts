import { describe, expect, test } from "vitest";
import { pause, resume } from "../../../../src/core/extras/limits/manage-flow.ts";
import type { PauseTarget } from "../../../../src/core/model/wait-queue.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits, unique);

function setUp() {
  const ran: string[] = [];
  const handler = async (input: unknown, task: { tenantId: string }) => {
    ran.push(`${task.tenantId} ${String(input)}`);
    await new Promise<void>((resolve) => pipeline.clock.after(100, resolve));
  };
  const other = { ...typeOf(handler), name: "test.other" };
  const pipeline = memoryPipeline([typeOf(handler), other]);
  const pool = workerPool(pipeline);
  const paused = async (target: PauseTarget) => {
    const pausing = pause(pipeline.ports, target, "olga");
    await pool.pass(3_000);
    return pausing;
  };
  const of = (tenantId: string) => ({ identity: { tenantId, principal: "p", role: "operator" as const } });
  return { ...pipeline, pipeline, pool, ran, paused, of };
}

describe.each<[PauseTarget, string[]]>([
  [{ scope: "tier", tier: "normal" }, ["acme high"]],
  [{ scope: "type", type: "test.task" }, ["acme other"]],
  [{ scope: "type", type: "test.task", tenantId: "acme" }, ["acme other", "beta task"]],
  [{ scope: "tenant", tenantId: "acme" }, ["beta task"]],
])("a pause of %j", (target, running) => {
  test("stops its tasks and no others, and resumes each once", async () => {
    const { accept, pool, ran, paused, ports, of, records, queues } = setUp();
    await paused(target);
    await accept({ input: "task" });
    await accept({ input: "task" }, of("beta"));
    await accept({ type: "test.other", input: "other" });
    await accept({ input: "high", priority: "high" });
    await pool.pass(60_000);
    const expected = ["acme task", "beta task", "acme other", "acme high"];
    expect(ran).toEqual(expect.arrayContaining(running));
    const stopped = records.all().filter(({ status }) => status === "pending");
    expect(stopped.map(({ waiting_for }) => waiting_for?.kind)).toEqual(stopped.map(() => "pause"));
    expect(ran).toHaveLength(expected.length - stopped.length);
    // Only a look at the line, now and then.
    expect(queues.waiting("normal").filter(({ body }) => !body.startsWith('{"line":"pause/'))).toEqual([]);
    await resume(ports, target, "normal", "olga");
    await pool.pass(10_000);
    expect(ran.toSorted()).toEqual(expected.toSorted());
  });
});

test("a paused type takes 50 tasks, of which none starts; a new process neither; each runs once after it", async () => {
  const { accept, pool, ran, paused, ports, flow } = setUp();
  const target = { scope: "type", type: "test.task" } as const;
  await paused(target);
  for (let n = 0; n < 50; n++) await accept({ input: n });
  await pool.pass(30_000);
  flow.forget();
  await pool.pass(3_600_000, 60_000);
  expect(ran).toEqual([]);
  await resume(ports, target, "normal", "olga");
  await pool.pass(10_000);
  expect(ran.toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `acme ${n}`).toSorted());
});

test("running attempts finish; a pause returns when no worker starts another task", async () => {
  const { accept, pool, ran, ports, records } = setUp();
  await accept({ input: "before" });
  await pool.pass(50);
  const pausing = pause(ports, { scope: "tier", tier: "normal" }, "olga");
  let returned = false;
  void pausing.then(() => {
    returned = true;
  });
  // A worker that has read the settings just before may start tasks until it reads them again.
  await accept({ input: "meanwhile" });
  await pool.pass(1_500);
  expect(returned).toBe(false);
  await pool.pass(1_500);
  expect(returned).toBe(true);
  const started = ran.length;
  await accept({ input: "after" });
  await pool.pass(60_000);
  expect(ran).toHaveLength(started);
  expect(records.all().filter(({ status }) => status === "completed")).toHaveLength(started);
});

test("a second pause keeps the time of the first one; a resume without a pause does nothing", async () => {
  const { paused, ports, flowSettings, pool } = setUp();
  const target = { scope: "tier", tier: "low" } as const;
  const first = await paused(target);
  const second = await paused(target);
  expect(second).toEqual(first);
  expect(await flowSettings.all()).toEqual([first]);
  await resume(ports, target, "low", "olga");
  await resume(ports, target, "low", "olga");
  await pool.pass(10_000);
  expect(await flowSettings.all()).toEqual([]);
});

test("two pauses: a task starts when both have ended", async () => {
  const { accept, pool, ran, paused, ports } = setUp();
  const tier = { scope: "tier", tier: "normal" } as const;
  const type = { scope: "type", type: "test.task" } as const;
  await paused(tier);
  await paused(type);
  await accept({ input: "one" });
  await pool.pass(1_000);
  await resume(ports, tier, "normal", "olga");
  await pool.pass(20_000);
  expect(ran).toEqual([]);
  await resume(ports, type, "normal", "olga");
  await pool.pass(20_000);
  expect(ran).toEqual(["acme one"]);
});

test("a resume lets at most a hundred tasks go in a second", async () => {
  const { accept, pool, ran, paused, ports } = setUp();
  const target = { scope: "tier", tier: "normal" } as const;
  await paused(target);
  for (let n = 0; n < 350; n++) await accept({ input: n });
  await pool.pass(1_000);
  await resume(ports, target, "normal", "olga");
  await pool.pass(3_300, 100);
  expect(ran.length).toBeGreaterThan(0);
  expect(ran.length).toBeLessThanOrEqual(250);
  await pool.pass(10_000);
  expect(new Set(ran).size).toBe(350);
  expect(ran).toHaveLength(350);
});

test.each<[PauseTarget, number, number]>([
  [{ scope: "tier", tier: "normal" }, 125, 200],
  [{ scope: "type", type: "test.task" }, 50, 100],
])("forty seconds after the resume of %j %i to %i tasks go in a second", async (target, least, most) => {
  const { accept, pool, paused, ports, queues, clock } = setUp();
  await paused(target);
  for (let n = 0; n < 4_500; n++) await accept({ input: n });
  await pool.pass(5_000, 1_000);
  const sent: { at: number; id: string }[] = [];
  const put = queues.put.bind(queues);
  queues.put = (tier, body, more) => {
    const { task_id: id } = JSON.parse(body) as { task_id?: string };
    if (id !== undefined) sent.push({ at: clock.now(), id });
    put(tier, body, more);
  };
  await resume(ports, target, "normal", "olga");
  await pool.pass(42_000, 500);
  const pace = sent.filter(({ at }) => at > clock.now() - 8_000).length / 8;
  expect(pace).toBeGreaterThan(least);
  expect(pace).toBeLessThanOrEqual(most);
  const [first] = sent;
  expect(sent.filter(({ at }) => at < (first?.at ?? 0) + 10_000).length).toBeLessThan(700);
  // Workers that learn of the resume late send their task once more.
  expect(new Set(sent.map(({ id }) => id)).size).toBeGreaterThan(sent.length - 100);
});

test.each([
  ["comes with them", 0, ["a", "b", "noted", "c", "d"]],
  ["comes four minutes later", 240_000, ["a", "b", "c", "d"]],
])("of several checks that find a pause ended one lets the tasks go: the noted one %s", async (_, laterMs, ids) => {
  const { accept, pool, ran, paused, ports, queues, lines, flowSettings, clock } = setUp();
  const target = { scope: "type", type: "test.task" } as const;
  await paused(target);
  for (let n = 0; n < 30; n++) await accept({ input: n });
  await pool.pass(1_000);
  let sent = 0;
  const send = queues.send.bind(queues);
  queues.send = (message) => {
    sent += 1;
    return send(message);
  };
  const { check } = await lines.state("pause/type/test.task");
  await lines.planCheck("pause/type/test.task", { id: "noted", atMs: clock.now() + laterMs }, check);
  await flowSettings.remove("pause/type/test.task");
  ports.flow.forget();
  for (const id of ids)
    await queues.sendCheck({ tier: "normal", check: { line: "pause/type/test.task", check_id: id }, delaySeconds: 0 });
  await pool.pass(20_000);
  expect(ran).toHaveLength(30);
  expect(sent).toBe(30);
});

test("a check lets tasks go when the noted one is lost", async () => {
  const { accept, pool, ran, paused, ports, queues, lines, flowSettings, clock } = setUp();
  const line = "pause/type/test.task";
  await paused({ scope: "type", type: "test.task" });
  await accept({ input: 1 });
  await pool.pass(1_000);
  const { check } = await lines.state(line);
  await lines.planCheck(line, { id: "lost", atMs: clock.now() }, check);
  await flowSettings.remove(line);
  ports.flow.forget();
  await pool.pass(16_000);
  await queues.sendCheck({ tier: "normal", check: { line, check_id: "other" }, delaySeconds: 0 });
  await pool.pass(3_000);
  expect(ran).toEqual(["acme 1"]);
});

test("workers that learn of a resume late send their own task again, and no others", async () => {
  const { accept, pool, ran, paused, ports, queues } = setUp();
  const target = { scope: "tier", tier: "normal" } as const;
  await paused(target);
  for (let n = 0; n < 200; n++) await accept({ input: n });
  await pool.pass(1_000);
  let sent = 0;
  const send = queues.send.bind(queues);
  queues.send = (message) => {
    sent += 1;
    return send(message);
  };
  const resuming = resume(ports, target, "normal", "olga");
  // Tasks that arrive while the workers still heed the pause.
  for (let n = 200; n < 400; n++) {
    await accept({ input: n });
    await pool.pass(10, 10);
  }
  await resuming;
  await pool.pass(60_000);
  expect(ran).toHaveLength(400);
  // One message for each task that waited before; for a new one its submit, and at most once more.
  expect(sent).toBeLessThanOrEqual(200 + 200 * 2 + 20);
});

test("resume that dies before, between or after its writes: a repeat lets all go", async () => {
  for (const dyingCall of ["sendCheck", "remove", "second sendCheck"]) {
    const { accept, pool, ran, paused, ports, flowSettings, queues } = setUp();
    const target = { scope: "tier", tier: "normal" } as const;
    await paused(target);
    await accept({ input: "one" });
    await pool.pass(1_000);
    let checks = 0;
    const dying = {
      ...ports,
      queues: {
        ...queues,
        sendCheck: async (message: Parameters<typeof queues.sendCheck>[0]) => {
          checks += 1;
          if (dyingCall === "sendCheck" || (dyingCall === "second sendCheck" && checks === 2)) throw new Error("dies");
          await queues.sendCheck(message);
        },
      } as unknown as typeof queues,
      flowSettings: {
        find: flowSettings.find.bind(flowSettings),
        remove: async (name: string) => {
          if (dyingCall === "remove") throw new Error("dies");
          await flowSettings.remove(name);
        },
      } as unknown as typeof flowSettings,
    };
    await expect(resume(dying, target, "normal", "olga")).rejects.toThrow("dies");
    await pool.pass(20_000);
    expect(ran).toHaveLength(dyingCall === "second sendCheck" ? 1 : 0);
    await resume(ports, target, "normal", "olga");
    await pool.pass(20_000);
    expect(ran).toEqual(["acme one"]);
  }
});

test("a task is enqueued while its line is resumed: its worker lets it go", async () => {
  const { accept, pool, ran, paused, ports, flowSettings, lines } = setUp();
  const target = { scope: "tier", tier: "normal" } as const;
  await paused(target);
  await accept({ input: "late" });
  const add = lines.add.bind(lines);
  lines.add = async (...given) => {
    // Everything about the resume happens between the worker's look at the settings and its write.
    await flowSettings.remove("pause/tier/normal");
    await add(...given);
  };
  await pool.pass(5_000);
  expect(ran).toEqual(["acme late"]);
  expect(ports.queues.waiting("normal")).toEqual([]);
});

test("a paused tenant's tasks hold no places of a line that all tenants share", async () => {
  const { accept, pool, ran, of, ports, pipeline } = setUp();
  const types = pipeline.registry as Map<string, TaskType>;
  const shared = { limit: 1, scope: "deployment" as const };
  types.set("test.task", { ...(types.get("test.task") as TaskType), concurrency: shared });
  for (let n = 0; n < 60; n++) await accept({ input: n });
  await pool.pass(100, 100);
  await accept({ input: "other" }, of("beta"));
  await pool.pass(1_000, 100);
  const target = { scope: "tenant", tenantId: "acme" } as const;
  await ports.flowSettings.put({ kind: "pause", name: "pause/tenant/acme", since: "", by: "olga" });
  await pool.pass(10_000, 100);
  expect(ran).toContain("beta other");
  expect(ran.length).toBeLessThan(60);
  await resume(ports, target, "normal", "olga");
  await pool.pass(30_000, 100);
  expect(new Set(ran).size).toBe(61);
  expect(ran).toHaveLength(61);
});

test("a unique task has its key as long as it can wait", async () => {
  const { accept, pool, paused, records, uniqueKeys } = setUp();
  await paused({ scope: "tenant", tenantId: "acme" });
  await accept({ input: "task", unique: { key: "a", mode: "existing" } });
  await pool.pass(1_000);
  const [record] = records.all();
  const key = { tenant_id: "acme", type: "test.task", unique_key: record?.unique_key ?? "" };
  expect(record?.waiting_for).toEqual({ kind: "pause", of: "tenant" });
  expect(uniqueKeys.purgeAtOf(key)).toBeGreaterThan(record?.purge_at ?? Number.POSITIVE_INFINITY);
});

describe("a type whose downstream fails again after the resume", () => {
  const target = { scope: "type", type: "test.task", tenantId: "acme" } as const;

  async function resumed(service: { down: boolean | ((call: number) => boolean) }, more: Partial<TaskType> = {}) {
    let calls = 0;
    const handler = async () => {
      const call = ++calls;
      await new Promise<void>((resolve) => pipeline.clock.after(20, resolve));
      if (typeof service.down === "function" ? service.down(call) : service.down) throw new Error("down");
    };
    const pipeline = memoryPipeline([typeOf(handler, { maxAttempts: 1, ...more })]);
    const pool = workerPool(pipeline);
    const pausing = pause(pipeline.ports, target, "olga");
    await pool.pass(3_000);
    await pausing;
    for (let n = 0; n < 300; n++) await pipeline.accept({ input: n });
    await pool.pass(5_000);
    await resume(pipeline.ports, target, "normal", "olga");
    return { ...pipeline, pool, calls: () => calls };
  }

  test("is paused again by itself after 20 failures, with the reason, and a resume later runs each task", async () => {
    const service = { down: true };
    const { pool, calls, flowSettings, ports, records } = await resumed(service);
    await pool.pass(30_000, 50);
    await pool.pass(570_000, 1_000);
    expect(calls()).toBeLessThanOrEqual(40);
    const reason = "after the resume, 20 attempts in a row failed again";
    expect(await flowSettings.all()).toMatchObject([{ name: "pause/type/test.task/acme", by: "offload", reason }]);
    const failed = records.all().filter(({ status }) => status === "failed").length;
    expect(failed).toBe(calls());
    service.down = false;
    await resume(ports, target, "normal", "olga");
    await pool.pass(60_000, 50);
    expect(records.all().filter(({ status }) => status === "completed")).toHaveLength(300 - failed);
  });

  test("goes on when some attempts succeed, and when they fail after ten minutes", async () => {
    const service: { down: boolean | ((call: number) => boolean) } = { down: (call) => call % 4 !== 0 };
    const { pool, calls, accept } = await resumed(service);
    await pool.pass(60_000, 50);
    expect(calls()).toBe(300);
    await pool.pass(600_000 - 60_000, 5_000);
    service.down = true;
    for (let n = 0; n < 40; n++) await accept({ input: n });
    await pool.pass(60_000, 50);
    expect(calls()).toBe(340);
  });
});
