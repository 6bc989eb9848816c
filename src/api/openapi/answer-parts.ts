import type { Answer } from "./route-text.ts";

/** Problems of a submit that passed the checks of its body. */
export const submitProblems = [
  "unknown_task_type",
  "idempotency_key_reused",
  "rate_limited",
  "quota_exceeded",
  "queue_full",
] as const;

export const acceptedTask: Answer = {
  description: "The task is accepted. Poll it after `Retry-After` seconds.",
  body: "Accepted",
  headers: ["Content-Location", "Retry-After", "Cache-Control"],
  optionalHeaders: ["Idempotent-Replayed"],
  links: { id: "task_id", to: ["readTask", "readResult", "listAttempts", "cancelTask", "extendTask"] },
};
export const notModified: Answer = {
  description: "The document has the given `ETag`.",
  headers: ["ETag", "Cache-Control"],
  optionalHeaders: ["Retry-After"],
};
export const page = "A page may be short. Only `next_cursor: null` ends the list.";
export const operationAnswers = {
  200: ["DryRun", "`dry_run`: the number of matches."],
  202: {
    description: "The operation is accepted. `Content-Location` is its path.",
    body: "OperationAccepted",
    headers: ["Content-Location", "Retry-After", "Cache-Control"],
    links: { id: "operation_id", to: ["readOperation", "cancelOperation"] },
  },
} as const;
