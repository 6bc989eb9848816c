import * as z from "zod";
import type { FailedFile } from "../code/project/task-code.ts";
import { typeNameOf } from "../code/project/task-modules.ts";
import type { Log } from "../core/ports/tasks.ts";
import { defineTask, type TaskType } from "../core/task/task.ts";

/** A task type whose file cannot be loaded. */
export class TypeNotLoaded extends Error {
  override readonly name = "TypeNotLoaded";
}

/** Stand for types whose files could not be loaded. A file whose name is that of no type has none. */
export const failedTypes = (failed: readonly FailedFile[], log: Log): TaskType[] =>
  failed.flatMap((one) => failedType(one, log) ?? []);

function failedType({ file, error: cause }: FailedFile, log: Log): TaskType | undefined {
  const name = typeNameOf(file);
  const reason = String(cause);
  log.error("a task type could not be loaded; its attempts fail", { type: name, reason });
  try {
    return failingType(name, () => {
      throw new TypeNotLoaded(`the code of the task type ${name} could not be loaded: ${reason}`, { cause });
    });
  } catch {
    return undefined;
  }
}

/**
 * A type whose attempts run this handler, whatever their input.
 * @throws TypeError for a name that no type has
 */
export const failingType = (name: string, handler: () => unknown): TaskType =>
  defineTask({ name, input: z.unknown(), handler, onFailed: handler });
