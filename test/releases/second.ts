import * as z from "zod";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";

const common = {
  input: z.strictObject({ first: z.string(), last: z.string() }),
  version: 2,
  timeoutSeconds: 5,
  retry: { waitsSeconds: [8], jitter: "none" },
  upcast: {
    1: ({ name }: { name: string }) => {
      const [first = "", last = ""] = name.split(" ");
      return { first, last };
    },
  },
  handler: ({ first, last }: { first: string; last: string }) => ({ greeting: `Hello ${first}, of the ${last}s` }),
} as const;

/** The task types of the release after `first.ts`: their input is another one, and one of them is gone. */
export const tasks: readonly TaskType[] = [
  defineTask({ ...common, name: "greet" }),
  defineTask({ ...common, name: "greet.broken" }),
  defineTask({ ...common, name: "greet.outdated", upcast: {} }),
];
