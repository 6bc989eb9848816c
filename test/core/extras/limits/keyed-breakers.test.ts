import { expect, test, vi } from "vitest";
import { z } from "zod";
import { cancel } from "../../../../src/core/control/control.ts";
import { closeBreaker } from "../../../../src/core/extras/limits/manage-flow.ts";
import { breakerName } from "../../../../src/core/model/wait-queue.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

type Input = { shop: string };

const key = ({ shop }: Input) => shop;

function setUp(breaker: object = {}, more: Partial<TaskType> = {}) {
  const calls: { at: number; shop: string }[] = [];
  const down = new Set<string>();
  const type = typeOf(
    async ({ shop }: Input) => {
      calls.push({ at: pipeline.clock.now(), shop });
      await new Promise<void>((resolve) => pipeline.clock.after(50, resolve));
      if (down.has(shop)) throw new Error("down");
    },
    {
      input: z.object({ shop: z.string() }),
      breaker: { key: key as never, failures: 2, coolDownSeconds: 60, ...breaker },
      maxAttempts: 1,
      ...more,
    },
  );
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const submit = (shop: string) => pipeline.accept({ input: { shop } });
  const callsOf = (shop: string) => calls.filter((call) => call.shop === shop).length;
  const open = async (shop: string) => {
    down.add(shop);
    for (let n = 0; n < 2; n++) {
      await submit(shop);
      await pool.pass(1_000);
    }
    await pool.pass(3_000);
  };
  return { ...pipeline, pipeline, pool, calls, callsOf, down, submit, open };
}

test("a key whose attempts fail opens its own breaker, lets one task try at a time, and stops no other key", async () => {
  const { submit, pool, callsOf, calls, down, open, flowSettings, records } = setUp();
  await open("north");
  expect(await flowSettings.all()).toMatchObject([
    { kind: "breaker", name: "breaker/test.task/acme/north", failures: 2 },
  ]);
  for (let n = 0; n < 5; n++) {
    await submit("north");
    await submit("south");
  }
  await pool.pass(30_000);
  expect([callsOf("north"), callsOf("south")]).toEqual([2, 5]);
  const waiting = records.all().filter(({ status }) => status === "pending");
  expect(waiting.map(({ line, waiting_for }) => ({ line, waiting_for }))).toEqual(
    Array(5).fill({ line: "breaker/test.task/acme/north", waiting_for: { kind: "breaker" } }),
  );
  await pool.pass(125_000);
  expect(callsOf("north")).toBe(4);
  const tries = calls.filter(({ shop }) => shop === "north").slice(2);
  expect((tries[1]?.at ?? 0) - (tries[0]?.at ?? 0)).toBeGreaterThanOrEqual(60_000);
  down.clear();
  await pool.pass(70_000);
  expect(callsOf("north")).toBe(7);
  expect(await flowSettings.all()).toEqual([]);
});

test("a success of a key ends its own row of failures, and no other's", async () => {
  const { submit, pool, down, flowSettings } = setUp({ failures: 3 });
  down.add("north").add("south");
  await submit("north");
  await submit("south");
  await pool.pass(3_000);
  down.delete("north");
  await submit("north");
  await pool.pass(3_000);
  expect((await flowSettings.all()).map(({ name }) => name)).toEqual(["breaker/test.task/acme/south"]);
});

test("the task that was to try was cancelled: the next one of its key tries", async () => {
  const { submit, pool, callsOf, down, open, ports } = setUp();
  await open("north");
  const first = await submit("north");
  await submit("north");
  await pool.pass(5_000);
  await cancel(ports, first);
  down.clear();
  await pool.pass(70_000);
  expect(callsOf("north")).toBe(3);
});

test("a key that throws, or is none, fails the task for good before its handler, whatever is open", async () => {
  for (const fault of [
    () => {
      throw new Error("no shop");
    },
    () => "",
  ]) {
    const { submit, pool, calls, recordOf, flowSettings } = setUp({ key: fault });
    const task = await submit("north");
    await pool.pass(3_000);
    expect(await recordOf(task)).toMatchObject({ status: "failed", error_kind: "permanent" });
    expect((await recordOf(task)).error).toMatch(/^the key of a breaker: (no shop|breaker\.key returned "")/);
    expect(calls).toEqual([]);
    expect(await flowSettings.all()).toEqual([]);
  }
});

test("a pause comes before the breaker of a key, and its tasks ask no key while they wait", async () => {
  const asked = vi.fn(key);
  const { submit, pool, flowSettings, records } = setUp({ key: asked });
  await flowSettings.put({
    kind: "pause",
    name: "pause/type/test.task",
    since: "2026-01-01T00:00:00.000Z",
    by: "olga",
  });
  await submit("north");
  await pool.pass(5_000);
  expect(records.all()[0]).toMatchObject({ status: "pending", waiting_for: { kind: "pause" } });
  expect(asked).not.toHaveBeenCalled();
});

