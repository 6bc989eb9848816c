import { describe, expect, test } from "vitest";
import * as z from "zod";
import { cancel, extend, retry } from "../../../../src/core/control/control.ts";
import { listChildren } from "../../../../src/core/control/list.ts";
import { submitChild } from "../../../../src/core/extras/children/child.ts";
import { pause } from "../../../../src/core/extras/limits/manage-flow.ts";
import { signal } from "../../../../src/core/extras/steps/signal.ts";
import { PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import { countEnd } from "../../../../src/core/pipeline/end/close-family.ts";
import { viewTask } from "../../../../src/core/pipeline/end/view.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { ChildSubmit } from "../../../../src/core/task/handler-submit.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { limits } from "../../../support/parts/limits.ts";
import { operations } from "../../../support/parts/operations.ts";
import { rescue } from "../../../support/parts/rescue.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, limits, operations, rescue);

const day = 86_400;

/** A parent with a handler that a test gives, over children that note how often they ran. */
function familyOf(handler: (task: TaskContext<never>) => unknown, options: Partial<TaskType> = {}) {
  const runs = new Map<string, number>();
  const failing = new Set<string>();
  const leaf = defineTask({
    name: "leaf",
    input: z.object({ n: z.unknown() }),
    maxAttempts: 1,
    handler: ({ n }) => {
      runs.set(String(n), (runs.get(String(n)) ?? 0) + 1);
      if (failing.has(String(n))) throw new PermanentError(`child ${n}`);
      return n;
    },
  });
  const parent = typeOf((_, task) => handler(task as TaskContext<never>), {
    name: "parent",
    maxAttempts: 3,
    children: {},
    timeoutSeconds: 60,
    ...options,
  });
  const pipeline = memoryPipeline([parent, leaf]);
  pipeline.ports.submitChild = (task, child, key) => submitChild(pipeline.ports)(task, child as ChildSubmit, key);
  const ids: string[] = [];
  /** Spawns a child and notes its id. */
  const spawn = async (task: TaskContext<never>, n: unknown, key?: string) => {
    ids.push(await task.spawn({ type: "leaf", input: { n }, ...(key !== undefined && { key }) }));
  };
  const spawnMany = async (task: TaskContext<never>, count: number, from = 0) => {
    for (let n = from; n < from + count; n++) await spawn(task, n);
  };
  /** Every id that a spawn returned names a task, and each child ran once. */
  const expectAll = async (count: number) => {
    expect(new Set(ids).size).toBe(count);
    for (const task_id of ids) await pipeline.recordOf({ tenant_id: "acme", task_id });
    expect(runs.size).toBe(count);
    expect([...runs.values()].every((times) => times === 1)).toBe(true);
  };
  return { ...pipeline, runs, failing, ids, spawn, spawnMany, expectAll };
}

type Family = ReturnType<typeof familyOf>;

const keyOf = ({ tenant_id, task_id }: TaskRecord) => ({ tenant_id, task_id });

async function endOf(family: Family) {
  const parent = await family.accept();
  await family.drain();
  return family.recordOf(keyOf(parent));
}

describe("each id that a spawn returned names a child, for which the parent waits", () => {
  test.each([10, 150])("of %d spawns in a step before a sleep", async (count) => {
    const family: Family = familyOf(async (task) => {
      await task.step("fan out", () => family.spawnMany(task, count));
      await task.sleep(3600);
    });
    expect(await endOf(family)).toMatchObject({ status: "completed", result: { total: count, completed: count } });
    await family.expectAll(count);
  });

  test("of spawns in a step of an attempt that fails later", async () => {
    const family: Family = familyOf(async (task) => {
      await task.step("fan out", () => family.spawnMany(task, 10));
      if (task.attempt === 1) throw new Error("connection lost");
    });
    expect(await endOf(family)).toMatchObject({ status: "completed", result: { total: 10, completed: 10 } });
    await family.expectAll(10);
  });

  test("of spawns in an attempt that fails, or times out", async () => {
    const family: Family = familyOf(
      async (task) => {
        if (task.attempt === 3) return;
        await family.spawn(task, task.attempt, `${task.attempt}`);
        if (task.attempt === 1) throw new Error("connection lost");
        await new Promise(() => {});
      },
      { timeoutSeconds: 5 },
    );
    const parent = await family.accept();
    await family.work();
    const working = family.drain();
    for (let seconds = 0; seconds < 60; seconds++) {
      await new Promise(setImmediate);
      await family.clock.advance(1000);
    }
    await working;
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: { total: 2 } });
    await family.expectAll(2);
  });

  test.each([
    ["keys of their own", true],
    ["default keys", false],
  ])("of three pages with checkpoints and %s", async (_, keyed) => {
    const family: Family = familyOf(async (task) => {
      const page = (task.state as number | undefined) ?? 0;
      for (let n = 0; n < 50; n++) await family.spawn(task, page * 50 + n, keyed ? `${page}.${n}` : undefined);
      if (page === 2) return;
      await task.checkpoint((page + 1) as never);
      await task.continueLater();
    });
    expect(await endOf(family)).toMatchObject({ status: "completed", result: { total: 150, completed: 150 } });
    await family.expectAll(150);
  });

  test("of spawns in aggregate, whose result counts", async () => {
    let aggregated = 0;
    const family: Family = familyOf((task) => family.spawnMany(task, 2), {
      aggregate: async ({ total }, task) => {
        aggregated += 1;
        await family.spawnMany(task as TaskContext<never>, 5, 100);
        return { total };
      },
    });
    const parent = await family.accept();
    for (let rounds = 0; rounds < 3; rounds++) await family.work();
    const record = await family.recordOf(keyOf(parent));
    expect(await viewTask(family.ports, record)).toMatchObject({ children: { total: 7 } });
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({
      status: "completed",
      result: { total: 2 },
      family_counts: { completed: 7 },
    });
    expect(aggregated).toBe(1);
    await family.expectAll(7);
  });

  test("of a spawn before a wait: the child can send the parent its signal", async () => {
    const child = typeOf(
      async (_, task) => {
        const records = [...pipeline.records.all()].filter(({ type }) => type === "parent");
        await signal(pipeline.ports, records[0] as TaskRecord, "hello", task.taskId);
      },
      { name: "leaf" },
    );
    const parentType = typeOf(
      async (_, task) => {
        await task.spawn({ type: "leaf" });
        heard.push(await task.waitFor("hello", { timeoutSeconds: 3600 }));
      },
      { name: "parent", children: {} },
    );
    const heard: unknown[] = [];
    const pipeline = memoryPipeline([parentType, child]);
    await pipeline.accept();
    await pipeline.drain();
    expect(heard).toEqual([expect.any(String)]);
  });

  test("and the children of a step that an attempt skips keep their ids beside others", async () => {
    const family: Family = familyOf(async (task) => {
      await task.step("first", () => family.spawnMany(task, 3));
      await family.spawn(task, "between");
      if (task.attempt === 1) throw new Error("connection lost");
      await task.step("second", () => family.spawnMany(task, 3, 10));
    });
    expect(await endOf(family)).toMatchObject({ status: "completed", result: { total: 7, completed: 7 } });
    await family.expectAll(7);
  });
});

