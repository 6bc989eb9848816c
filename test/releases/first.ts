import * as z from "zod";
import { PermanentError } from "../../src/core/model/errors.ts";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";

/*
 * The task types of a release, and `second.ts` those of the next: what upgrades are tested with. No task completes here, so
 * that each is the next release's to finish, however long its deployment takes and whatever it cuts off.
 */

const common = {
  input: z.strictObject({ name: z.string() }),
  maxAttempts: 20,
  timeoutSeconds: 5,
  retry: { waitsSeconds: [8], jitter: "none" },
  handler: () => {
    throw new Error("this release cannot do it");
  },
} as const;

export const tasks: readonly TaskType[] = [
  defineTask({ ...common, name: "greet" }),
  defineTask({ ...common, name: "greet.outdated" }),
  defineTask({ ...common, name: "greet.removed" }),
  defineTask({
    ...common,
    name: "greet.broken",
    handler: () => {
      throw new PermanentError("this release has a mistake");
    },
  }),
];
