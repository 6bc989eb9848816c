import { expect, test } from "vitest";
import * as z from "zod";
import { defineTask } from "../src/core/task/task.ts";
import { testKit } from "../src/testkit/kit.ts";

test("the kit gathers what a handler submits with the mode collect", async () => {
  const lists: number[][] = [];
  const sum = defineTask({
    name: "sum",
    input: z.int(),
    collect: { maxItems: 3, waitSeconds: 60 },
    handler: (inputs) => void lists.push(inputs),
  });
  const split = defineTask({
    name: "split",
    input: z.array(z.int()),
    handler: async (inputs, task) => {
      for (const input of inputs) await task.submit(sum, input, { unique: { key: "k", mode: "collect" } });
    },
  });
  const outcome = await testKit([split, sum]).run(split, [1, 2, 3, 4]);
  expect(outcome.status).toBe("completed");
  expect(lists).toEqual([[1, 2, 3], [4]]);
  const alone = await testKit([sum]).run(sum, 7);
  expect([alone.status, lists.at(-1)]).toEqual(["completed", [7]]);
});

test("the kit holds a limit by key of lists", async () => {
  const starts: { list: string; at: number }[] = [];
  const store = defineTask({
    name: "store",
    input: z.strictObject({ shop: z.string(), n: z.int() }),
    collect: { maxItems: 2, waitSeconds: 60 },
    rateLimit: { key: ({ shop }) => shop, limit: 1, perSeconds: 3_600 },
    handler: (rows) => void starts.push({ list: rows.map(({ shop, n }) => shop + n).join(" "), at: Date.now() }),
  });
  const split = defineTask({
    name: "split",
    input: z.strictObject({}),
    handler: async (_, task) => {
      for (const n of [1, 2, 3, 4])
        for (const shop of ["a", "b"])
          await task.submit(store, { shop, n }, { unique: { key: shop, mode: "collect" } });
    },
  });
  await testKit([split, store]).run(split, {});
  expect(starts.map(({ list }) => list).toSorted()).toEqual(["a1 a2", "a3 a4", "b1 b2", "b3 b4"]);
  for (const shop of ["a", "b"]) {
    const [first = 0, second = 0] = starts.filter(({ list }) => list.startsWith(shop)).map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(3_600_000);
  }
});
