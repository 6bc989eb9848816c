import {
  AttemptCrashed,
  AttemptTimedOut,
  BusinessRuleViolation,
  ChildrenFailed,
  defineTask,
  type ErrorKind,
  errorKinds,
  InvalidInput,
  PermanentError,
  RetryAfter,
  Unavailable,
} from "offload";
import * as z from "zod";

/** An error such as HTTP clients throw. */
class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "HttpError";
    this.status = status;
  }
}

const errors: Record<ErrorKind, (message: string, retryAfterSeconds: number | undefined) => Error> = {
  transient: (message) => new Error(message),
  rate_limited: (message, seconds) =>
    seconds === undefined ? new HttpError(429, message) : new RetryAfter(seconds, message),
  conflict: (message) => new HttpError(409, message),
  unavailable: (message) => new Unavailable(message),
  not_found: (message) => new HttpError(404, message),
  validation: (message) => new InvalidInput(message),
  business_rule: (message) => new BusinessRuleViolation(message),
  permanent: (message) => new PermanentError(message),
  crashed: (message) => new AttemptCrashed(message),
  timed_out: (message) => new AttemptTimedOut(message),
  children_failed: (message) => new ChildrenFailed(message),
};

export default defineTask({
  name: "probe.fail",
  description: "Fails with the given kind of error in its first attempts, then returns.",
  input: z.strictObject({
    kind: z.enum(errorKinds),
    times: z.int().min(0).nullable().default(null),
    message: z.string().max(500).default("the probe failed, as its input requested"),
    retry_after_seconds: z.int().min(0).max(86_400).optional(),
  }),
  timeoutSeconds: 30,
  handler: ({ kind, times, message, retry_after_seconds }, task) => {
    if (times === null || task.attemptOverall <= times) throw errors[kind](message, retry_after_seconds);
    return { attempt: task.attempt };
  },
});
