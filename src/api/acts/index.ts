import * as keys from "./key-acts.ts";
import * as running from "./operation-acts.ts";
import * as queues from "./queue-acts.ts";
import * as rareTasks from "./rare-task-acts.ts";
import * as schedules from "./schedule-acts.ts";
import * as tasks from "./task-acts.ts";
import * as tenants from "./tenant-acts.ts";
import * as types from "./type-acts.ts";
import * as webhooks from "./webhook-acts.ts";

/** The files of acts, by the names of their rows. */
export const files = { tasks, rareTasks, webhooks, running, queues, types, tenants, keys, schedules };
