import { discardSchema, replaySchema } from "../http/bulk.ts";
import { cancelTasksSchema, retryTasksSchema, runTasksNowSchema } from "../http/bulk-tasks.ts";
import { letterGroupsSchema, letterListSchema } from "../http/dead-letters.ts";
import { described, operationAnswers, page } from "./describe.ts";
import { withName } from "./json-schema.ts";

const selected =
  "Give either `task_ids` or `filter`. A filter reads at most 10,000 tasks. If its time span has more, narrow `created_after` and `created_before`.";

/** The routes that act on many tasks, and the route that reads an operation. */
export const operationTexts = described("operations", {
  readOperation: {
    summary: "Read the progress of an operation",
    role: "viewer",
    answers: { 200: ["Operation", "The operation.", ["Cache-Control"], ["Retry-After"]] },
  },
  cancelTasks: {
    summary: "Cancel many tasks",
    description: `Matches tasks that have not ended and whose type can be cancelled; an empty filter matches all of them. A running task counts as done when its attempt has been asked to stop. With \`now\`, an attempt that has not stopped after 5 seconds is ended with its process. ${selected}`,
    role: "operator",
    body: withName("CancelTasks", cancelTasksSchema),
    example: { filter: { type: "mail.send", status: "pending", tags: { campaign: "spring" } }, dry_run: true },
    answers: operationAnswers,
  },
  retryTasks: {
    summary: "Retry many failed tasks",
    description: `Each task starts a new round of attempts. Matches failed tasks, also those whose dead letters were discarded. It counts toward the tenant's \`submits_per_second\`, as one request. ${selected}`,
    role: "operator",
    body: withName("RetryTasks", retryTasksSchema),
    example: { filter: { type: "mail.send", created_after: "2027-01-01" }, per_second: 10 },
    answers: operationAnswers,
    problems: ["rate_limited"],
  },
  runTasksNow: {
    summary: "Run many waiting tasks now",
    description: `Matches tasks that wait for their time: for a retry, or for the end of a delay. ${selected}`,
    role: "operator",
    body: withName("RunTasksNow", runTasksNowSchema),
    example: { filter: { type: "mail.send", retrying: true }, per_second: 10 },
    answers: operationAnswers,
  },
});

/** The routes of dead letters. */
export const letterTexts = described("dead letters", {
  listDeadLetters: {
    summary: "List tasks that failed permanently, newest first",
    description: page,
    role: "viewer",
    query: letterListSchema,
    answers: { 200: ["DeadLetterList", "One page of dead letters."] },
  },
  groupDeadLetters: {
    summary: "Group dead letters by type and error",
    description:
      "Errors of one class have the same `fingerprint` if their texts differ only in ids, numbers, times and quoted texts. The list, replays and " +
      "discards can filter by it. Reads at most the newest 10,000 dead letters of the filter's time span, for about 0.6 read units each.",
    role: "viewer",
    query: letterGroupsSchema,
    answers: { 200: ["DeadLetterGroups", "The groups, the largest first."] },
  },
  replayDeadLetters: {
    summary: "Replay dead letters",
    description:
      "Each task starts a new round of attempts. Give either `task_ids` or `filter`. A replay counts toward the tenant's `submits_per_second`, as one request; a dry run does not.",
    role: "operator",
    body: withName("Replay", replaySchema),
    example: { filter: { type: "mail.send", error_kind: "unavailable" }, dry_run: true },
    answers: operationAnswers,
    problems: ["rate_limited"],
  },
  discardDeadLetters: {
    summary: "Remove failed tasks from the dead letters",
    description: "Give either `task_ids` or `filter`. The tasks stay `failed`.",
    role: "operator",
    body: withName("Discard", discardSchema),
    example: { filter: { failed_before: "2027-01-01" }, dry_run: true },
    answers: operationAnswers,
  },
});
