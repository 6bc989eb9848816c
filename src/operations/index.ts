import * as rareTasks from "./rare-tasks.ts";
import * as running from "./running.ts";
import * as tasks from "./tasks.ts";

/** The files of acts, by the names of their rows. */
export const files = { tasks, rareTasks, running };
