import { cancelTasksSchema, retryTasksSchema, runTasksNowSchema } from "../http/bulk-tasks.ts";
import type { AnyRouteName } from "../http/routes.ts";
import { withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import { jsonProblems, operationAnswers, restartProblems } from "./operation-parts.ts";

const selected =
  "Give either `task_ids` or `filter`. A filter reads at most 10,000 tasks. If its time span has more, narrow `created_after` and `created_before`.";

/** The routes that act on many tasks, and the end of operations. */
export const bulkOperations = {
  cancelTasks: {
    tag: "operations",
    summary: "Cancel many tasks",
    description: `Matches tasks that have not ended and whose type can be cancelled; an empty filter matches all of them. A running task counts as done when its attempt has been asked to stop. With \`now\`, an attempt that has not stopped after 5 seconds is ended with its process. ${selected}`,
    role: "operator",
    body: withName("CancelTasks", cancelTasksSchema),
    example: { filter: { type: "mail.send", status: "pending", tags: { campaign: "spring" } }, dry_run: true },
    answers: operationAnswers,
    problems: jsonProblems,
  },
  retryTasks: {
    tag: "operations",
    summary: "Retry many failed tasks",
    description: `Each task starts a new round of attempts. Matches failed tasks, also those whose dead letters were discarded. It counts toward the tenant's \`submits_per_second\`, as one request. ${selected}`,
    role: "operator",
    body: withName("RetryTasks", retryTasksSchema),
    example: { filter: { type: "mail.send", created_after: "2027-01-01" }, per_second: 10 },
    answers: operationAnswers,
    problems: restartProblems,
  },
  runTasksNow: {
    tag: "operations",
    summary: "Run many waiting tasks now",
    description: `Matches tasks that wait for their time: for a retry, or for the end of a delay. ${selected}`,
    role: "operator",
    body: withName("RunTasksNow", runTasksNowSchema),
    example: { filter: { type: "mail.send", retrying: true }, per_second: 10 },
    answers: operationAnswers,
    problems: jsonProblems,
  },
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