test("an operator closes the breaker of one key, or those of all keys; the others stay", async () => {
  const { submit, pool, callsOf, down, open, ports, flowSettings } = setUp();
  for (const shop of ["north", "south", "west/1"]) await open(shop);
  down.add("east");
  await submit("east");
  for (const shop of ["north", "south", "west/1"]) await submit(shop);
  await pool.pass(5_000);
  down.clear();
  const acme = { type: "test.task", tenantId: "acme" };
  await closeBreaker(ports, { ...acme, key: "west/1" }, "normal", "olga");
  await pool.pass(15_000);
  expect([callsOf("north"), callsOf("south"), callsOf("west/1")]).toEqual([2, 2, 3]);
  await closeBreaker(ports, acme, "normal", "olga");
  await pool.pass(15_000);
  expect([callsOf("north"), callsOf("south")]).toEqual([3, 3]);
  expect(await flowSettings.all()).toEqual([]);
});

test("of a hundred and fifty keys that fail, a hundred are stopped, and the others run on; another tenant has its own", async () => {
  const { submit, pool, callsOf, down, flowSettings, accept } = setUp({ failures: 1, coolDownSeconds: 86_400 });
  const shops = Array.from({ length: 150 }, (_, n) => `s${n}`);
  for (const shop of shops) {
    down.add(shop);
    await submit(shop);
    await pool.pass(100);
  }
  await pool.pass(5_000);
  expect(await flowSettings.all()).toHaveLength(100);
  for (const shop of shops) await submit(shop);
  await pool.pass(10_000);
  expect(shops.filter((shop) => callsOf(shop) === 2)).toHaveLength(50);
  const beta = { identity: { tenantId: "beta", principal: "p", role: "operator" as const } };
  await accept({ input: { shop: "s0" } }, beta);
  await pool.pass(5_000);
  expect(await flowSettings.find(breakerName("test.task", "beta", "s0"))).toBeDefined();
});

test("a key that fails takes the place of one that has failed less, and never that of an open one", async () => {
  const { submit, pool, down, flowSettings } = setUp({ failures: 2, coolDownSeconds: 86_400 });
  const name = (shop: string) => breakerName("test.task", "acme", shop);
  for (let n = 0; n < 99; n++) await flowSettings.countFailure(name(`open${n}`), 1, 1e15, 1);
  await flowSettings.countFailure(name("closed"), 9, 1e15, 1);
  down.add("north");
  await submit("north");
  await pool.pass(3_000);
  expect(await flowSettings.find(name("closed"))).toBeUndefined();
  expect(await flowSettings.find(name("north"))).toMatchObject({ failures: 1 });
  expect(await flowSettings.all()).toHaveLength(100);
});

test("keys are known where not all breakers are read together, by one read of all keys", async () => {
  const { submit, pool, callsOf, open, flowSettings } = setUp();
  const some = flowSettings.some.bind(flowSettings);
  flowSettings.some = () => some(0);
  await flowSettings.countFailure("breaker/other.type/acme", 9, 5, 1);
  const named = vi.spyOn(flowSettings, "named");
  const find = vi.spyOn(flowSettings, "find");
  await open("north");
  await submit("north");
  await submit("south");
  await pool.pass(1_000);
  expect([callsOf("north"), callsOf("south")]).toEqual([2, 1]);
  expect(named).toHaveBeenCalledWith("breaker/test.task/acme/", 200);
  expect(find.mock.calls.flat().filter((name) => name === "breaker/test.task/acme")).toEqual([]);
});

test("a key that comes with a deployment lets go what waits in the line of the type's own breaker, and the other way round", async () => {
  for (const [before, after] of [
    [undefined, key],
    [key, undefined],
  ]) {
    const { submit, pool, callsOf, pipeline, open } = setUp({ key: before });
    await open("north");
    await submit("north");
    await submit("north");
    await pool.pass(3_000);
    expect(callsOf("north")).toBe(2);
    const [type] = pipeline.registry.values() as Iterable<TaskType>;
    const breaker = { key: after as never, failures: 9, coolDownSeconds: 60 };
    (pipeline.registry as Map<string, TaskType>).set("test.task", { ...(type as TaskType), breaker });
    await pool.pass(70_000);
    expect(callsOf("north")).toBe(4);
  }
});

test("a type whose breaker has no key reads no keys and no input, and asks nothing of them", async () => {
  const { submit, pool, flowSettings, open } = setUp({ key: undefined });
  const named = vi.spyOn(flowSettings, "named");
  await open("north");
  await submit("south");
  await pool.pass(3_000);
  expect(named).not.toHaveBeenCalled();
  expect((await flowSettings.all()).map(({ name }) => name)).toEqual(["breaker/test.task/acme"]);
});
