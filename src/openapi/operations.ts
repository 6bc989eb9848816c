import "./problems.ts";
import * as answers from "./answers.ts";
import * as bulk from "./bulk-answers.ts";
import * as schedules from "./schedule-answers.ts";
import "./type-answers.ts";
import { channelSchema } from "../core/notify/open-channel.ts";
import { definitionSchema, previewSchema } from "../core/schedules/definition.ts";
import { discardSchema, replaySchema } from "../http/bulk.ts";
import { letterGroupsSchema, letterListSchema } from "../http/dead-letters.ts";
import type { ApiRouteName } from "../http/routes.ts";
import { countSchema, scheduleListSchema } from "../http/schedule-routes.ts";
import { files as acts } from "../operations/index.ts";
import { operationsOf } from "./acts.ts";
import { adminOperations } from "./admin-operations.ts";
import { auditOperations } from "./audit-operations.ts";
import { bulkOperations } from "./bulk-operations.ts";
import { channel } from "./channel-answers.ts";
import { flowOperations } from "./flow-operations.ts";
import { withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import {
  acceptedTask,
  bodyProblems,
  createdSchedule,
  emptyBody,
  jsonProblems,
  notModified,
  operationAnswers,
  page,
  restartProblems,
  submitProblems,
  taskAnswer,
  uncached,
} from "./operation-parts.ts";
import { partOperations } from "./part-operations.ts";
import { taskOperations } from "./task-operations.ts";
import { webhookOperations } from "./webhook-operations.ts";

/** The description of every route in `src/http/routes.ts` that programs call, by the same names. */
export const operations: Readonly<Record<ApiRouteName, Operation>> = {
  ...operationsOf("tasks", acts.tasks),
  ...operationsOf("tasks", acts.rareTasks),
  ...operationsOf("webhooks", acts.webhooks),
  ...operationsOf("operations", acts.running),
  ...flowOperations,
  ...operationsOf("tenants", acts.tenants),
  ...operationsOf("tenants", acts.keys),
  ...operationsOf("schedules", acts.schedules),
  ...taskOperations,
  ...webhookOperations,
  ...auditOperations,
  ...adminOperations,
  ...bulkOperations,
  ...partOperations,
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
  listDeadLetters: {
    tag: "dead letters",
    summary: "List tasks that failed permanently, newest first",
    description: page,
    role: "viewer",
    query: letterListSchema,
    answers: { 200: uncached("One page of dead letters.", answers.deadLetterList) },
    problems: ["malformed_request"],
  },
  groupDeadLetters: {
    tag: "dead letters",
    summary: "Group dead letters by type and error",
    description:
      "Errors of one class have the same `fingerprint` if their texts differ only in ids, numbers, times and quoted texts. The list, replays and " +
      "discards can filter by it. Reads at most the newest 10,000 dead letters of the filter's time span, for about 0.6 read units each.",
    role: "viewer",
    query: letterGroupsSchema,
    answers: { 200: uncached("The groups, the largest first.", answers.letterGroups) },
  },
  readOperation: {
    tag: "operations",
    summary: "Read the progress of an operation",
    role: "viewer",
    answers: { 200: { ...taskAnswer("The operation."), body: bulk.operation } },
    problems: ["not_found"],
  },
  listSchedules: {
    tag: "schedules",
    summary: "List schedules",
    description: `The schedules of the app's code come first, with \`source: code\`, then those that clients made. ${page}`,
    role: "viewer",
    query: scheduleListSchema,
    answers: { 200: uncached("One page of schedules.", schedules.scheduleList) },
    problems: ["malformed_request"],
  },
  previewSchedule: {
    tag: "schedules",
    summary: "Compute the next times of a rule, without saving it",
    role: "viewer",
    query: countSchema,
    body: withName("SchedulePreview", previewSchema),
    example: { cron: "*/15 9-17 * * MON-FRI", timezone: "Europe/Berlin", count: 10 },
    answers: { 200: uncached("The next times.", schedules.nextTimes) },
    problems: jsonProblems,
  },
  readSchedule: {
    tag: "schedules",
    summary: "Read a schedule",
    role: "viewer",
    answers: { 200: uncached("The schedule.", schedules.schedule) },
    problems: ["not_found"],
  },
  listNextTimes: {
    tag: "schedules",
    summary: "List the next times of a schedule",
    role: "viewer",
    query: countSchema,
    answers: { 200: uncached("The next times. A schedule that is off has none.", schedules.nextTimes) },
    problems: ["not_found"],
  },
  replayDeadLetters: {
    tag: "dead letters",
    summary: "Replay dead letters",
    description:
      "Each task starts a new round of attempts. Give either `task_ids` or `filter`. A replay counts toward the tenant's `submits_per_second`, as one request; a dry run does not.",
    role: "operator",
    body: withName("Replay", replaySchema),
    example: { filter: { type: "mail.send", error_kind: "unavailable" }, dry_run: true },
    answers: operationAnswers,
    problems: restartProblems,
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
  createSchedule: {
    tag: "schedules",
    summary: "Create a schedule",
    description:
      "Give either `cron` or `every_seconds`. A repeat with the same body returns the existing schedule. `conflict`, `defined_in_code`: a schedule with the name is there, and `schedule_id` is its id.",
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
    problems: [...jsonProblems, "unknown_task_type", "conflict", "quota_exceeded", "defined_in_code"],
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
  openChannel: {
    tag: "tasks",
    summary: "Open a channel, which receives messages about tasks by WebSocket",
    description:
      "A channel receives messages about the tasks that its principal submitted, or with `scope: tenant` about all tasks of the tenant, which requires the role viewer. The URL is for one connection within 60 seconds. `not_found`: the deployment has no channels.",
    body: withName("NewChannel", channelSchema),
    bodyOptional: true,
    example: { scope: "own" },
    answers: { 201: uncached("The channel is open for one connection.", channel) },
    problems: [...bodyProblems, "not_found", "rate_limited"],
  },
};
