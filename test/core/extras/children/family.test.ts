import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { cancelChildren } from "../../../../src/core/control/cancel-others.ts";
import { cancel, retry } from "../../../../src/core/control/control.ts";
import { listChildren } from "../../../../src/core/control/list.ts";
import { Spawner } from "../../../../src/core/extras/children/spawner.ts";
import type { Envelope } from "../../../../src/core/model/envelope.ts";
import { AttemptCrashed, PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import { type Leaf, treeOver } from "../../../../src/core/model/family-node.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import type { Status } from "../../../../src/core/model/words.ts";
import { leafOf } from "../../../../src/core/pipeline/end/child-results.ts";
import { childrenOf } from "../../../../src/core/pipeline/end/view.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { Submittable } from "../../../../src/core/task/handler-submit.ts";
import type { Children } from "../../../../src/core/task/result.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations);

/** Numbers of the children that fail, for as long as they are in the set. */
function familyOf(failing = new Set<number>(), options: { threshold?: number; aggregates?: boolean } = {}) {
  const ran: number[] = [];
  const child = defineTask({
    name: "child",
    input: z.object({ n: z.int() }),
    handler: ({ n }) => {
      ran.push(n);
      if (failing.has(n)) throw new PermanentError(`child ${n}`);
      return { n };
    },
  });
  const parent = defineTask({
    name: "parent",
    input: z.object({ children: z.int() }),
    children: { threshold: options.threshold ?? 1 },
    maxAttempts: 3,
    ...(options.aggregates === false
      ? {}
      : {
          aggregate: async ({ total, completed, failed, results }: Children) => {
            let sum = 0;
            for await (const { status, result } of results()) {
              if (status === "completed") sum += (result as { n: number }).n;
            }
            return { total, completed, failed, sum };
          },
        }),
    handler: async ({ children }, task) => {
      await task.spawnAll(
        child,
        Array.from({ length: children }, (_, n) => ({ n: n + 1 })),
      );
    },
  });
  const pipeline = memoryPipeline([parent, child]);
  return { ...pipeline, ran };
}

const keyOf = ({ tenant_id, task_id }: TaskRecord) => ({ tenant_id, task_id });

describe("a family", () => {
  test.each([1, 2, 99, 100, 101, 250])(
    "of %d children ends with one aggregation of their results",
    async (children) => {
      const family = familyOf();
      const { task_id, tenant_id } = await family.accept({ input: { children } });
      await family.drain();
      const record = await family.recordOf({ task_id, tenant_id });
      expect(record).toMatchObject({
        status: "completed",
        result: { total: children, completed: children, failed: 0, sum: (children * (children + 1)) / 2 },
      });
      expect(family.ran.sort((a, b) => a - b)).toEqual(Array.from({ length: children }, (_, n) => n + 1));
    },
  );

  test("without children has the aggregation of none, in the same attempt", async () => {
    const family = familyOf();
    const parent = await family.accept({ input: { children: 0 } });
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "completed",
      attempts: 1,
      result: { total: 0, completed: 0, failed: 0, sum: 0 },
    });
  });

  test("fails when fewer than its threshold completed, and its new round starts only those again", async () => {
    const failing = new Set([3, 30, 120]);
    const family = familyOf(failing);
    const parent = await family.accept({ input: { children: 150 } });
    await family.drain();
    const failed = await family.recordOf(keyOf(parent));
    expect(failed).toMatchObject({
      status: "failed",
      error_kind: "children_failed",
      error: "147 of 150 children completed, expected at least 150: 3 failed, 0 cancelled, 0 expired",
      family_counts: { completed: 147, failed: 3, cancelled: 0, expired: 0 },
    });
    expect(failed.buried_at).toBeDefined();
    failing.clear();
    family.ran.length = 0;
    await retry(family.ports, failed);
    await family.drain();
    expect(family.ran.sort((a, b) => a - b)).toEqual([3, 30, 120]);
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "completed",
      result: { total: 150, completed: 150, failed: 0, sum: (150 * 151) / 2 },
    });
  });

  test("completes with failed children above its threshold; without aggregate the result is the counts", async () => {
    const family = familyOf(new Set([1, 2]), { threshold: 0.95, aggregates: false });
    const parent = await family.accept({ input: { children: 40 } });
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "completed",
      result: { total: 40, completed: 38, failed: 2, cancelled: 0, expired: 0 },
    });
  });
});