describe("children and submits run once", () => {
  test.each([
    ["spawnAll(100)", true],
    ["task.submit", false],
  ])("over sleeps that outlast their records: %s", async (_, spawns) => {
    const family: Family = familyOf(
      async (task) => {
        for (let n = 0; n < 3; n++) if (!spawns) await task.submit({ type: "leaf", input: { n } });
        if (spawns) await task.spawnAll(Array.from({ length: 100 }, (_, n) => ({ type: "leaf", input: { n } })));
        for (let sleeps = 0; sleeps < 3; sleeps++) await task.sleep(8 * day);
      },
      spawns ? {} : { children: undefined },
    );
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed" });
    expect([...family.runs.values()]).toEqual(Array.from({ length: spawns ? 100 : 3 }, () => 1));
  });

  test("in a round of the parent that begins after their records are gone", async () => {
    const family: Family = familyOf((task) => family.spawnMany(task, 120));
    family.failing.add("7");
    const failed = await endOf({ ...family, accept: () => family.accept({ retention_seconds: 30 * day }) });
    expect(failed).toMatchObject({ status: "failed", error_kind: "children_failed" });
    await family.clock.advance(8 * day * 1000);
    family.failing.clear();
    family.runs.clear();
    await retry(family.ports, failed);
    await family.drain();
    expect([...family.runs]).toEqual([["7", 1]]);
    expect(await family.recordOf(keyOf(failed))).toMatchObject({ status: "completed", result: { completed: 120 } });
  });

  test("also when a later round does not make the call: the failed ones start again with their input", async () => {
    const family: Family = familyOf(async (task) => {
      await task.step("fan out", () => family.spawnMany(task, 5));
    });
    family.failing.add("3");
    const failed = await endOf(family);
    expect(failed).toMatchObject({ status: "failed", family_counts: { completed: 4, failed: 1 } });
    family.failing.clear();
    family.runs.clear();
    await retry(family.ports, failed);
    await family.drain();
    expect([...family.runs]).toEqual([["3", 1]]);
    expect(await family.recordOf(keyOf(failed))).toMatchObject({ status: "completed", result: { completed: 5 } });
  });

  test("a list that has changed between two attempts spawns only what is new", async () => {
    const lists = [
      ["a", "b", "c"],
      ["b", "c", "d"],
    ];
    const family: Family = familyOf(async (task) => {
      for (const n of lists[task.attempt - 1] ?? []) await family.spawn(task, n, n);
      if (task.attempt === 1) throw new Error("connection lost");
    });
    expect(await endOf(family)).toMatchObject({ status: "completed", result: { total: 4, completed: 4 } });
    expect([...family.runs].sort()).toEqual(["a", "b", "c", "d"].map((n) => [n, 1]));
  });

  test("of an attempt that dies while it creates a page", async () => {
    let dies = true;
    const family: Family = familyOf((task) => family.spawnMany(task, 100));
    const create = family.ports.createChild;
    let created = 0;
    family.ports.createChild = async (...given) => {
      created += 1;
      if (dies && created > 60) throw new Error("out of memory");
      return create(...given);
    };
    const parent = await family.accept();
    await family.work();
    dies = false;
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: { completed: 100 } });
    await family.expectAll(100);
  });

  /** A parent whose first attempt dies between a child's record and its message, and which does not spawn it again. */
  async function withoutMessage(n: string) {
    const family: Family = familyOf((task) => (task.attempt === 1 ? family.spawn(task, n) : undefined));
    const { send } = family.queues;
    family.queues.send = (message) => {
      if (message.envelope.type === "leaf") throw new Error("out of memory");
      return send.call(family.queues, message);
    };
    const parent = await family.accept();
    await family.work();
    family.queues.send = send;
    await family.drain();
    return { family, parent: keyOf(parent) };
  }

  test("of an attempt that dies before its child's message, which its next attempt does not spawn", async () => {
    const { family, parent } = await withoutMessage("small");
    expect(await family.recordOf(parent)).toMatchObject({ status: "completed", result: { completed: 1 } });
    expect([...family.runs]).toEqual([["small", 1]]);
  });

  test("and its parent does not wait for long for a child whose message was the only copy of its input", async () => {
    const { family, parent } = await withoutMessage("x".repeat(2_000));
    expect(await family.recordOf(parent)).toMatchObject({ status: "processing", family_state: "waiting" });
    await family.clock.advance(23 * 3_600_000);
    await family.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ status: "processing" });
    await family.clock.advance(day * 1_000);
    const other = await family.accept({ type: "leaf", input: { n: "other" } });
    await family.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ status: "processing" });
    await family.drain();
    expect(await family.recordOf(keyOf(other))).toMatchObject({ status: "completed" });
    await family.reconcile(family.clock.now() + 60_000);
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject({
      status: "failed",
      error: expect.stringContaining("0 of 1 children completed"),
      family_counts: { failed: 1 },
    });
    expect(await family.recordOf({ tenant_id: "acme", task_id: family.ids[0] ?? "" })).toMatchObject({
      status: "failed",
      error: expect.stringContaining("message was lost"),
    });
  });

  test("nor when the answer of the reconciliation's write is lost, and its repeat finds the child ended", async () => {
    const { family, parent } = await withoutMessage("x".repeat(2_000));
    const { change } = family.records;
    family.records.change = async (key, given) => {
      if (given.set?.status === "failed") await change.call(family.records, key, given);
      return change.call(family.records, key, given);
    };
    await family.clock.advance(2 * day * 1_000);
    await family.reconcile(family.clock.now() + 60_000);
    family.records.change = change;
    expect(await family.recordOf(parent)).toMatchObject({ status: "failed", family_counts: { failed: 1 } });
  });

  test("nor when the reconciliation dies after it has ended the child: the next one goes on", async () => {
    const { family, parent } = await withoutMessage("x".repeat(2_000));
    const { end } = family.ports.families;
    family.ports.families.end = () => Promise.reject(new PortUnavailable("the table"));
    await family.clock.advance(2 * day * 1_000);
    await family.reconcile(family.clock.now() + 60_000);
    family.ports.families.end = end;
    const child = { tenant_id: "acme", task_id: family.ids[0] ?? "" };
    expect(await family.recordOf(child)).toMatchObject({ status: "failed", rescued_at: expect.any(String) });
    await family.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ status: "processing" });
    await family.clock.advance(day * 1_000);
    await family.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ status: "failed", family_counts: { failed: 1 } });
    expect(await family.recordOf(child)).not.toHaveProperty("rescued_at");
  });

  test("nor for a cancelled child that was to start after its retention, when the cancel dies before it counts", async () => {
    const family: Family = familyOf(async (task) => {
      if (task.attempt === 1) {
        family.ids.push(await task.spawn({ type: "leaf", input: { n: 1 }, delaySeconds: 20 * day }));
      }
    });
    const parent = keyOf(await family.accept());
    await family.work();
    const child = { tenant_id: "acme", task_id: family.ids[0] ?? "" };
    const { end } = family.ports.families;
    family.ports.families.end = () => Promise.reject(new PortUnavailable("the table"));
    await expect(cancel(family.ports, await family.recordOf(child))).rejects.toThrow(PortUnavailable);
    family.ports.families.end = end;
    expect(await family.recordOf(parent)).toMatchObject({ status: "processing", family_state: "waiting" });
    await family.clock.advance(day * 1_000);
    await family.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ status: "failed", family_counts: { cancelled: 1 } });
    expect(await family.recordOf(child)).not.toHaveProperty("rescued_at");
  });

  test("and a cancelled task that was to start after its retention is kept for no longer than that", async () => {
    const family: Family = familyOf(() => undefined);
    const waiting = await family.accept({ delay_seconds: 20 * day, retention_seconds: 3_600 });
    await cancel(family.ports, waiting);
    const record = await family.recordOf(keyOf(waiting));
    expect(record).toMatchObject({ status: "cancelled", purge_at: family.clock.now() / 1000 + 3_600 });
    expect(record).not.toHaveProperty("rescued_at");
  });

  test("and what follows from the end of a parent that a reconciliation closes is done, although that rescue dies", async () => {
    const family: Family = familyOf((task) => family.spawn(task, "1"));
    family.failing.add("1");
    const parent = keyOf(await family.accept());
    const { change } = family.records;
    family.records.change = (key, given) =>
      key.task_id === parent.task_id && given.set?.status === "failed"
        ? Promise.reject(new PortUnavailable("the table"))
        : change.call(family.records, key, given);
    for (let rounds = 0; rounds < 3; rounds++) await family.work();
    family.records.change = change;
    for (const { receiptHandle } of family.queues.take("normal", 100, 60)) family.queues.acknowledge(receiptHandle);
    expect(await family.recordOf(parent)).toMatchObject({ status: "processing", family_state: "waiting" });
    const { deadLetter } = family.queues;
    family.queues.deadLetter = () => Promise.reject(new PortUnavailable("the DLQ"));
    await family.clock.advance(day * 1_000);
    await family.reconcile(family.clock.now() + 60_000);
    family.queues.deadLetter = deadLetter;
    expect(await family.recordOf(parent)).toMatchObject({ status: "failed", rescued_at: expect.any(String) });
    expect(await family.recordOf(parent)).not.toHaveProperty("buried_at");
    await family.clock.advance(day * 1_000);
    await family.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ status: "failed", buried_at: expect.any(String) });
    expect(await family.recordOf(parent)).not.toHaveProperty("rescued_at");
  });
});

