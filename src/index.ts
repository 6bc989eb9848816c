/**
 * The package's entry `offload`: everything that a task file needs. It loads nothing but this package's core.
 * @module offload
 */
export type { ClassifyRule } from "./core/classify.ts";
export {
  type ChildSubmit,
  currentTask,
  type SubmitOptions,
  type Submittable,
  type TaskContext,
  type TaskLog,
  traceHeaders,
  type UniqueOptions,
} from "./core/context.ts";
export {
  defineEnvironment,
  type EnvironmentOptions,
  type SecretOption,
  type TaskEnvironment,
  type VariableOption,
} from "./core/environment.ts";
export {
  AttemptCancelled,
  AttemptCrashed,
  AttemptTimedOut,
  BusinessRuleViolation,
  ChildrenFailed,
  type ErrorKind,
  errorKinds,
  InvalidInput,
  PermanentError,
  RetryAfter,
  SecretUnreadable,
  TaskError,
  Unavailable,
  WorkerStopping,
} from "./core/errors.ts";
export { type FileResult, file, type OutcomeResult, withOutcome } from "./core/result.ts";
export type { RetryPolicy } from "./core/retry.ts";
export { type DefinedTask, defineTask, type TaskOptions, type TaskType, type Upcasts } from "./core/task.ts";
export type { Tier } from "./core/tier.ts";
export type { BreakerOption, ConcurrencyOption, RateLimitOption } from "./core/type-limits.ts";