/** A type as a handler names it that cannot import it. */
const byName = (name: string): Submittable => ({ name });

/** A type whose handler and options a test gives, over children that do as their input says. */
function pipelineRunning(handler: (input: never, task: TaskContext) => unknown, options: Partial<TaskType> = {}) {
  const ran: string[] = [];
  const leaf = defineTask({
    name: "leaf",
    input: z.object({ name: z.string(), fails: z.boolean().default(false) }),
    handler: ({ name, fails }) => {
      ran.push(name);
      if (fails) throw new PermanentError(name);
      return name;
    },
  });
  const parent = typeOf(handler as TaskType["handler"], { name: "parent", maxAttempts: 3, children: {}, ...options });
  return { ...memoryPipeline([parent, leaf]), ran };
}

describe("a spawn that is refused", () => {
  const noType = { name: "leef" };
  const badInput = { name: 7 };

  test.each<[string, (task: TaskContext) => unknown, number]>([
    ["the only one, of a type that does not exist", (task) => task.spawn(noType, {}), 0],
    [
      "the last one",
      async (task) => {
        for (const name of ["a", "b"]) await task.spawn(byName("leaf"), { name });
        await task.spawn(byName("leaf"), badInput);
      },
      2,
    ],
    [
      "one of many pages",
      async (task) => {
        const inputs = Array.from({ length: 250 }, (_, n) => (n === 120 ? badInput : { name: `${n}` }));
        await task.spawnAll(byName("leaf"), inputs);
      },
      Number.NaN,
    ],
  ])("is no open child of the failed task: %s", async (_, spawn, created) => {
    const family = pipelineRunning((_input, task) => spawn(task));
    const parent = await family.accept();
    await family.drain();
    const record = await family.recordOf(keyOf(parent));
    expect(record).toMatchObject({ status: "failed", attempts: 1, error_kind: "permanent" });
    const children = await childrenOf(family.ports, record);
    expect(children).toMatchObject({ open: 0, total: family.ran.length, completed: family.ran.length });
    if (!Number.isNaN(created)) expect(family.ran).toHaveLength(created);
  });

  test("counts again in the round in which it is accepted", async () => {
    const input = { name: 7 as unknown };
    const family = pipelineRunning(async (_, task) => {
      await task.spawn(byName("leaf"), { name: "a" });
      await task.spawn(byName("leaf"), input);
    });
    const parent = await family.accept();
    await family.drain();
    const failed = await family.recordOf(keyOf(parent));
    await retry(family.ports, failed);
    await family.drain();
    expect(await childrenOf(family.ports, await family.recordOf(keyOf(parent)))).toMatchObject({ total: 1, open: 0 });
    input.name = "b";
    await retry(family.ports, await family.recordOf(keyOf(parent)));
    await family.drain();
    const done = await family.recordOf(keyOf(parent));
    expect(done.status).toBe("completed");
    expect(await childrenOf(family.ports, done)).toMatchObject({ total: 2, open: 0, completed: 2 });
  });
});

