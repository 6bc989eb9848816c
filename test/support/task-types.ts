import { z } from "zod";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";

/** Returns its input. */
export const echo = defineTask({
  name: "echo",
  input: z.strictObject({ value: z.unknown() }),
  timeoutSeconds: 10,
  handler: ({ value }) => value,
});

/** A task type whose handler a test gives. */
export const typeOf = (handler: TaskType["handler"], more: Partial<TaskType> = {}): TaskType => ({
  ...echo,
  name: "test.task",
  input: z.unknown(),
  ...more,
  handler,
});
