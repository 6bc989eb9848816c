import * as z from "zod";
import { createWorker } from "../../../lambdas/worker.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { stepsPerTask, stepTypeName } from "../workload.ts";

// Offload's worker with one task type, whose handler makes five steps that do nothing.

export const handler = await createWorker([
  defineTask({
    name: stepTypeName,
    input: z.strictObject({ value: z.unknown() }),
    handler: async (_, task) => {
      const done: number[] = [];
      for (let number = 1; number <= stepsPerTask; number++) done.push(await task.step(`step ${number}`, () => number));
      return { done };
    },
  }),
]);
