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
