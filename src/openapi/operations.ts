import type * as z from "zod";
import { changeSchema, definitionSchema, previewSchema } from "../core/schedules/definition.ts";
import { extendSchema, nothingSchema } from "../http/control.ts";
import { letterListSchema } from "../http/dead-letters.ts";
import { discardSchema, replaySchema } from "../http/operations.ts";
import { taskListSchema } from "../http/query.ts";
import type { AnyRouteName } from "../http/routes.ts";
import { countSchema, scheduleListSchema } from "../http/schedules.ts";
import * as answers from "./answers.ts";
import { withName } from "./json-schema.ts";
import type { Answer, Operation } from "./operation.ts";

/** Problems of requests with a body. */
const bodyProblems = ["malformed_request", "too_large"] as const;
const jsonProblems = [...bodyProblems, "unsupported_media_type"] as const;
/** Problems of a submit that passed the checks of its body. */
const submitProblems = [
  "unknown_task_type",
  "idempotency_key_reused",
  "rate_limited",
  "quota_exceeded",
  "queue_full",
] as const;

const emptyBody = withName("Nothing", nothingSchema.describe("An empty object."));
const pollHeaders = ["Cache-Control"] as const;
const acceptedTask: Answer = {
  description: "The task is accepted. Poll it after `Retry-After` seconds.",
  body: answers.accepted,
  headers: ["Content-Location", "Retry-After", "Cache-Control"],
  optionalHeaders: ["Idempotent-Replayed"],
  links: { id: "task_id", to: ["readTask", "readResult", "listAttempts", "cancelTask", "extendTask"] },
};
const taskAnswer = (description: string): Answer => ({
  description,
  body: answers.task,
  headers: pollHeaders,
  optionalHeaders: ["Retry-After"],
});
const laterTask = (description: string): Answer => ({
  ...taskAnswer(description),
  headers: [...pollHeaders, "Content-Location"],
});
const uncached = (description: string, body: z.ZodType): Answer => ({ description, body, headers: ["Cache-Control"] });
const notModified: Answer = {
  description: "The document has the given `ETag`.",
  headers: ["ETag", "Cache-Control"],
  optionalHeaders: ["Retry-After"],
};
const page = "A page may be short. Only `next_cursor: null` ends the list.";
const createdSchedule = (description: string): Answer => ({
  description,
  body: answers.schedule,
  headers: ["Location"],
  links: {
    id: "schedule_id",
    to: ["readSchedule", "listNextTimes", "changeSchedule", "runSchedule", "deleteSchedule"],
  },
});
const operationAnswers = {
  200: { description: "`dry_run`: the number of matches.", body: answers.dryRun, headers: ["Cache-Control"] },
  202: {
    description: "The operation is accepted. `Content-Location` is its path.",
    body: answers.operationAccepted,
    headers: ["Content-Location", "Retry-After", "Cache-Control"],
    links: { id: "operation_id", to: ["readOperation"] },
  },
} as const;

