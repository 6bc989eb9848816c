import { taskFiles } from "../../src/code/project/task-folder.ts";
import type { TaskType } from "../../src/core/task/task.ts";

/** The task types of this repository, as modules of the test: those of the built code would have another copy of Offload. */
export const taskTypes = async (): Promise<readonly TaskType[]> => {
  const types: TaskType[] = [];
  for (const file of taskFiles(`${import.meta.dirname}/../../tasks`))
    types.push((await import(`../../tasks/${file}`)).default);
  return types;
};
