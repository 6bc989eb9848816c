import { AsyncLocalStorage } from "node:async_hooks";
import { sharedByAllCopies } from "../../util/copies.ts";
import { PermanentError } from "../model/errors.ts";
import type { Tier } from "../model/tier.ts";
import type { Redact } from "./redact.ts";
import type { WaitEnd } from "./step-names.ts";
import type { StepAttempt, StepOptions } from "./step-options.ts";
import type { TaskFile } from "./task-file.ts";

/** A unique submit: 1 to 256 characters that name its task among those of its type that have not ended. */
export interface UniqueOptions {
  key: string;
  /**
   * When a task has the key: `existing` returns that task, `reject` fails the attempt as `permanent`, `replace` gives
   * it the new input as long as it waits, and `debounce` does the same and lets it wait anew. Default: `existing`.
   */
  mode?: "existing" | "reject" | "replace" | "debounce";
  /** Wait after each submit in seconds, 1 to 86,400. Required with `debounce`, and only allowed there. */
  waitSeconds?: number;
  /**
   * The most seconds from the first submit until the task is due, up to 604,800. Only with `debounce`. Default: ten
   * times `waitSeconds`.
   */
  maxWaitSeconds?: number;
}

/** Options of a handler's submit; all but `key` are those of a client's submit. */
export interface SubmitOptions {
  /** Tier of the task. Default: the type's own. */
  priority?: Tier;
  /** Run no earlier than this many seconds from now, 0 to 31,536,000. Default: 0. */
  delaySeconds?: number;
  /**
   * The task expires when no attempt has started this many seconds after it is first due, 1 to 1,209,600. Default: it
   * does not expire.
   */
  expiresInSeconds?: number;
  /** Most attempts, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Tags by which clients find the task, at most 10. Default: none. */
  tags?: Record<string, string>;
  /**
   * Effect of a key that another task of the type has that has not ended. Default: the task has no key. A child that
   * `spawn` creates cannot have one.
   * @example { unique: { key: "shop-7", mode: "debounce", waitSeconds: 30 } }
   */
  unique?: UniqueOptions;
  /**
   * Names this submit within the task, so that a retry does not submit it again. Default: its number in the attempt.
   */
  key?: string;
}

/** A handler's submit of a type by its name, such as a type of another service. */
export interface ChildSubmit extends SubmitOptions {
  /** Name of the task type. */
  type: string;
  /** Input of the task, as JSON. */
  input?: unknown;
}

/** Options of a handler's spawn. */
export interface SpawnOptions extends Omit<SubmitOptions, "unique"> {
  /**
   * Files of this task for the child, by their names in the child's type. They are kept as long as this task. Default:
   * none.
   */
  files?: Readonly<Record<string, TaskFile | undefined>>;
}

/** A handler's spawn of a type by its name. */
export interface NamedSpawn extends Omit<ChildSubmit, "unique">, SpawnOptions {}

/** A child to spawn: a type by its definition or its name, and its input. */
export type ChildSpawn = Omit<NamedSpawn, "type"> & { type: Submittable | string };

/** Options of a handler's spawn of many children of one type. */
export interface SpawnAllOptions<Input> extends Omit<SpawnOptions, "key"> {
  /** Names a child within the task, so that a retry does not spawn it again. Default: its number, from 0. */
  key?: (input: Input, index: number) => string;
}

/** The part of a task type that a handler's submit needs. Every type that `defineTask` returns fits. */
export interface Submittable<Input = unknown> {
  readonly name: string;
  /** Never set: carries the input's type for the compiler. */
  readonly types?: { input: Input; output: unknown };
}

/**
 * A line of a handler's log: a text and fields, or an error; an error takes the place of the fields, too. Anything else
 * is written as it can be.
 */
type WriteLine = {
  (message: string, fields?: Record<string, unknown> | Error): void;
  (fields: Record<string, unknown> | Error, message?: string): void;
  (...values: unknown[]): void;
};

/** The details of a handler's progress. They stay until the attempt reports others. */
export interface ProgressDetails {
  /** Text for people: the first 200 characters are kept. */
  message?: string | undefined;
  /** JSON for programs, of at most 1 KiB. A `sensitive` type keeps none. */
  data?: unknown;
}

/** Structured logging for handlers: every line carries the task's ids. It takes anything, and never throws. */
export interface TaskLog {
  debug: WriteLine;
  info: WriteLine;
  warn: WriteLine;
  error: WriteLine;
}

