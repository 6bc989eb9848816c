import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { cancel, retry } from "../../../../src/core/control/control.ts";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import { childPages, leafOf } from "../../../../src/core/pipeline/end/child-results.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { gate } from "../../../support/gate.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { rescue } from "../../../support/parts/rescue.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations, rescue);

interface Child {
  fails?: boolean;
  delaySeconds?: number;
  expiresInSeconds?: number;
}

interface Given {
  threshold?: number;
  stopOnFailure?: boolean;
  /** Runs when the handler has spawned all children. */
  after?: (task: TaskContext) => unknown;
  options?: Partial<TaskType>;
  cancellable?: boolean;
}

/** A parent of these children. Those of the set fail, for as long as they are in it. */
function familyOf(children: readonly Child[], given: Given = {}) {
  const { threshold = 1, stopOnFailure = true, after, options = {}, cancellable = true } = given;
  const failing = new Set(children.flatMap(({ fails }, n) => (fails ? n : [])));
  const ran: number[] = [];
  const child = defineTask({
    name: "child",
    input: z.object({ n: z.int() }),
    cancellable,
    handler: ({ n }) => {
      ran.push(n);
      if (failing.has(n)) throw new PermanentError(`child ${n}`);
      return n;
    },
  });
  const parent = typeOf(
    async (_, task) => {
      for (const [n, { fails: _, ...how }] of children.entries()) await task.spawn(child, { n }, how);
      await after?.(task);
    },
    { name: "parent", maxAttempts: 3, children: { threshold, stopOnFailure }, ...options },
  );
  const pipeline = memoryPipeline([parent, child]);
  const childrenOf = async (record: TaskRecord): Promise<TaskRecord[]> => {
    const found: TaskRecord[] = [];
    for await (const page of childPages(pipeline.ports, record)) found.push(...page.children);
    return found;
  };
  return { ...pipeline, ran, failing, childrenOf };
}

/** A child that starts long after the others. */
const late: Child = { delaySeconds: 600 };

const many = (count: number, child: Child): Child[] => Array.from({ length: count }, () => child);

const failedWith = (counts: Partial<TaskRecord["family_counts"]>) => ({
  status: "failed",
  error_kind: "children_failed",
  family_counts: { completed: 0, failed: 0, cancelled: 0, expired: 0, ...counts },
});

