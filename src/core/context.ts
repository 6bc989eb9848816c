import { AsyncLocalStorage } from "node:async_hooks";
import type { Tier } from "./tier.ts";

/** Options of a handler's submit; all but `key` are those of a client's submit. */
export interface SubmitOptions {
  priority?: Tier;
  delaySeconds?: number;
  maxAttempts?: number;
  tags?: Record<string, string>;
  /** Names this submit among those of the task, so that a retry submits it only once. Default: its place in the attempt. */
  key?: string;
}

/** A handler's submit of a type by its name, such as a type of another service. */
export interface ChildSubmit extends SubmitOptions {
  type: string;
  input?: unknown;
}

/** The part of a task type that a handler's submit needs. Every type that `defineTask` returns fits. */
export interface Submittable<Input = unknown> {
  readonly name: string;
  /** Never set: carries the input's type for the compiler. */
  readonly types?: { input: Input; output: unknown };
}

/** Structured logging for handlers: every line carries the task's ids. */
export interface TaskLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Who and what an attempt is for. */
export interface TaskIdentity {
  readonly tenantId: string;
  readonly taskId: string;
  readonly type: string;
  /** The attempt's number in its round, from 1. */
  readonly attempt: number;
  /** The attempt's number over all rounds, from 1. */
  readonly attemptOverall: number;
  readonly correlationId: string;
  readonly requestedBy: string;
  /** W3C trace context of the attempt, which is of the request's trace; undefined where the request had none. */
  readonly traceparent: string | undefined;
}

/** What a handler gets beside its input; it is valid only while the attempt lasts. */
export interface TaskContext extends TaskIdentity {
  /** Fires when the attempt is timed out or the task is cancelled; hand it to `fetch` and the like. */
  readonly signal: AbortSignal;
  readonly log: TaskLog;
  /**
   * Headers that make an outgoing call part of this task's story: `x-correlation-id`, and `traceparent` where the request
   * had one. The far side's logs can then be found by the same ids.
   * @example await fetch(url, { headers: { ...task.traceHeaders(), accept: "application/json" }, signal: task.signal });
   */
  traceHeaders(): Record<string, string>;
  /** Reports progress, 0 to 100; never goes down within an attempt, and is written at most once a second. */
  progress(percent: number): void;
  /**
   * Submits another task for the same tenant; a retried attempt does not submit it again. Returns its `task_id`.
   *
   * A type may submit itself. If its handler returns a value that depends on that submit, the handler needs a return type:
   * `handler: async (input, task): Promise<{ next: string }> => ...`
   * @example await task.submit(mailSend, { to: "ada@example.com" }, { delaySeconds: 60 });
   */
  submit<Input>(type: Submittable<Input>, input: NoInfer<Input>, options?: SubmitOptions): Promise<string>;
  /**
   * Submits a task of a type by its name, for types that this code cannot import. The input is checked at run time only.
   * @example await task.submit({ type: "crm.update", input: { email } });
   */
  submit(child: ChildSubmit): Promise<string>;
  /**
   * Runs `effect` once for this tenant and key, and gives its outcome to every later call, whichever attempt makes it.
   * If the worker dies after `effect` and before its outcome is stored, the next attempt runs it again, with the same
   * `idempotencyKey`: hand that on to the far side where once must mean once.
   * @example const charge = await task.once(`charge-${order}`, (key) => pay(order, { headers: { "Idempotency-Key": key } }));
   */
  once<T>(key: string, effect: (idempotencyKey: string) => Promise<T> | T): Promise<T>;
}

/** The one form that both forms of a handler's submit are recorded in. */
export const childSubmitOf = (
  given: Submittable | ChildSubmit,
  input?: unknown,
  options?: SubmitOptions,
): ChildSubmit => ("type" in given ? given : { type: given.name, input, ...options });

const storage = new AsyncLocalStorage<{ context: TaskContext; isOpen: () => boolean }>();

/** The context of the attempt that this code runs in; undefined outside of any, and once the attempt has ended. */
export function currentTask(): TaskContext | undefined {
  const store = storage.getStore();
  return store?.isOpen() === true ? store.context : undefined;
}

/** `traceHeaders` of the attempt that this code runs in; none outside of any. For HTTP clients that are made once. */
export const traceHeaders = (): Record<string, string> => currentTask()?.traceHeaders() ?? {};

/** Runs `call` with the context as the ambient one: for what `call` starts, and no longer than the attempt is open. */
export const runInContext = <T>(context: TaskContext, isOpen: () => boolean, call: () => T): T =>
  storage.run({ context, isOpen }, call);

/** The headers that carry a task's ids to others. */
export const traceHeadersOf = ({
  correlationId,
  traceparent,
}: Pick<TaskIdentity, "correlationId" | "traceparent">): Record<string, string> => ({
  "x-correlation-id": correlationId,
  ...(traceparent === undefined ? {} : { traceparent }),
});