describe("the children of an attempt that dies", () => {
  test("are spawned once, whatever the next attempt spawned before its own death", async () => {
    const dies = new Set([1, 2]);
    const family = pipelineRunning(
      async (_, task) => {
        for (let n = 0; n < 130; n++) {
          if (n === 120 && dies.delete(task.attempt)) throw new Error("connection lost");
          await task.spawn(byName("leaf"), { name: `${n}` });
        }
      },
      { aggregate: (children) => children.total },
    );
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: 130, attempts: 4 });
    expect(family.ran.sort()).toEqual(Array.from({ length: 130 }, (_, n) => `${n}`).sort());
  });

  test("stay tasks of their own when the last attempt of the parent fails; the failed parent has no counts", async () => {
    const family = pipelineRunning(async (_, task) => {
      await task.spawnAll(byName("leaf"), [{ name: "a" }, { name: "b" }], {
        key: (input) => (input as { name: string }).name,
      });
      throw new PermanentError("the list is broken");
    });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "failed", error: "the list is broken" });
    expect(family.ran).toEqual(["a", "b"]);
  });

  test("with one key for two of them is refused, as work would be lost", async () => {
    const family = pipelineRunning(async (_, task) => {
      await task.spawnAll(byName("leaf"), [{ name: "a" }, { name: "b" }], { key: () => "same" });
    });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "failed",
      error_kind: "permanent",
      error: 'two children have the key "same": each child needs its own',
    });
  });

  test.each<[string, (task: TaskContext, keys: [string, string]) => Promise<unknown>]>([
    [
      "spawn",
      async (task, [first, second]) => {
        await task.spawn(byName("leaf"), { name: "a" }, { key: first });
        await task.spawn(byName("leaf"), { name: "b" }, { key: second });
      },
    ],
    ["spawnAll", (task, keys) => task.spawnAll(byName("leaf"), keys, { key: (name) => name as string })],
    [
      "submit",
      async (task, [first, second]) => {
        await task.submit(byName("leaf"), { name: "a" }, { key: first });
        await task.submit(byName("leaf"), { name: "b" }, { key: second });
      },
    ],
  ])("with half a character in a key of %s are refused: two such keys would be one task", async (_, act) => {
    const family = pipelineRunning((_input, task) => act(task, ["order-\ud800", "order-\udc00"]));
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "failed",
      error_kind: "permanent",
      attempts: 1,
      error: expect.stringContaining("key must be a text without half a character"),
    });
    expect(family.ran).toEqual([]);
  });

  test("are created in the same attempt when a table or queue refuses them for a moment", async () => {
    const family = pipelineRunning(
      (_, task) =>
        task.spawnAll(
          byName("leaf"),
          Array.from({ length: 20 }, (_, n) => ({ name: `${n}` })),
        ),
      { maxAttempts: 1 },
    );
    const { send } = family.queues;
    let refusals = 30;
    family.queues.send = async (message) => {
      if (message.envelope.type === "leaf" && refusals-- > 0) throw new PortUnavailable("the queue");
      return send.call(family.queues, message);
    };
    const parent = await family.accept();
    const working = family.work();
    for (let seconds = 0; seconds < 10; seconds++) {
      await new Promise(setImmediate);
      await family.clock.advance(1_000);
    }
    await working;
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: { completed: 20 } });
  });
});

describe("a child that is replayed by itself", () => {
  test("and has not ended when its parent is retried counts in the parent's new round", async () => {
    const failing = new Set(["1"]);
    const leaf = typeOf(
      (input) => {
        const { name } = input as { name: string };
        if (failing.has(name)) throw new PermanentError(name);
        return name;
      },
      { name: "leaf" },
    );
    const root = typeOf(
      (_, task) =>
        task.spawnAll(
          byName("leaf"),
          ["0", "1", "2"].map((name) => ({ name })),
          { priority: "low" },
        ),
      { name: "root", children: {} },
    );
    const family = memoryPipeline([root, leaf]);
    const parent = await family.accept();
    await family.drain();
    const failed = await family.recordOf(keyOf(parent));
    expect(failed.error_kind).toBe("children_failed");
    failing.clear();
    const { items } = await listChildren(family.ports, failed, "failed", { limit: 10, from: undefined });
    for (const child of items) await retry(family.ports, child);
    await retry(family.ports, failed);
    await family.work("normal");
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: { completed: 3 } });
  });

  test("after its parent's end changes the child, and not the parent", async () => {
    const failing = new Set([2]);
    const family = familyOf(failing, { threshold: 0.5 });
    const parent = await family.accept({ input: { children: 4 } });
    await family.drain();
    const before = await family.recordOf(keyOf(parent));
    expect(before).toMatchObject({ status: "completed", result: { failed: 1 } });
    failing.clear();
    const { items } = await listChildren(family.ports, before, "failed", { limit: 10, from: undefined });
    for (const child of items) await retry(family.ports, child);
    await family.drain();
    expect(await family.recordOf(keyOf(items[0] as TaskRecord))).toMatchObject({ status: "completed" });
    expect(await family.recordOf(keyOf(parent))).toEqual(before);
  });
});

