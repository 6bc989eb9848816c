import type { TaskType } from "../../src/core/task/task.ts";
import { taskFiles } from "../../src/project/task-folder.ts";

/** The task types of this repository, as modules of the test: those of the built code would have another copy of Offload. */
export const taskTypes = async (): Promise<readonly TaskType[]> => {
  const types: TaskType[] = [];
  for (const file of taskFiles(`${import.meta.dirname}/../../tasks`))
    types.push((await import(`../../tasks/${file}`)).default);
  return types;
};