/** Identifies an attempt and its task. */
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
  /** W3C trace context of the attempt, in the request's trace. Undefined: the request had none. */
  readonly traceparent: string | undefined;
}

/**
 * The context that a handler gets with its input. It is valid only while the attempt lasts. Its calls throw only what
 * is about them: where Offload's own table, queues or bucket do not answer, a call stays open, and the attempt ends.
 */
export interface TaskContext<State = unknown> extends TaskIdentity {
  /**
   * Fires when the attempt is timed out, the task is cancelled, or Offload's own table does not answer. Pass it to
   * `fetch` and to other calls that take a signal.
   */
  readonly signal: AbortSignal;
  readonly log: TaskLog;
  /** The task's files, by their names in the type's option `files`. */
  readonly files: Readonly<Record<string, TaskFile | undefined>>;
  /**
   * Returns headers for outgoing calls: `x-correlation-id`, and `traceparent` if the request had one. The other
   * service's logs can then be found by the same ids.
   * @example await fetch(url, { headers: { ...task.traceHeaders(), accept: "application/json" }, signal: task.signal });
   */
  traceHeaders(): Record<string, string>;
  /**
   * Reports progress, 0 to 100; never goes down within an attempt, and is written at most once a second, with the last
   * message and data of that second.
   * @example task.progress(40, { message: "page 4 of 10", data: { page: 4 } });
   */
  progress(percent: number, details?: ProgressDetails): void;
  /**
   * Submits another task for the same tenant; a retried attempt does not submit it again. Returns its `task_id`.
   *
   * A type may submit itself. If its handler returns a value that depends on that submit, the handler needs a return
   * type: `handler: async (input, task): Promise<{ next: string }> => ...`
   * @example await task.submit(mailSend, { to: "ada@example.com" }, { delaySeconds: 60 });
   */
  submit<Input>(type: Submittable<Input>, input: NoInfer<Input>, options?: SubmitOptions): Promise<string>;
  /**
   * Submits a task of a type by its name, for types that this code cannot import. The input is checked at run time
   * only.
   * @example await task.submit({ type: "crm.update", input: { email } });
   */
  submit(child: ChildSubmit): Promise<string>;
  /**
   * Spawns a child, and returns its `task_id`. The task stays `processing` until all its children have ended; then its
   * type's `aggregate` gets their results. A retried attempt spawns nothing twice, if it spawns the same children under
   * the same keys (default: in the same order). Children are created a hundred at a time, the last ones before the
   * attempt ends or stores anything. In an attempt that is cancelled or timed out it throws. The type needs the option
   * `children`.
   * @example await task.spawn(mailSend, { to }, { key: to });
   */
  spawn<Input>(type: Submittable<Input>, input: NoInfer<Input>, options?: SpawnOptions): Promise<string>;
  /** Spawns a child of a type by its name. The input is checked at run time only. */
  spawn(child: NamedSpawn): Promise<string>;
  /**
   * Spawns many children: each of one type, or each of its own. Reads the inputs, of any number, as they are needed.
   * Returns the number of children.
   * @example await task.spawnAll(mailSend, addresses, { key: ({ to }) => to });
   */
  spawnAll<Input>(
    type: Submittable<Input>,
    inputs: Iterable<NoInfer<Input>> | AsyncIterable<NoInfer<Input>>,
    options?: SpawnAllOptions<NoInfer<Input>>,
  ): Promise<number>;
  spawnAll(children: Iterable<ChildSpawn> | AsyncIterable<ChildSpawn>): Promise<number>;
  /**
   * Runs `effect` once for this key, over all tasks of the tenant and of all types, for 60 days: every later call, from
   * any attempt of any task, returns the stored outcome. So the key has to name the thing, such as the order. For an
   * effect once in this task use `step`. If the worker dies after `effect` and before its outcome is stored, the next
   * attempt runs it again, with the same `idempotencyKey`: pass it to the other service if it must not act twice.
   * @param key 1 to 256 characters. With a constant, such as "charge", one task of the tenant charges, and no other.
   * @example const charge = await task.once(`charge/${order}`, (key) => pay(order, { headers: { "Idempotency-Key": key } }));
   */
  once<T>(key: string, effect: (idempotencyKey: string) => Promise<T> | T): Promise<T>;
  /**
   * Runs `run` once for this task, stores its result (JSON of at most 256 KiB), and returns it. Every later attempt
   * gets the stored result, so the handler goes on behind the steps that are done. If the worker dies after `run` and
   * before its result is stored, the next attempt runs it again, with the same `idempotencyKey`. An error that `run`
   * throws is the handler's: the next attempt runs the step again.
   *
   * A task makes its calls of `step`, `sleep` and `waitFor` in the same order in each attempt. A call that differs ends
   * the attempt as `unavailable`, as a worker of the earlier release may still run; with the last attempt the task
   * fails. At most 1,000 calls. The calls of `aggregate` are its own, and new in each round.
   * @param name 1 to 100 characters, unique among the task's steps.
   * @param run Gets the step's idempotency key, and the number and the signal of its attempt.
   * @example const payment = await task.step("charge", (key) => pay(order, { idempotencyKey: key }));
   */
  step<T>(name: string, run: (idempotencyKey: string, attempt: StepAttempt) => Promise<T> | T): Promise<T>;
  /**
   * Runs a step with attempts of its own. The task waits for the step's next attempt without a worker, and its own
   * attempts do not change. After the last one it throws `StepFailed`: not caught, that fails the task for good.
   * @example await task.step("charge", { maxAttempts: 5, retry: { baseSeconds: 10 } }, (key) => pay(order, key));
   */
  step<T>(
    name: string,
    options: StepOptions,
    run: (idempotencyKey: string, attempt: StepAttempt) => Promise<T> | T,
  ): Promise<T>;
  /**
   * Goes on after that many seconds, 0 to 31,536,000 (a year). The attempt ends meanwhile and costs nothing: all that
   * runs beside a sleep must be a step, until one of several waits has ended. Neither the sleep nor what follows counts
   * as an attempt.
   */
  sleep(seconds: number): Promise<void>;
  /**
   * Goes on at a date, or at an ISO text with its offset from UTC, at most a year away. Otherwise as `sleep`.
   * @example await task.sleepUntil("2027-04-07T08:00:00+02:00");
   */
  sleepUntil(date: Date | string): Promise<void>;
  /**
   * Goes on when the task gets the signal of this name (`POST /tasks/{id}/signals/{name}`), also when it has come
   * before, and returns the signal's body. Undefined: no signal came within `timeoutSeconds`, 0 to 31,536,000, or
   * before `until`, a date or ISO text. The attempt ends meanwhile, as with `sleep`.
   * @param name 1 to 64 letters, digits, `.`, `_` and `-`, unique among the task's waits.
   * @example const answer = await task.waitFor<{ by: string }>("approved", { timeoutSeconds: 86_400 });
   */
  waitFor<T = unknown>(name: string, options: WaitEnd): Promise<T | undefined>;
  /**
   * Waits for one of several signals, as `waitFor` does for one. Returns the name and the body of the first signal.
   * Undefined: no signal came in time.
   * @param signals The names as its keys, at most 10. Their values are empty.
   * @example const answer = await task.waitForAny({ approve: {}, reject: {} }, { timeoutSeconds: 86_400 });
   */
  waitForAny<Name extends string>(
    signals: Readonly<Record<Name, Readonly<Record<string, never>>>>,
    options: WaitEnd,
  ): Promise<{ name: Name; body: unknown } | undefined>;
  /**
   * The state that `checkpoint` stored last, in an earlier attempt. Undefined: there is none. The type's option `state`
   * is its schema.
   */
  readonly state: State | undefined;
  /**
   * Stores a state, JSON of at most 256 KiB, that the next attempt starts with, after a failure as well as after
   * `continueLater`.
   * @example await task.checkpoint({ cursor: page.next });
   */
  checkpoint(state: State): Promise<void>;
  /**
   * Ends this attempt, and goes on with the handler's start in a new one as soon as a worker is free. That does not
   * count as an attempt. Use it with `checkpoint` and `remainingMs` for work that is longer than the type's time-out.
   * Nothing behind it runs.
   */
  continueLater(): Promise<never>;
  /** Milliseconds until the attempt times out. */
  remainingMs(): number;
  /** The present time of the server, or of the test kit. */
  now(): Date;
  /** The most attempts of the task in a round. */
  readonly maxAttempts: number;
  /** True when no attempt follows if this one fails. */
  readonly isLastAttempt: boolean;
}