describe("the counts of a family", () => {
  test("are not changed by a late write of an earlier end", async () => {
    const family: Family = familyOf(
      async (task) => {
        await family.spawnMany(task, 2);
        await task.spawn({ type: "leaf", input: { n: "last" }, delaySeconds: 600 });
      },
      { children: { threshold: 1 } },
    );
    family.failing.add("1");
    const parent = await family.accept();
    for (let rounds = 0; rounds < 2; rounds++) await family.work();
    const { items } = await listChildren(family.ports, await family.recordOf(keyOf(parent)), "failed", {
      limit: 10,
      from: undefined,
    });
    const [ended] = items;
    if (ended === undefined) throw new Error("no child has failed");
    family.failing.clear();
    await retry(family.ports, ended);
    await family.work();
    // A worker that stood still since the child's first round counts its end now.
    await countEnd(family.ports, ended);
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: { completed: 3 } });
  });

  test("are those of the leaves while the coordinator sleeps", async () => {
    const family: Family = familyOf(async (task) => {
      await family.spawnMany(task, 3);
      await task.sleep(day);
    });
    family.failing.add("1");
    const parent = await family.accept();
    for (let rounds = 0; rounds < 2; rounds++) await family.work();
    expect(await viewTask(family.ports, await family.recordOf(keyOf(parent)))).toMatchObject({
      status: "pending",
      children: { total: 3, open: 0, completed: 2, failed: 1, sealed: false },
    });
  });

  test("are those of results(), also of children that are no longer kept", async () => {
    const seen: string[] = [];
    const family: Family = familyOf(
      async (task) => {
        await family.spawnMany(task, 3);
        await task.sleep(30 * day);
      },
      {
        children: { threshold: 0.5 },
        aggregate: async ({ results }) => {
          for await (const { status } of results()) seen.push(status);
        },
      },
    );
    family.failing.add("1");
    expect(await endOf(family)).toMatchObject({ status: "completed", family_counts: { completed: 2, failed: 1 } });
    expect(seen).toEqual(["completed", "failed", "completed"]);
  });
});

