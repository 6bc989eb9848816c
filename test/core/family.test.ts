import { describe, expect, test } from "vitest";
import * as z from "zod";
import { retry } from "../../src/core/control.ts";
import { PermanentError } from "../../src/core/errors.ts";
import type { TaskRecord } from "../../src/core/record.ts";
import { defineTask } from "../../src/core/task.ts";
import { memoryPipeline } from "../support/memory-pipeline.ts";

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
          aggregate: async ({ total, completed, failed, results }) => {
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

  test("without children is a plain task", async () => {
    const family = familyOf();
    const parent = await family.accept({ input: { children: 0 } });
    await family.drain();
    expect(await family.recordOf(keyOf(parent))).toMatchObject({ status: "completed", result: null });
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
