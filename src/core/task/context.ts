import type * as z from "zod";
import type {
  ChildSpawn,
  ChildSubmit,
  HandlerSchedule,
  NamedRun,
  NamedSchedule,
  NamedSpawn,
  Runnable,
  RunOptions,
  SpawnAllOptions,
  SpawnOptions,
  SubmitOptions,
  Submittable,
} from "./handler-submit.ts";
import type { StepAttempt, StepOptions, WaitEnd } from "./step-calls.ts";
import type { TaskFile } from "./task-file.ts";

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

/** The options of `task.signalUrl`. */
export interface SignalUrlOptions {
  /** Time in seconds for which the address works, 1 to 31,536,000 (a year). */
  expiresInSeconds: number;
  /** A schema of Zod for the signal's body, as far as JSON Schema can say it. Default: any JSON. */
  schema?: z.ZodType;
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
  /** The same, with the name, the input and the options apart. */
  submit(type: string, input?: unknown, options?: SubmitOptions): Promise<string>;
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
  /** The same, with the name, the input and the options apart. */
  spawn(type: string, input?: unknown, options?: SpawnOptions): Promise<string>;
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
  /** Spawns children of a type by its name. The inputs are checked at run time only. */
  spawnAll<Input>(
    type: string,
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options?: SpawnAllOptions<NoInfer<Input>>,
  ): Promise<number>;
  spawnAll(children: Iterable<ChildSpawn> | AsyncIterable<ChildSpawn>): Promise<number>;
  /**
   * Creates the schedule of a name for the task's tenant, or replaces its whole definition: what is left out has its
   * default. Returns its `schedule_id`. Nothing is written when it is the same, so an attempt that calls it again
   * changes nothing; of several calls at once, the last one counts. Its tasks belong to the principal of this task.
   * @param name 1 to 128 characters, unique in the tenant.
   * @example await task.putSchedule(`report-of-${shop}`, { cron: "0 6 * * *", timezone, type: report, input: { shop } });
   */
  putSchedule<Input>(name: string, schedule: HandlerSchedule<Input>): Promise<string>;
  /** The same for a type by its name. The input is checked at run time only. */
  putSchedule(name: string, schedule: NamedSchedule): Promise<string>;
  /** Deletes the schedule of a name of the task's tenant, if there is one. Its tasks stay. */
  deleteSchedule(name: string): Promise<void>;
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
   * Runs a child, and returns its result when it has ended. The task waits without a worker meanwhile, and its attempts
   * do not change. The result, JSON of at most 256 KiB, is stored like that of a step: an attempt that makes the call
   * again gets it. At its end without success `ChildFailed` is thrown: not caught, that fails the task for good. The
   * children of `Promise.all` run beside each other. The steps, sleeps, waits and runs of a task are at most 1,000.
   * @example const { url } = await task.run(invoiceRender, { order }, { key: "invoice" });
   */
  run<Input, Output>(type: Runnable<Input, Output>, input: NoInfer<Input>, options?: RunOptions): Promise<Output>;
  /** Runs a child of a type by its name. The input is checked at run time only. */
  run<Output = unknown>(child: NamedRun): Promise<Output>;
  /** The same, with the name, the input and the options apart. */
  run<Output = unknown>(type: string, input?: unknown, options?: RunOptions): Promise<Output>;
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
   * Returns the body of the next signal of this name, in the order of their arrival: each call reads one more.
   * Undefined: none came in time, and the next call goes on waiting. The attempt ends meanwhile, as with `sleep`. At
   * most 100 signals wait to be read. One call for a name at a time, and no `waitFor` of the same name.
   * @param name 1 to 64 letters, digits, `.`, `_` and `-`. Written here as a text, it is known before the first call.
   * @example while ((message = await task.nextSignal<string>("message", { timeoutSeconds: 3_600 })) !== undefined) await answer(message);
   */
  nextSignal<T = unknown>(name: string, options: WaitEnd): Promise<T | undefined>;
  /**
   * Returns an address that needs no key and sends this task one signal, within its time: for the link of a mail. A
   * GET shows a page with a button, and changes nothing. A POST sends the signal; its body is JSON or a form's fields.
   * Each call makes another address, so call it in the step that sends it.
   * @example const url = await task.signalUrl("approved", { expiresInSeconds: 86_400 });
   */
  signalUrl(name: string, options: SignalUrlOptions): Promise<string>;
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

/**
 * Makes a call of the context while its attempt is open. After the end the call is reported, has no effect, and never
 * resolves.
 */
export type WhileOpen = <T>(what: string, call: () => Promise<T>) => Promise<T>;
