import { type DurableExecutionClient, withDurableExecution } from "@aws/durable-execution-sdk-js";
import { answerTo } from "../stub-transport.ts";
import { durableExecution, stepsPerTask } from "../workload.ts";

// AWS's SDK alone: a client in memory that answers at once, and keeps nothing. Neither a service nor a start of the execution is part of it.

const durableExecutionClient = {
  checkpoint: async (request: object) => JSON.parse(answerTo("CheckpointDurableExecution", JSON.stringify(request))),
} as unknown as DurableExecutionClient;

const execute = withDurableExecution(
  async (_: unknown, context) => {
    const done: number[] = [];
    for (let number = 1; number <= stepsPerTask; number++)
      done.push(await context.step(`step ${number}`, async () => number));
    return { done };
  },
  { durableExecutionClient },
);

export async function handler(_: unknown, context: Parameters<typeof execute>[1]): Promise<string> {
  return (await execute(durableExecution() as Parameters<typeof execute>[0], context)).Status.toLowerCase();
}
