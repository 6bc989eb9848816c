import { withDurableExecution } from "@aws/durable-execution-sdk-js";
import { LocalDurableTestRunner } from "@aws/durable-execution-sdk-js-testing";
import { type MemoryTask, sleepSeconds, stepsPerTask } from "../workload.ts";

// A whole execution in AWS's testing package, whose service keeps its state in a thread of this process. It skips waits.

const execute = withDurableExecution(async ({ sleeps }: MemoryTask, context) => {
  const done: number[] = [];
  for (let number = 1; number <= stepsPerTask; number++) {
    if (sleeps && number > 1) await context.wait({ seconds: sleepSeconds });
    done.push(await context.step(`step ${number}`, async () => number));
  }
  return { done };
});

await LocalDurableTestRunner.setupTestEnvironment({ skipTime: true });

export async function handler(payload: MemoryTask): Promise<string> {
  const runner = new LocalDurableTestRunner({ handlerFunction: execute });
  return `${(await runner.run({ payload })).getStatus()}`.toLowerCase();
}
