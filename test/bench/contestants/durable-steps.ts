import { withDurableExecution } from "@aws/durable-execution-sdk-js";
import { stepsPerTask } from "../workload.ts";

// The same five steps as a durable function of Lambda, with the client that AWS's SDK makes by default.

export const handler = withDurableExecution(async (_: unknown, context) => {
  const done: number[] = [];
  for (let number = 1; number <= stepsPerTask; number++)
    done.push(await context.step(`step ${number}`, async () => number));
  return { done };
});
