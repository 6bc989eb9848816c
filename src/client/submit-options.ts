import type { Tier } from "../core/model/words.ts";
import type { TaskInput, TaskName } from "./definitions.ts";
import type { CallOptions } from "./limits.ts";
import type { Time } from "./wire.ts";

/** The options of a submit. Options that are left out have the type's own values. */
export interface SubmitOptions extends CallOptions {
  /** Tier of the task. Default: the type's own. */
  priority?: Tier | undefined;
  /** Run no earlier than this many seconds from now, 0 to 31,536,000. Not with `runAt`. */
  delaySeconds?: number | undefined;
  /** Run no earlier than this time. */
  runAt?: Time | undefined;
  /** The task expires when no attempt has started this many seconds after it is first due, 1 to 1,209,600. */
  expiresInSeconds?: number | undefined;
  /** Most attempts, 1 to 20. */
  maxAttempts?: number | undefined;
  /** At most 10. */
  tags?: Record<string, string> | undefined;
  /** Effect of a key that another task of the type has that has not ended. Default: the task has no key. */
  unique?: UniqueOptions | undefined;
  /** Time that the task and its result are kept after the end, 60 to 2,592,000. */
  retentionSeconds?: number | undefined;
  /** Ids of uploads, by the names of the type's files: `{ video: await client.upload(file) }`. */
  files?: Readonly<Record<string, string>> | undefined;
  /** Public JWK, EC P-256, RSA from 2048 bits, or OKP X25519: the result is stored only encrypted to it. */
  resultKey?: Readonly<Record<string, unknown>> | undefined;
  /** A signed webhook is sent to this `https` URL at the task's end; with `includeResult` it contains the result. */
  callback?: { readonly url: string; readonly includeResult?: boolean | undefined } | undefined;
  /** A second submit with the same key makes no second task. Default: a new key for each call, for its own repeats. */
  idempotencyKey?: string | undefined;
  /** Id for logs of all services that take part. Default: the API makes one. */
  correlationId?: string | undefined;
}

/** A unique submit: 1 to 256 characters that name its task among those of its type that have not ended. */
export interface UniqueOptions {
  key: string;
  /**
   * When a task has the key: `existing` returns that task, `reject` throws a ProblemError `conflict`, `replace` gives
   * it the new input as long as it waits, `debounce` does the same and lets it wait anew, and `restart` cancels it:
   * the new task starts when that one is over. `collect`, for a type that collects, adds the input to the list of that
   * task. Default: `existing`.
   */
  mode?: "existing" | "reject" | "replace" | "debounce" | "restart" | "collect" | undefined;
  /** Wait after each submit in seconds, 1 to 86,400. Required with `debounce`, and only allowed there. */
  waitSeconds?: number | undefined;
  /**
   * The most seconds from the first submit until the task is due, up to 604,800. Only with `debounce`. Default: ten
   * times `waitSeconds`.
   */
  maxWaitSeconds?: number | undefined;
}

/**
 * The options of a submit of many inputs: those of one submit, for each task. `timeoutMs` is the limit of all together.
 */
export interface SubmitManyOptions extends Omit<SubmitOptions, "files"> {
  /**
   * Names the whole, printable ASCII: each input's key follows from it and from the input's index. A second call with
   * the same key and inputs makes no second task. Default: a new key for each call, for its own repeats.
   */
  idempotencyKey?: string | undefined;
  /** Index of the first input: the number of inputs before it, which an earlier call submitted. Default: 0. */
  firstIndex?: number | undefined;
}

/** One task of `submitBatch`: its type, its input, and the options of a submit. */
export type TaskEntry<Tasks> = {
  [Name in TaskName<Tasks>]: Omit<SubmitOptions, keyof BatchOptions> & { type: Name; input: TaskInput<Tasks, Name> };
}[TaskName<Tasks>];

/** The options of `submitBatch`. */
export interface BatchOptions extends CallOptions {
  /** Id for logs of all services that take part. Default: the API makes one. */
  correlationId?: string | undefined;
}