describe("a coordinator", () => {
  test("that is cancelled while it spawns creates no further page", async () => {
    const family: Family = familyOf(async (task) => {
      const self = { tenant_id: task.tenantId, task_id: task.taskId };
      const children = Array.from({ length: 5000 }, (_, n) => ({ type: "leaf", input: { n } }));
      const asks = (async function* () {
        for (const [n, child] of children.entries()) {
          if (n === 1000) {
            await cancel(family.ports, await family.recordOf(self));
            await family.clock.advance(5000);
          }
          yield child;
        }
      })();
      await task.spawnAll(asks);
    });
    const parent = await family.accept();
    await family.work();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "cancelled" });
    expect(family.records.all().filter(({ type }) => type === "leaf").length).toBeLessThanOrEqual(1100);
  });
});

describe("whatever starts a dead letter's task again takes its message out of the DLQ", () => {
  const lettersOf = ({ queues }: Family) => queues.deadLettersOf("normal").length;

  test.each([
    ["spawns its children again", false],
    ["goes on behind the step that spawned them", true],
  ])("a parent that %s", async (_, stepped) => {
    const family: Family = familyOf((task) => {
      const fanOut = () => family.spawnMany(task, 3);
      return stepped ? task.step("fan out", fanOut) : fanOut();
    });
    for (const n of [1, 2]) family.failing.add(String(n));
    const parent = await endOf(family);
    expect(parent).toMatchObject({ status: "failed", error_kind: "children_failed" });
    expect(lettersOf(family)).toBe(3);
    family.failing.clear();
    await retry(family.ports, parent);
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed" });
    expect(lettersOf(family)).toBe(0);
  });

  test("a hundred children of a tier share one sweep", async () => {
    const family: Family = familyOf((task) => family.spawnMany(task, 100));
    for (let n = 0; n < 100; n++) family.failing.add(String(n));
    const parent = await endOf(family);
    expect(lettersOf(family)).toBe(101);
    family.failing.clear();
    await retry(family.ports, parent);
    await family.drain();
    expect(lettersOf(family)).toBe(0);
    const sweeps = [...family.records.all()].filter(({ type }) => type === "offload.sweep");
    expect(sweeps.length).toBeLessThanOrEqual(2);
  });

  test("a letter that is sent after its task started again", async () => {
    const family: Family = familyOf(() => {
      throw new PermanentError("no");
    });
    const { queues } = family;
    const deadLetter = queues.deadLetter.bind(queues);
    const parent = await family.accept();
    queues.deadLetter = async (...letter) => {
      queues.deadLetter = deadLetter;
      await retry(family.ports, await family.recordOf(keyOf(parent)));
      await deadLetter(...letter);
      await family.clock.advance(60_000);
    };
    await family.work();
    await family.drain();
    expect(lettersOf(family)).toBe(1);
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "failed", round: 2 });
  });
});

