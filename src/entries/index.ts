/**
 * The package's entry `offload`: everything that a task file needs. It loads nothing but this package's core.
 * @module offload
 */

export { ChildFailed, StepFailed, StepTimedOut } from "../core/extras/steps/step-tools.ts";
export type { ClassifyRule } from "../core/model/classify.ts";
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
} from "../core/model/errors.ts";
export type { Tier } from "../core/model/words.ts";
export { currentTask, traceHeaders } from "../core/task/ambient.ts";
export type { SignalUrlOptions, TaskContext, TaskLog } from "../core/task/context.ts";
export {
  defineEnvironment,
  type EnvironmentOptions,
  type SecretOption,
  type TaskEnvironment,
  type VariableOption,
} from "../core/task/environment.ts";
export type {
  ChildSubmit,
  Runnable,
  RunOptions,
  SubmitOptions,
  Submittable,
  UniqueOptions,
} from "../core/task/handler-submit.ts";
export { defineProcess, type TaskProcess } from "../core/task/process.ts";
export { type FileResult, file, type OutcomeResult, withOutcome } from "../core/task/result.ts";
export type { RetryPolicy, TaskFailure } from "../core/task/retry.ts";
export type { StepAttempt, StepOptions } from "../core/task/step-calls.ts";
export {
  type DefinedTask,
  defineTask,
  type HandlerInput,
  type TaskOptions,
  type TaskType,
  type Upcasts,
} from "../core/task/task.ts";
export type {
  BreakerOption,
  CollectOption,
  ConcurrencyOption,
  RateLimitOption,
  RateListOption,
} from "../core/task/type-limits.ts";
export { taskStream } from "./task-stream.ts";