/** The description of every route in `src/http/routes.ts`, by the same names. */
export const operations: Readonly<Record<AnyRouteName, Operation>> = {
  submitTask: {
    tag: "tasks",
    summary: "Submit a task",
    description: "A repeat with the same `Idempotency-Key` and body returns the first task.",
    parameters: ["Idempotency-Key"],
    body: "submit",
    answers: { 202: acceptedTask },
    problems: [...jsonProblems, ...submitProblems],
  },
  readHealth: {
    tag: "service",
    summary: "Check the service",
    answers: { 200: { description: "A submit would work.", body: answers.health } },
  },
  readOpenApi: {
    tag: "service",
    summary: "Read this document",
    parameters: ["If-None-Match"],
    answers: {
      200: { description: "This document.", body: answers.openApi, headers: ["ETag", "Cache-Control"] },
      304: notModified,
    },
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
  listDeadLetters: {
    tag: "dead letters",
    summary: "List tasks that failed for good, newest first",
    description: page,
    role: "operator",
    query: letterListSchema,
    answers: { 200: uncached("One page of dead letters.", answers.deadLetterList) },
    problems: ["malformed_request"],
  },
  readOperation: {
    tag: "dead letters",
    summary: "Read the progress of a replay or discard",
    role: "operator",
    answers: { 200: { ...taskAnswer("The operation."), body: answers.operation } },
    problems: ["not_found"],
  },
  listSchedules: {
    tag: "schedules",
    summary: "List schedules",
    description: page,
    role: "operator",
    query: scheduleListSchema,
    answers: { 200: uncached("One page of schedules.", answers.scheduleList) },
    problems: ["malformed_request"],
  },
  previewSchedule: {
    tag: "schedules",
    summary: "Compute the next times of a rule, without saving it",
    role: "operator",
    query: countSchema,
    body: withName("SchedulePreview", previewSchema),
    example: { cron: "*/15 9-17 * * MON-FRI", timezone: "Europe/Berlin", count: 10 },
    answers: { 200: uncached("The next times.", answers.nextTimes) },
    problems: jsonProblems,
  },
  readSchedule: {
    tag: "schedules",
    summary: "Read a schedule",
    role: "operator",
    answers: { 200: uncached("The schedule.", answers.schedule) },
    problems: ["not_found"],
  },
  listNextTimes: {
    tag: "schedules",
    summary: "List the next times of a schedule",
    role: "operator",
    query: countSchema,
    answers: { 200: uncached("The next times. A schedule that is off has none.", answers.nextTimes) },
    problems: ["not_found"],
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
  replayDeadLetters: {
    tag: "dead letters",
    summary: "Start a new round of failed tasks",
    description: "Give either `task_ids` or `filter`.",
    role: "operator",
    body: withName("Replay", replaySchema),
    example: { filter: { type: "mail.send", error_kind: "unavailable" }, dry_run: true },
    answers: operationAnswers,
    problems: jsonProblems,
  },
  discardDeadLetters: {
    tag: "dead letters",
    summary: "Remove failed tasks from the dead letters",
    description: "Give either `task_ids` or `filter`. The tasks stay `failed`.",
    role: "operator",
    body: withName("Discard", discardSchema),
    example: { filter: { failed_before: "2027-01-01" }, dry_run: true },
    answers: operationAnswers,
    problems: jsonProblems,
  },
  readQueues: {
    tag: "service",
    summary: "Read the number of messages in each queue",
    role: "admin",
    answers: { 200: uncached("The queues, by tier.", answers.queues) },
  },
  listTypes: {
    tag: "service",
    summary: "List the task types",
    answers: { 200: uncached("The task types that this deployment accepts.", answers.typeList) },
  },
  createSchedule: {
    tag: "schedules",
    summary: "Create a schedule",
    description: "Give either `cron` or `every_seconds`. A repeat with the same body returns the existing schedule.",
    role: "operator",
    body: withName("NewSchedule", definitionSchema),
    example: {
      name: "daily-report",
      cron: "0 2 * * *",
      timezone: "Europe/Berlin",
      task: { type: "report.daily", input: {}, priority: "low" },
    },
    answers: {
      200: createdSchedule("The schedule exists already."),
      201: createdSchedule("The schedule is created."),
    },
    problems: [...jsonProblems, "unknown_task_type", "conflict"],
  },
  changeSchedule: {
    tag: "schedules",
    summary: "Change a schedule",
    description: "Replaces the given fields. A new `cron` removes `every_seconds`, and the other way round.",
    role: "operator",
    body: withName("ScheduleChange", changeSchema),
    example: { enabled: false },
    answers: { 200: { description: "The changed schedule.", body: answers.schedule } },
    problems: [...jsonProblems, "not_found", "unknown_task_type"],
  },
  deleteSchedule: {
    tag: "schedules",
    summary: "Delete a schedule",
    role: "operator",
    answers: { 204: { description: "The schedule is deleted, and submits nothing from now on." } },
    problems: ["not_found"],
  },
  runSchedule: {
    tag: "schedules",
    summary: "Submit the task of a schedule now",
    role: "operator",
    parameters: ["Idempotency-Key"],
    body: emptyBody,
    bodyOptional: true,
    answers: { 202: acceptedTask },
    problems: [...bodyProblems, ...submitProblems, "not_found"],
  },
};
