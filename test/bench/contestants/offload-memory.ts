import * as z from "zod";
import { defineTask } from "../../../src/core/task/task.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { allParts } from "../../support/parts/all.ts";
import { type MemoryTask, sleepSeconds, stepsPerTask } from "../workload.ts";

const memoryPipeline = pipelineWith(...allParts);

// A whole task in memory: its submit, its queue, its attempts, its record and its steps. Time is a clock of the pipeline's own.

const type = defineTask({
  name: "bench.memory",
  input: z.strictObject({ sleeps: z.boolean() }),
  handler: async ({ sleeps }, task) => {
    const done: number[] = [];
    for (let number = 1; number <= stepsPerTask; number++) {
      if (sleeps && number > 1) await task.sleep(sleepSeconds);
      done.push(await task.step(`step ${number}`, () => number));
    }
    return { done };
  },
});

export async function handler({ sleeps }: MemoryTask): Promise<string> {
  const pipeline = memoryPipeline([type]);
  const submitted = await pipeline.accept({ type: type.name, input: { sleeps } });
  await pipeline.drain();
  return (await pipeline.recordOf(submitted)).status;
}
