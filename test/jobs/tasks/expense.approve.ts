import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "expense.approve",
  input: z.strictObject({ expenseId: z.string(), timeoutSeconds: z.int().default(10) }),
  handler: async ({ expenseId, timeoutSeconds }, task) => {
    await task.step("create", (key) => call("expenses/create", { expenseId }, key));
    const answer = await task.waitForAny({ approve: {}, reject: {} }, { timeoutSeconds });
    if (answer === undefined) return { status: "TIMED_OUT" };
    if (answer.name === "reject") return { status: "REJECTED" };
    await task.step("pay", (key) => call("expenses/pay", { expenseId }, key));
    return { status: "COMPLETED" };
  },
});