describe("stopOnFailure", () => {
  test("ends the other children with the first failure, where none is allowed", async () => {
    const family = familyOf([{ fails: true }, ...many(249, late)]);
    const parent = await family.accept();
    const began = family.clock.now();
    await family.drain();
    const ended = await family.recordOf(parent);
    expect(ended).toMatchObject(failedWith({ failed: 1, cancelled: 249 }));
    expect(ended.error).toBe("0 of 250 children completed, expected at least 250: 1 failed, 249 cancelled, 0 expired");
    expect(Date.parse(ended.finished_at ?? "") - began).toBeLessThan(60_000);
    expect(family.ran).toEqual([0]);
  });

  test.each([
    [2, "completed"],
    [3, "failed"],
  ])("allows as many failures as the threshold: %d of 20 with 0.9", async (failures, status) => {
    const family = familyOf([...many(failures, { fails: true }), ...many(20 - failures, late)], { threshold: 0.9 });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject({ status });
    expect(family.ran).toHaveLength(status === "completed" ? 20 : failures);
  });

  test("adds up the failures of all pages of children", async () => {
    const children = Array.from({ length: 450 }, (_, n) => (n % 100 === 7 ? { fails: true } : late));
    const family = familyOf(children, { threshold: 0.992 });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 5, cancelled: 445 }));
    const allowed = familyOf(children, { threshold: 0.98 });
    const other = await allowed.accept();
    await allowed.drain();
    expect(await allowed.recordOf(other)).toMatchObject({ status: "completed" });
  });

  test("counts the children that are cancelled and that expire as failed", async () => {
    const family = familyOf([late, { delaySeconds: 60, expiresInSeconds: 90 }, ...many(5, late)], { threshold: 0.8 });
    const parent = await family.accept();
    await family.work();
    const [first, second] = await family.childrenOf(parent);
    await cancel(family.ports, first as TaskRecord);
    expect(await family.recordOf(parent)).toMatchObject({ family_stop: "armed" });
    // The worker that finds it is late.
    await family.clock.advance(400_000);
    await family.drain();
    expect(await family.recordOf(second as TaskRecord)).toMatchObject({ status: "expired" });
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ cancelled: 6, expired: 1 }));
    expect(family.ran).toEqual([]);
  });

  test("does not start what aggregates", async () => {
    const aggregate = vi.fn();
    const family = familyOf([{ fails: true }, late], { options: { aggregate } });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 1, cancelled: 1 }));
    expect(aggregate).not.toHaveBeenCalled();
  });

  test("waits for a child that cannot be cancelled", async () => {
    const family = familyOf([{ fails: true }, late], { cancellable: false });
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 1, completed: 1 }));
    expect(family.ran).toEqual([0, 1]);
  });

  test("cancels nothing where all children fail at once", async () => {
    const family = familyOf(many(10, { fails: true }));
    const parent = await family.accept();
    await family.work();
    await family.work();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 10 }));
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject({ round: 1, ...failedWith({ failed: 10 }) });
  });

  test("sees the failures that came before the parent waited", async () => {
    let attempts = 0;
    const after = (task: TaskContext) => {
      attempts = task.attempt;
      if (attempts === 1) throw new Error("the parent is tried again, and its child fails meanwhile");
    };
    const family = familyOf([{ fails: true }, ...many(5, late)], { after });
    const parent = await family.accept();
    await family.drain();
    expect(attempts).toBe(2);
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 1, cancelled: 5 }));
    expect(family.ran).toEqual([0]);
  });

  test("sees a failure between the seal of a leaf and the parent's wait", async () => {
    const family = familyOf([{ fails: true }, late]);
    const parent = await family.accept();
    const seal = family.families.seal.bind(family.families);
    vi.spyOn(family.ports.families, "seal").mockImplementationOnce(async (...sealing) => {
      const node = await seal(...sealing);
      await family.work();
      expect(family.ran).toEqual([0]);
      return node;
    });
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 1, cancelled: 1 }));
    expect(family.ran).toEqual([0]);
  });

  test("sees a failure whose note comes after the look of the parent's wait", async () => {
    const family = familyOf([{ fails: true }, late]);
    const parent = await family.accept();
    const { families } = family.ports;
    const [seal, end] = [families.seal.bind(families), families.end.bind(families)];
    const [noted, waits] = [gate(), gate()];
    vi.spyOn(families, "end").mockImplementation(async (...given) => {
      if (given[1].endsWith(".f1")) {
        noted.open();
        await waits.opened;
      }
      return end(...given);
    });
    let child: Promise<unknown> | undefined;
    vi.spyOn(families, "seal").mockImplementationOnce(async (...sealing) => {
      const node = await seal(...sealing);
      child = family.work();
      await noted.opened;
      return node;
    });
    await family.work();
    expect(await family.recordOf(parent)).toMatchObject({ family_state: "waiting", family_stop: "armed" });
    waits.open();
    await child;
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 1, cancelled: 1 }));
    expect(family.ran).toEqual([0]);
  });

  test("stops each round by the failures of that round", async () => {
    const family = familyOf([{ fails: true }, {}, late, late], { threshold: 0.75 });
    family.failing.add(1);
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 2, cancelled: 2 }));
    family.failing.delete(1);
    await retry(family.ports, await family.recordOf(parent));
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject({ status: "completed", round: 2 });
    expect(family.ran.slice(0, 2)).toEqual([0, 1]);
    expect(family.ran.slice(2).sort()).toEqual([0, 1, 2, 3]);
  });

  test("stops a second round, too", async () => {
    // A worker takes ten at a time.
    const family = familyOf(many(40, { fails: true }));
    const parent = await family.accept();
    for (const round of [1, 2]) {
      family.ran.length = 0;
      await family.drain();
      const ended = await family.recordOf(parent);
      expect(ended).toMatchObject({ status: "failed", round, family_stop: "requested" });
      expect(ended.family_counts?.cancelled).toBeGreaterThanOrEqual(20);
      expect(family.ran.length).toBe(ended.family_counts?.failed);
      if (round === 1) await retry(family.ports, ended);
    }
  });

  test("forgets the failure of a child that was retried by itself, and completed", async () => {
    const family = familyOf([{ fails: true }, ...many(9, late)], { threshold: 0.9 });
    Object.assign(family.ports, { nodeSize: 2 });
    const parent = await family.accept();
    await family.work();
    await family.work();
    const children = await family.childrenOf(parent);
    const first = children[0];
    expect(await family.recordOf(first as TaskRecord)).toMatchObject({ status: "failed" });
    family.failing.clear();
    await retry(family.ports, await family.recordOf(first as TaskRecord));
    await family.work();
    expect(await family.recordOf(first as TaskRecord)).toMatchObject({ status: "completed" });
    await cancel(family.ports, children[9] as TaskRecord);
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject({
      status: "completed",
      family_counts: { completed: 9, failed: 0, cancelled: 1, expired: 0 },
    });
  });

  test("leaves out a run whose failure the handler has caught", async () => {
    const after = (task: TaskContext) => task.run({ name: "child" } as never, { n: 4 }, { key: "own" }).catch(() => {});
    const family = familyOf([{}, late, {}, {}], { after });
    family.failing.add(4);
    const parent = await family.accept();
    await family.drain();
    expect(await family.recordOf(parent)).toMatchObject({ status: "completed" });
    expect(family.ran.sort()).toEqual([0, 1, 2, 3, 4]);
  });

  test("goes on from a death between the parent's wait and the look at its children", async () => {
    const family = familyOf([{ fails: true }, late], {
      after: ({ attempt }) => {
        if (attempt === 1) throw new Error("again");
      },
    });
    const parent = await family.accept();
    await family.work();
    await family.work();
    expect(family.ran).toEqual([0]);
    const create = vi.spyOn(family.ports.records, "create").mockRejectedValueOnce(new Error("the process dies"));
    await family.drain();
    expect(create).toHaveBeenCalled();
    expect(await family.recordOf(parent)).toMatchObject(failedWith({ failed: 1, cancelled: 1 }));
  });

  test("is looked at by the reconciliation, where the parent's message is lost", async () => {
    const family = familyOf([{ fails: true }, { delaySeconds: 86_400 }]);
    const parent = await family.accept();
    await family.work();
    // The end of the child dies before it requests anything, and its message is lost, too.
    await family.families.end(parent, leafOf(parent, 0), 0, "f");
    await family.families.end(parent, `${leafOf(parent, 0).split(".")[0]}.f1`, 0, "001");
    await family.clock.advance(80_000_000);
    await family.ports.reconcile(family.clock.now() + 60_000);
    expect(await family.recordOf(parent)).toMatchObject({ family_stop: "requested" });
  });

  test("costs a family without it no call, and no attribute", async () => {
    const calls = async (stopOnFailure: boolean) => {
      const family = familyOf([{ fails: true }, { fails: true }, late], { stopOnFailure, threshold: 0 });
      const seal = vi.spyOn(family.ports.families, "seal");
      const [end, read] = [vi.spyOn(family.ports.families, "end"), vi.spyOn(family.ports.families, "read")];
      const get = vi.spyOn(family.ports.records, "get");
      await family.accept();
      await family.drain();
      const sealings = seal.mock.calls.map(([, , sealing]) => "stops" in sealing);
      return { sealings, calls: [end, read, get].map(({ mock }) => mock.calls.length) };
    };
    const plain = await calls(false);
    expect(plain.sealings).toEqual([false]);
    expect(plain.calls.slice(0, 2)).toEqual([3, 1]);
    const stops = await calls(true);
    expect(stops.sealings).toEqual([true]);
    expect(stops.calls.map((count, index) => count - (plain.calls[index] ?? 0))).toEqual([2, 3, 2]);
  });
});