describe("a child that is started again without its spawn has the input that it had", () => {
  const inputs = [
    ["small", "x"],
    ["that its record keeps while it waits", "x".repeat(60)],
    ["that only its message has", "x".repeat(2_000)],
  ] as const;

  /** A family whose only attempt that spawns fails by itself, while its child waits. */
  async function failedBefore(n: string, expiresInSeconds?: number) {
    let begun = false;
    const expires = expiresInSeconds === undefined ? {} : { expiresInSeconds };
    const family: Family = familyOf(async (task) => {
      if (begun) return;
      begun = true;
      family.ids.push(await task.spawn({ type: "leaf", priority: "low", input: { n }, ...expires }));
      throw new PermanentError("not now");
    });
    const parent = keyOf(await family.accept());
    await family.work();
    await family.work();
    const child = { tenant_id: "acme", task_id: family.ids[0] ?? "" };
    expect(await family.recordOf(child)).toMatchObject({ status: "pending", attempts_total: 0 });
    return { family, parent, child };
  }

  async function expectAgain(
    { family, parent, child }: Awaited<ReturnType<typeof failedBefore>>,
    n: string,
    ended: "cancelled" | "expired",
  ) {
    expect(await family.recordOf(child)).toMatchObject({ status: ended });
    await retry(family.ports, await family.recordOf(parent));
    await family.drain();
    expect([...family.runs]).toEqual([[n, 1]]);
    expect(await family.recordOf(parent)).toMatchObject({ status: "completed", family_counts: { completed: 1 } });
  }

  test.each(inputs)("after it expired, with an input %s", async (_, n) => {
    const given = await failedBefore(n, 60);
    await given.family.clock.advance(61_000);
    await given.family.work("low");
    await expectAgain(given, n, "expired");
  });

  test.each(inputs)("after redrive ended it, with an input %s", async (_, n) => {
    const given = await failedBefore(n, 60);
    await given.family.clock.advance(61_000);
    await given.family.redrive("low");
    await expectAgain(given, n, "expired");
  });

  test.each(inputs.slice(0, 2))(
    "after a reconciliation ended it without its message, with an input %s",
    async (_, n) => {
      const given = await failedBefore(n, 60);
      const { clock, queues } = given.family;
      for (const { receiptHandle } of queues.take("low", 10, 60)) queues.acknowledge(receiptHandle);
      await clock.advance(day * 1_000);
      await given.family.reconcile(clock.now() + 60_000);
      await expectAgain(given, n, "expired");
    },
  );

  test.each(inputs)("after it was cancelled before its first attempt, with an input %s", async (_, n) => {
    const given = await failedBefore(n);
    await cancel(given.family.ports, await given.family.recordOf(given.child));
    await given.family.work("low");
    await expectAgain(given, n, "cancelled");
  });

  test.each(inputs.slice(0, 2))("and before its message came, with an input %s", async (_, n) => {
    const given = await failedBefore(n);
    const { queues } = given.family;
    await cancel(given.family.ports, await given.family.recordOf(given.child));
    for (const { receiptHandle } of queues.take("low", 10, 60)) queues.acknowledge(receiptHandle);
    await expectAgain(given, n, "cancelled");
  });

  test("as long as its record is kept, also when that was extended", async () => {
    const n = "x".repeat(2_000);
    const given = await failedBefore(n, 60);
    const { family, child } = given;
    await family.clock.advance(61_000);
    await family.work("low");
    await extend(family.ports, await family.recordOf(child), 20 * day);
    await extend(family.ports, await family.recordOf(given.parent), 20 * day);
    await family.clock.advance(19 * day * 1_000);
    await expectAgain(given, n, "expired");
  });

  test("and none is kept of a child whose parent ended for good", async () => {
    const family: Family = familyOf((task) => family.spawn(task, "x".repeat(2_000)));
    const parent = keyOf(await family.accept());
    await family.work();
    await cancel(family.ports, await family.recordOf(parent));
    await family.drain();
    const child = { tenant_id: "acme", task_id: family.ids[0] ?? "" };
    expect(await family.recordOf(child)).toMatchObject({ status: "cancelled" });
    expect(await family.records.loadPart(child, "envelope")).toBeUndefined();
  });
});