/** The one form that both forms of a handler's submit, and of its spawn, are recorded in. */
export const childSubmitOf = <Options extends SubmitOptions = SubmitOptions>(
  given: Submittable | (ChildSubmit & Options),
  input?: unknown,
  options?: Options,
): ChildSubmit & Options =>
  "type" in given ? given : ({ type: given.name, input, ...options } as ChildSubmit & Options);

/**
 * Makes a call of the context while its attempt is open. After the end the call is reported, has no effect, and never
 * resolves.
 */
export type WhileOpen = <T>(what: string, call: () => Promise<T>) => Promise<T>;

/** A step, or an effect of `once`, whose function runs. */
interface Within {
  kind: "step" | "once";
  name: string;
}

/** The attempt to which code belongs. */
export interface Ambient {
  /** Undefined: its handler has not started. */
  context?: TaskContext;
  isOpen(): boolean;
  /**
   * Takes an error that the code threw where nobody could catch it: in a timer, in a listener, in a promise that nobody
   * awaits.
   */
  stray(error: unknown): void;
  /** Removes what a sensitive type keeps secret from a text. Undefined: the type is not sensitive. */
  redact?: Redact;
  /** The steps and the effects within which the code runs, outermost first. */
  within?: readonly Within[];
  /** True for what Offload does itself for the attempt. */
  own?: true;
}