describe("sealing", () => {
  test("by an attempt that lost its lease is refused after a later one has sealed", async () => {
    const family = pipelineRunning(() => null);
    const record = await family.accept();
    const spawnerOf = (attempt: number) =>
      new Spawner({ ...family.ports, nodeSize: 2 }, { ...record, attempts_total: attempt }, undefined);
    const change = family.records.change.bind(family.records);
    // Both attempts believe that they hold the lease.
    family.ports.records.change = async (key, { when: _, ...rest }) => change(key, { ...rest, when: {} });
    const [late, next] = [spawnerOf(1), spawnerOf(2)];
    for (const spawner of [late, next]) {
      for (const name of ["a", "b", "c"]) await spawner.spawn({ type: "leaf", input: { name } });
    }
    const sealed = await next.seal(async () => new Map());
    expect(sealed).toMatchObject({ total: 3, root: expect.stringContaining(".t2.") });
    const leaf = await family.families.read(record, leafOf(record, 0));
    expect(leaf?.up?.node).toBe(sealed?.root);
    await expect(late.seal(async () => new Map())).rejects.toThrow(AttemptCrashed);
    expect(await family.families.read(record, leafOf(record, 0))).toEqual(leaf);
  });
});

describe("a parent that waits", () => {
  test("needs no further message: a second one is dropped and changes nothing", async () => {
    const family = pipelineRunning((_, task) => task.spawn(byName("leaf"), { name: "a" }, { delaySeconds: 60 }));
    const parent = await family.accept();
    const [first] = family.queues.waiting("normal");
    await family.work();
    const waiting = await family.recordOf(keyOf(parent));
    expect(waiting.family_state).toBe("waiting");
    const envelope: Envelope = JSON.parse(first?.body ?? "");
    await family.queues.send({ tier: "normal", envelope, delaySeconds: 0, solo: false, redrives: 0 });
    expect(await family.work()).toEqual(["done"]);
    expect(await family.recordOf(keyOf(parent))).toEqual(waiting);
  });
});

describe("a nested family", () => {
  test("ends from its leaves upwards", async () => {
    const family = pipelineRunning(
      async (input: { depth: number }, task) => {
        for (const side of ["l", "r"]) {
          if (input.depth === 0) await task.spawn(byName("leaf"), { name: side }, { key: side });
          else await task.spawn(byName("parent"), { depth: input.depth - 1 }, { key: side });
        }
      },
      {
        aggregate: async (children) => {
          let leaves = 0;
          for await (const { result } of children.results()) leaves += typeof result === "number" ? result : 1;
          return leaves;
        },
      },
    );
    const parent = await family.accept({ input: { depth: 3 } });
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: 16 });
  });

  test("fails at the level whose children failed, and one retry of the root runs only the failed branch", async () => {
    const broken = new Set(["1.1"]);
    const ran: string[] = [];
    const leaf = typeOf(
      (input) => {
        const { name } = input as { name: string };
        ran.push(name);
        if (broken.has(name)) throw new PermanentError(name);
      },
      { name: "leaf" },
    );
    const middle = typeOf(
      async (input, task) => {
        const { name } = input as { name: string };
        await task.spawnAll(
          byName("leaf"),
          [0, 1].map((n) => ({ name: `${name}.${n}` })),
        );
      },
      { name: "middle", children: {} },
    );
    const root = typeOf(
      async (_, task) => {
        await task.spawnAll(
          byName("middle"),
          [0, 1].map((n) => ({ name: `${n}` })),
        );
      },
      { name: "root", children: {} },
    );
    const family = memoryPipeline([root, middle, leaf]);
    const parent = await family.accept();
    await family.drain();
    const failed = await family.recordOf(keyOf(parent));
    expect(failed).toMatchObject({ status: "failed", error_kind: "children_failed" });
    broken.clear();
    ran.length = 0;
    await retry(family.ports, failed);
    await family.drain();
    expect(ran).toEqual(["1.1"]);
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: { completed: 2 } });
  });
});