test("a child that expires in a pause ends then, and its parent does not wait for the resume", async () => {
  const family: Family = familyOf(async (task) => {
    await task.spawn({ type: "leaf", input: { n: 1 }, expiresInSeconds: 600, priority: "low" });
  });
  const pausing = pause(family.ports, { scope: "type", type: "leaf" }, "olga");
  await family.clock.advance(0);
  await family.clock.advance(5_000);
  await pausing;
  const parent = await family.accept();
  for (let seconds = 0; seconds < 700; seconds += 10) {
    await family.work();
    await family.work("low");
    await family.clock.advance(10_000);
  }
  expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "failed", family_counts: { expired: 1 } });
});

test("a parent that sleeps for three years keeps its pages: nothing is spawned again, and every child counts", async () => {
  const family: Family = familyOf(async (task) => {
    await task.step("fan out", () => family.spawnMany(task, 3));
    for (let years = 0; years < 3; years++) await task.sleep(365 * day);
  });
  const { families, clock } = family;
  const pages = new Map<number, number>();
  const kept = (number: number, purgeAt: number) => pages.set(number, Math.max(purgeAt, pages.get(number) ?? 0));
  const { savePage, keep } = families;
  families.savePage = (...given) => {
    kept(given[1], given[4]);
    return savePage.apply(families, given);
  };
  families.keep = (...given) => {
    // The table has deleted what nobody kept in time.
    expect(pages.get(given[1]) ?? 0).toBeGreaterThan(clock.now() / 1000);
    kept(given[1], given[3]);
    return keep.apply(families, given);
  };
  expect(await endOf(family)).toMatchObject({ status: "completed", family_counts: { completed: 3 } });
  expect([...pages.values()].every((purgeAt) => purgeAt * 1000 > clock.now())).toBe(true);
  expect([...family.runs.values()]).toEqual([1, 1, 1]);
});
