import { defineTask } from "offload";
import * as z from "zod";
import reportMake from "./report.make.ts";

export default defineTask({
  name: "report.all",
  description: "Makes the reports of all shops, and adds them up.",
  input: z.strictObject({
    month: z
      .string()
      .regex(/^\d{4}-\d{2}$/)
      .optional(),
  }),
  children: { threshold: 0 },
  handler: async ({ month: given }, task) => {
    // In a step, as the time differs in a later attempt.
    const month = given ?? (await task.step("month", () => new Date().toISOString().slice(0, 7)));
    const shops = ["1", "2", "3", "4", "5", "6", "7"];
    await task.spawnAll(
      reportMake,
      shops.map((shop) => ({ shop, month })),
      { key: ({ shop }) => shop },
    );
  },
  aggregate: async ({ total, completed, results }) => {
    let cents = 0;
    for await (const { status, result } of results()) {
      if (status === "completed") cents += (result as { cents: number }).cents;
    }
    return { total, completed, cents };
  },
});