describe("the attempt that aggregates", () => {
  test("is retried by the type's policy, with attempts of its own", async () => {
    let fails = 2;
    const family = pipelineRunning((_, task) => task.spawn(byName("leaf"), { name: "a" }), {
      maxAttempts: 3,
      aggregate: () => {
        fails -= 1;
        if (fails >= 0) throw new Error("report store is down");
        return "stored";
      },
    });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: "stored", attempts: 4 });
    expect(family.ran).toEqual(["a"]);
  });

  test("fails the parent when its attempts are used up, and the parent's new round aggregates again without new children", async () => {
    let broken = true;
    const family = pipelineRunning((_, task) => task.spawn(byName("leaf"), { name: "a" }), {
      maxAttempts: 2,
      aggregate: () => {
        if (broken) throw new Error("report store is down");
        return "stored";
      },
    });
    const parent = await family.accept();
    await family.drain();
    const failed = await family.recordOf(keyOf(parent));
    expect(failed).toMatchObject({ status: "failed", error: "report store is down" });
    broken = false;
    await retry(family.ports, failed);
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: "stored" });
    expect(family.ran).toEqual(["a"]);
  });
});

describe("a type", () => {
  test("without the option children cannot spawn", async () => {
    const family = pipelineRunning((_, task) => task.spawn(byName("leaf"), { name: "a" }), { children: undefined });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "failed",
      error: "task.spawn: the type parent spawns children, so it needs the option children, such as {}",
    });
  });

  test("whose threshold returns no share fails for good", async () => {
    const family = pipelineRunning((_, task) => task.spawn(byName("leaf"), { name: "a" }), {
      children: { threshold: () => 95 },
    });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "failed",
      error: "children.threshold returned 95; expected a number from 0 to 1",
    });
  });

  test.each([
    [
      { children: { threshold: 1.5 } },
      "children.threshold must be a number from 0 to 1, or a function that is not async, got 1.5",
    ],
    [
      { children: { threshold: -0.1 } },
      "children.threshold must be a number from 0 to 1, or a function that is not async, got -0.1",
    ],
    [
      { children: { threshold: Number.NaN } },
      "children.threshold must be a number from 0 to 1, or a function that is not async, got NaN",
    ],
    [{ aggregate: () => 1 }, "aggregate needs the option children, such as {}"],
  ])("with %j is refused", (options, message) => {
    expect(() => defineTask({ name: "a", input: z.object({}), handler: () => 1, ...options })).toThrow(message);
  });
});

