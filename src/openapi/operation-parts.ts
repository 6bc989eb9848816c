import type * as z from "zod";
import { nothing } from "../http/acts.ts";
import * as answers from "./answers.ts";
import * as bulk from "./bulk-answers.ts";
import { withName } from "./json-schema.ts";
import type { Answer } from "./operation.ts";
import * as schedules from "./schedule-answers.ts";

/** Problems of requests with a body. */
export const bodyProblems = ["malformed_request", "too_large"] as const;
export const jsonProblems = [...bodyProblems, "unsupported_media_type"] as const;
/** Problems of routes that start an operation which starts work again: it counts toward the rate of its tenant. */
export const restartProblems = [...jsonProblems, "rate_limited"] as const;
/** Problems of a submit that passed the checks of its body. */
export const submitProblems = [
  "unknown_task_type",
  "idempotency_key_reused",
  "rate_limited",
  "quota_exceeded",
  "queue_full",
] as const;

export const emptyBody = withName("Nothing", nothing.describe("An empty object."));
export const pollHeaders = ["Cache-Control"] as const;
export const acceptedTask: Answer = {
  description: "The task is accepted. Poll it after `Retry-After` seconds.",
  body: answers.accepted,
  headers: ["Content-Location", "Retry-After", "Cache-Control"],
  optionalHeaders: ["Idempotent-Replayed"],
  links: { id: "task_id", to: ["readTask", "readResult", "listAttempts", "cancelTask", "extendTask"] },
};
export const taskAnswer = (description: string): Answer => ({
  description,
  body: answers.task,
  headers: pollHeaders,
  optionalHeaders: ["Retry-After"],
});
export const laterTask = (description: string): Answer => ({
  ...taskAnswer(description),
  headers: [...pollHeaders, "Content-Location"],
});
export const uncached = (description: string, body: z.ZodType): Answer => ({
  description,
  body,
  headers: ["Cache-Control"],
});
export const notModified: Answer = {
  description: "The document has the given `ETag`.",
  headers: ["ETag", "Cache-Control"],
  optionalHeaders: ["Retry-After"],
};
export const page = "A page may be short. Only `next_cursor: null` ends the list.";
export const createdSchedule = (description: string): Answer => ({
  description,
  body: schedules.schedule,
  headers: ["Location"],
  links: {
    id: "schedule_id",
    to: ["readSchedule", "listNextTimes", "changeSchedule", "runSchedule", "deleteSchedule"],
  },
});
export const operationAnswers = {
  200: { description: "`dry_run`: the number of matches.", body: bulk.dryRun, headers: ["Cache-Control"] },
  202: {
    description: "The operation is accepted. `Content-Location` is its path.",
    body: bulk.operationAccepted,
    headers: ["Content-Location", "Retry-After", "Cache-Control"],
    links: { id: "operation_id", to: ["readOperation", "cancelOperation"] },
  },
} as const;
