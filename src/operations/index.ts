import * as keys from "./keys.ts";
import * as queues from "./queues.ts";
import * as rareTasks from "./rare-tasks.ts";
import * as running from "./running.ts";
import * as schedules from "./schedules.ts";
import * as tasks from "./tasks.ts";
import * as tenants from "./tenants.ts";
import * as types from "./types.ts";
import * as webhooks from "./webhooks.ts";

/** The files of acts, by the names of their rows. */
export const files = { tasks, rareTasks, webhooks, running, queues, types, tenants, keys, schedules };