describe("cancelling a parent", () => {
  test("ends it now, and its open children by a task of Offload's own", async () => {
    const family = pipelineRunning((_, task) =>
      task.spawnAll(
        byName("leaf"),
        Array.from({ length: 250 }, (_, n) => ({ name: `${n}` })),
        { delaySeconds: 600 },
      ),
    );
    const parent = await family.accept();
    await family.work();
    const waiting = await family.recordOf(keyOf(parent));
    expect(waiting).toMatchObject({ status: "processing", family_state: "waiting" });
    expect(await cancel(family.ports, waiting)).toMatchObject({ status: "cancelled" });
    expect(await cancelChildren(family.ports, keyOf(parent))).toBe(250);
    expect(await cancelChildren(family.ports, keyOf(parent))).toBe(0);
    await family.drain().catch(() => {});
    expect(family.ran).toEqual([]);
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "cancelled" });
  });

  test("leaves the children of a parent alone that was not cancelled after all", async () => {
    const family = pipelineRunning((_, task) => task.spawn(byName("leaf"), { name: "a" }));
    const parent = await family.accept();
    await family.work();
    expect(await cancelChildren(family.ports, keyOf(parent))).toBe(0);
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed" });
  });

  test("while its handler spawns stops the handler and cancels what it spawned", async () => {
    const family = pipelineRunning(async (_, task) => {
      for (let n = 0; n < 100; n++) await task.spawn(byName("leaf"), { name: `${n}` });
      await cancel(family.ports, await family.recordOf({ tenant_id: task.tenantId, task_id: task.taskId }));
      for (let n = 100; n < 130; n++) await task.spawn(byName("leaf"), { name: `${n}` });
    });
    const parent = await family.accept();
    await family.work();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "cancelled" });
    const before = family.ran.length;
    expect(await cancelChildren(family.ports, keyOf(parent))).toBeGreaterThanOrEqual(100 - before);
    await family.drain().catch(() => {});
    expect(family.ran.length).toBe(before);
  });

  test("just before it waits costs its record no write for the ends of its children", async () => {
    const family = pipelineRunning((_, task) =>
      task.spawnAll(byName("leaf"), [{ name: "a" }, { name: "b" }], { delaySeconds: 600 }),
    );
    const parent = await family.accept();
    const { families, records } = family.ports;
    const seal = families.seal.bind(families);
    vi.spyOn(families, "seal").mockImplementationOnce(async (...given) => {
      await cancel(family.ports, await family.recordOf(keyOf(parent)));
      return seal(...given);
    });
    await family.work();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "cancelled" });
    const change = vi.spyOn(records, "change");
    expect(await cancelChildren(family.ports, keyOf(parent))).toBe(2);
    expect(change.mock.calls.filter(([key]) => key.task_id === parent.task_id)).toEqual([]);
  });
});

describe("the list of children", () => {
  test("has every child once, in order, page by page, also by status", async () => {
    const failing = new Set([5, 50, 150]);
    const family = familyOf(failing, { threshold: 0.5 });
    const parent = await family.accept({ input: { children: 230 } });
    await family.drain();
    const record = await family.recordOf(keyOf(parent));
    const list = async (status: Status | undefined, limit: number) => {
      const ids: string[] = [];
      let from: string | undefined;
      do {
        const page = await listChildren(family.ports, record, status, { limit, from });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        ids.push(...page.items.map(({ task_id }) => task_id));
        from = page.next;
      } while (from !== undefined);
      return ids;
    };
    const all = await list(undefined, 7);
    expect(all).toHaveLength(230);
    expect(new Set(all).size).toBe(230);
    expect(await list(undefined, 100)).toEqual(all);
    expect(await list("failed", 2)).toEqual([4, 49, 149].map((place) => all[place]));
    expect(await list("pending", 10)).toEqual([]);
  });
});

describe("a task that has the id of an earlier one", () => {
  test("counts its own children only", async () => {
    const family = familyOf();
    const call = { idempotencyKey: "newsletter" };
    const body = { input: { children: 3 }, retention_seconds: 60 };
    const first = await family.accept(body, call);
    await family.drain();
    await family.clock.advance(61_000);
    const second = await family.accept({ ...body, input: { children: 5 } }, call);
    expect(second.task_id).toBe(first.task_id);
    await family.drain();
    expect(await family.recordOf(keyOf(second))).toMatchObject({ result: { total: 5, completed: 5, sum: 15 } });
    expect(family.ran).toHaveLength(8);
  });
});

describe("the tree of a family", () => {
  test.each([1, 2, 99, 100, 101, 1_000, 10_001])(
    "over %d leaves has one root and at most 100 places in a node",
    (count) => {
      const leaves = Array.from({ length: count }, (_, page): Leaf => [`1.${page}`, "1".repeat(100)]);
      const { root, nodes } = treeOver(leaves, "t1");
      const byName = new Map(nodes);
      expect(byName.size).toBe(nodes.length);
      for (const [name, { up, below, members }] of nodes) {
        expect(members.length).toBeLessThanOrEqual(100);
        expect(up === undefined).toBe(name === root);
        if (up !== undefined) expect(byName.get(up.node)?.below?.[up.place]).toBe(name);
        if (below !== undefined) expect(below).toHaveLength(members.length);
      }
      expect(nodes.filter(([, { below }]) => below === undefined).map(([name]) => name)).toEqual(
        leaves.map(([name]) => name),
      );
    },
  );
});
