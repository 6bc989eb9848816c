import { defineTask } from "offload";
import { createClient, type DeadLetterView, type ProblemError, type ScheduleView } from "offload-client";
import { createDirectClient } from "offload-client/direct";
import { z } from "zod";

const size = defineTask({
  name: "text.size",
  input: z.object({ text: z.string() }),
  handler: async ({ text }) => ({ size: text.length }),
});
const tasks = { size };

export async function use(): Promise<number> {
  const client = createClient<typeof tasks>({ url: "http://127.0.0.1:3000", key: "dev-acme" });
  const task = await client.submit("text.size", { text: "a" });
  // @ts-expect-error: no such field
  await client.submit("text.size", { tex: "a" });
  const direct = createDirectClient<typeof tasks>({ tenant: "acme", principal: "shop" });
  await direct.submit("text.size", { text: "a" });
  // @ts-expect-error: no such type
  await direct.submit("text.sise", { text: "a" });
  const { size: result } = await client.result(task);
  // @ts-expect-error: a number
  const text: string = result;
  return text.length;
}

/** Types of answers are not lost. */
export const answers = (letter: DeadLetterView, schedule: ScheduleView, error: ProblemError) => {
  const overlap: "allow" | "skip" = schedule.overlap;
  // @ts-expect-error: text
  const priority: number = letter.priority;
  return [overlap, priority, error.status];
};
