import * as z from "zod";
import { batchSchema, idempotencyKeySchema, mostEntries, submitFields } from "../core/submit-body.ts";
import { extendSchema } from "../http/control.ts";
import { taskListSchema } from "../http/query.ts";
import type { AnyRouteName } from "../http/routes.ts";
import * as answers from "./answers.ts";
import { withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import {
  acceptedTask,
  bodyProblems,
  emptyBody,
  jsonProblems,
  laterTask,
  notModified,
  page,
  pollHeaders,
  submitProblems,
  taskAnswer,
  uncached,
} from "./operation-parts.ts";

const batchBody = withName(
  "Batch",
  batchSchema.extend({
    tasks: z
      .array(withName("BatchEntry", z.strictObject({ ...submitFields, idempotency_key: idempotencyKeySchema })))
      .min(1)
      .max(mostEntries),
  }),
);

/** The routes of tasks. */
export const taskOperations = {
  submitTask: {
    tag: "tasks",
    summary: "Submit a task",
    description: "A repeat with the same `Idempotency-Key` and body returns the first task.",
    parameters: ["Idempotency-Key"],
    body: "submit",
    answers: { 202: acceptedTask },
    problems: [...jsonProblems, ...submitProblems],
  },
  submitBatch: {
    tag: "tasks",
    summary: "Submit up to 500 tasks",
    description:
      "Each entry is accepted or refused by itself, in the request's order. `Idempotency-Key` names the whole batch: an entry " +
      "without a key of its own gets one that follows from it, so a repeated batch creates nothing twice. Each entry counts " +
      "toward the tenant's limits.",
    parameters: ["Idempotency-Key"],
    body: batchBody,
    example: { tasks: [{ type: "mail.send", input: { to: "ada@example.com" }, idempotency_key: "mail-1" }] },
    answers: { 202: uncached("The outcome of each entry, in the request's order.", answers.batch) },
    problems: jsonProblems,
  },
  listTasks: {
    tag: "tasks",
    summary: "List tasks, newest first",
    description: `A submitter sees the tasks that it submitted. Filters combine with AND. ${page}`,
    query: taskListSchema,
    parameters: ["tags"],
    answers: { 200: uncached("One page of tasks.", answers.taskList) },
    problems: ["malformed_request"],
  },
  readTask: {
    tag: "tasks",
    summary: "Read a task",
    description: "While the task has not ended, wait `Retry-After` seconds before the next request.",
    parameters: ["If-None-Match"],
    answers: {
      200: { ...taskAnswer("The task."), headers: ["ETag", "Cache-Control"] },
      304: notModified,
    },
    problems: ["not_found", "rate_limited"],
  },
  listAttempts: {
    tag: "tasks",
    summary: "List the attempts of a task, oldest first",
    answers: { 200: uncached("Every finished attempt.", answers.attemptList) },
    problems: ["not_found"],
  },
  readResult: {
    tag: "tasks",
    summary: "Read the result of a task",
    answers: {
      200: {
        description: "The bare result.",
        body: "result",
        headers: pollHeaders,
        optionalHeaders: ["Content-Disposition"],
      },
      202: {
        description: "The task has not ended.",
        body: answers.resultPending,
        headers: ["Retry-After", "Cache-Control"],
      },
    },
    problems: ["not_found", "conflict", "gone", "rate_limited"],
  },
  cancelTask: {
    tag: "tasks",
    summary: "Cancel a task",
    body: emptyBody,
    bodyOptional: true,
    answers: {
      200: taskAnswer("The task is cancelled."),
      202: laterTask("The attempt that is running still has to stop."),
    },
    problems: [...bodyProblems, "not_found", "conflict"],
  },
  retryTask: {
    tag: "tasks",
    summary: "Start a new round of a failed task",
    body: emptyBody,
    bodyOptional: true,
    answers: { 202: laterTask("The task waits for its next attempt.") },
    problems: [...bodyProblems, "not_found", "conflict", "gone"],
  },
  extendTask: {
    tag: "tasks",
    summary: "Keep a task for longer",
    description: "The retention counts from now, and never becomes shorter.",
    body: withName("Extend", extendSchema),
    example: { retention_seconds: 1_209_600 },
    answers: { 200: taskAnswer("The task.") },
    problems: [...jsonProblems, "not_found"],
  },
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
