import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

const dayMs = 86_400_000;
const unusable = ["timed out", "is not valid JSON", "Unterminated string", "TypeError"];

class JudgeError extends Error {
  status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export default defineTask({
  name: "eval.judge",
  input: z.strictObject({ executionId: z.string(), submittedAt: z.iso.datetime() }),
  timeoutSeconds: 120,
  classify: [
    (error) =>
      error instanceof JudgeError && (error.status < 500 || unusable.some((text) => error.message.includes(text)))
        ? "permanent"
        : undefined,
  ],
  onFailed: ({ executionId }, { error }) => call("db/execution", { executionId, status: "ERROR", error }),
  handler: async ({ executionId, submittedAt }, task) => {
    for (let turn = 1; ; turn += 1) {
      const answer = await task.step(`judge ${turn}`, async (key) => {
        try {
          return await call<{ score: number }>("llm/judge", { executionId }, key);
        } catch (error) {
          if (!(error instanceof Response)) throw error;
          const young = task.now().getTime() - Date.parse(submittedAt) < dayMs;
          if (error.status === 429 && young) return { waitSeconds: 60 + Math.round(Math.random() * 24 * 60) };
          throw new JudgeError(await error.text(), error.status);
        }
      });
      const status = "score" in answer ? "COMPLETED" : "DELAYED";
      await task.step(`store ${turn}`, () => call("db/execution", { executionId, status, ...answer }));
      if ("score" in answer) return answer;
      await task.sleep(answer.waitSeconds);
    }
  },
});