const storage = sharedByAllCopies("attempt", () => new AsyncLocalStorage<Ambient>());

/** Returns the redaction of the sensitive type whose handler this code is; undefined for every other code. */
export const currentRedaction = (): Redact | undefined => storage.getStore()?.redact;

/** Returns the context of the attempt that this code runs in; undefined outside of an attempt, or after its end. */
export function currentTask(): TaskContext | undefined {
  const store = storage.getStore();
  return store?.isOpen() === true ? store.context : undefined;
}

/** Returns the attempt that this code runs in, open or not; undefined outside of an attempt. */
export const runningTask = (): TaskIdentity | undefined => storage.getStore()?.context;

/**
 * An expression whose value is the id of the task that the code runs in, for a debugger that has stopped this process.
 */
export const attemptExpression = 'globalThis[Symbol.for("offload.attempt")]?.getStore()?.context?.taskId';

/** Returns a function that returns true as long as the attempt that this code runs in is open. */
export const attemptIsOpen = (): (() => boolean) => storage.getStore()?.isOpen ?? (() => false);

/**
 * Returns a function that is true in the code of the attempt that this code runs in, but for its steps and effects,
 * which end with their calls.
 */
export function codeOfAttempt(): () => boolean {
  const isOpen = storage.getStore()?.isOpen;
  return () => {
    const now = storage.getStore();
    return now !== undefined && now.isOpen === isOpen && now.within === undefined && now.own !== true;
  };
}

/** Does something of Offload's own for an attempt, such as to start a timer: that is no work of its code. */
export function asOwnWork<T>(call: () => T): T {
  const store = storage.getStore();
  return store === undefined ? call() : storage.run({ ...store, own: true }, call);
}

/** Takes a stray error of the code that runs now. Undefined: the code belongs to no attempt. */
export const strayReceiver = (): ((error: unknown) => void) | undefined => storage.getStore()?.stray;

/**
 * Returns `traceHeaders()` of the attempt that this code runs in; no headers outside of an attempt. For shared HTTP
 * clients.
 */
export const traceHeaders = (): Record<string, string> => currentTask()?.traceHeaders() ?? {};

/** Runs `call`, and everything that it starts, as code of an attempt. */
export const runAmbient = <T>(ambient: Ambient, call: () => T): T => storage.run(ambient, call);

/** Runs `call`, and everything that it starts, with this ambient context, as long as the attempt is open. */
export const runInContext = <T>(context: TaskContext, call: () => T): T =>
  storage.run({ isOpen: () => false, stray: () => {}, ...storage.getStore(), context }, call);

/** Runs the function of a step or of an effect. */
export function runWithin<T>(within: Within, call: () => T): T {
  const store = storage.getStore();
  return store === undefined ? call() : storage.run({ ...store, within: [...(store.within ?? []), within] }, call);
}

const named = ({ kind, name }: Within): string => `${kind} ${JSON.stringify(name)}`;

/**
 * A call that ends the attempt would leave a step half done.
 * @throws PermanentError within the function of a step or of an effect of `once`
 */
export function mustBeOutside(what: string): void {
  const [outer] = storage.getStore()?.within ?? [];
  if (outer === undefined) return;
  throw new PermanentError(
    `${what} was called within ${named(outer)}, which it would leave half done: call it outside`,
  );
}

/** @throws PermanentError within the function of the same step or effect, which would wait for itself */
export function mustNotBeWithin({ kind, name }: Within): void {
  const within = storage.getStore()?.within ?? [];
  if (!within.some((one) => one.kind === kind && one.name === name)) return;
  throw new PermanentError(`${named({ kind, name })} was called within itself: it would wait for its own end`);
}
