import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import leaf from "./chaos.leaf.ts";

const input = z.strictObject({
  children: z.int().min(1),
  effects: z.string(),
  /** Number of the attempt, over all rounds, that fails permanently: an operator retries the task. */
  fail_at: z.int().nullable().default(null),
});

/** Sums up the numbers of the children that completed. */
export async function sumOf(results: () => AsyncIterable<{ status: string; result: unknown }>): Promise<number> {
  let sum = 0;
  for await (const { status, result } of results()) {
    if (status === "completed") sum += (result as { number: number }).number;
  }
  return sum;
}

export default defineTask({
  name: "chaos.steps",
  description:
    "Spawns half of its children in a step, sleeps, waits for a signal, submits a task, and spawns the rest.",
  input,
  timeoutSeconds: 60,
  maxAttempts: 20,
  children: { threshold: 0.5 },
  handler: async ({ children, effects, fail_at }, task) => {
    const half = Math.ceil(children / 2);
    const childOf = (number: number) => ({ family: task.taskId, number, effects });
    await task.step("first half", async () => {
      for (let number = 1; number <= half; number++) await task.spawn(leaf, childOf(number));
    });
    await task.sleep(1);
    if (fail_at === task.attemptOverall) throw new PermanentError("the attempt fails, as planned");
    await task.waitFor("go", { timeoutSeconds: 3_600 });
    await task.submit(leaf, childOf(children + 1));
    await task.sleep(1);
    for (let number = half + 1; number <= children; number++) await task.spawn(leaf, childOf(number));
    await task.sleep(1);
  },
  aggregate: async ({ total, completed, failed, results }) => ({
    total,
    completed,
    failed,
    sum: await sumOf(results),
  }),
});
