import type { QueueView, TypeView } from "../api/acts/views.ts";
import type { TaskFilter as CoreFilter } from "../core/control/list.ts";
import type { TaskView } from "../core/model/task-view.ts";
import type { Tier } from "../core/model/words.ts";
import type { AttemptView } from "../core/pipeline/end/view.ts";
import { DeadLetters } from "./dead-letters.ts";
import type { AnyTasks, TaskInput, TaskName, TaskResult } from "./definitions.ts";
import { refusesRepeat } from "./errors.ts";
import type { Download, NewFile, UploadSource } from "./files.ts";
import { fileParts, manyParts } from "./late-parts.ts";
import { type CallOptions, limitOf, within } from "./limits.ts";
import { List } from "./list.ts";
import { changesOf, files, isEnd, type Poll, pollOf, resultOf } from "./poll.ts";
import type { ChannelMessage, SubscribeOptions } from "./push.ts";
import { Schedules } from "./schedule-calls.ts";
import type { Inputs, SubmitOutcome } from "./submit-many.ts";
import type { BatchOptions, SubmitManyOptions, SubmitOptions, TaskEntry } from "./submit-options.ts";
import { idOf, type SubmittedTask, type TaskOfKey, type TaskRef } from "./task-ref.ts";
import type { TransferOptions } from "./transfer.ts";
import { type ClientOptions, newKey, path, type Query, type Request, retryAfterOf, Transport } from "./transport.ts";
import { type Time, toWire } from "./wire.ts";

/** One attempt as the API answers it. */
export type { AttemptView };

/** The options of a call that waits for a task's end. */
export interface WaitOptions extends CallOptions {
  /**
   * Milliseconds between polls, at least 100. Default: as the API's `Retry-After` says, from 1 s to 60 s as the task
   * ages.
   */
  pollMs?: number | undefined;
  /**
   * True: hears of changes by push, and reads the task rarely. Where the deployment has no channels, or the runtime no
   * `WebSocket`, it polls. Default: true with `onProgress`, else false.
   */
  push?: boolean | undefined;
}

/** The options of `result`. */
export interface ResultOptions extends WaitOptions {
  /** Gets the task's present state, and each change until its end. */
  onProgress?: ((task: TaskView) => void) | undefined;
}

/** Filter for tasks. An absent field selects all. */
export interface TaskFilter extends Omit<CoreFilter, "createdAfter" | "createdBefore"> {
  createdAfter?: Time | undefined;
  createdBefore?: Time | undefined;
  /**
   * Finds by the start of an id, a correlation id, a tag's value or `name=value`, or a part of the error's text. 1 to
   * 128 characters.
   */
  q?: string | undefined;
}

const pathOf = (task: TaskRef, rest = ""): string => path`/tasks/${idOf(task)}` + rest;

/** Loaded with the first call, so that programs that submit single tasks do not load it. */
const many = () => import("./submit-many.ts");

/** Client of one API, with one key. */
export class Client<Tasks = AnyTasks> {
  declare readonly deadLetters: DeadLetters;
  declare readonly schedules: Schedules<Tasks>;
  readonly #transport: Transport;
  /** Time of the first poll of each submitted task, as `Retry-After` of its 202 says. */
  readonly #firstPolls = new WeakMap<object, number>();

  /** @throws TypeError when an option is missing or not valid */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.deadLetters = new DeadLetters(this.#transport);
    this.schedules = new Schedules(this.#transport);
  }

  /**
   * Submits a task. Repeats the request safely after errors that can pass: an idempotency key goes with it.
   * @throws ProblemError, such as `invalid_input` with the faults of each field
   */
  async submit<Name extends TaskName<Tasks>>(
    type: Name,
    input: TaskInput<Tasks, Name>,
    options: SubmitOptions = {},
  ): Promise<SubmittedTask<TaskResult<Tasks, Name>>> {
    const { signal, timeoutMs, idempotencyKey = newKey(), correlationId, ...rest } = options;
    const request: Request<SubmittedTask<TaskResult<Tasks, Name>>> = {
      method: "POST",
      path: "/tasks",
      body: { type, input, ...toWire(rest) },
      headers: { "idempotency-key": idempotencyKey, "x-correlation-id": correlationId },
      repeatable: true,
      read: async (response, json) => {
        const task = (await json()) as SubmittedTask<TaskResult<Tasks, Name>>;
        this.#firstPolls.set(task, Date.now() + (retryAfterOf(response) ?? 0) * 1000);
        return task;
      },
    };
    return this.#transport.call(request, { signal, timeoutMs });
  }

  /**
   * Submits many inputs, up to 500 in one request, and iterates over their outcomes in the same order. Reads the inputs
   * as they are needed. Repeats requests, and entries that were refused with 429 or 503, safely.
   * @throws ProblemError when a whole request is refused; an error of the inputs after the outcomes of those before it;
   * CallTimeout
   * @example for await (const { task, error } of client.submitMany("mail.send", mails)) console.log(task?.task_id ?? error);
   */
  async *submitMany<Name extends TaskName<Tasks>>(
    type: Name,
    inputs: Inputs<TaskInput<Tasks, Name>>,
    options?: SubmitManyOptions,
  ): AsyncGenerator<SubmitOutcome<TaskResult<Tasks, Name>>, void, undefined> {
    yield* (await many()).submitMany(manyParts, this.#transport, type, inputs, options);
  }

  /**
   * Submits tasks of any types, up to 500 in one request, and returns the outcome of each in the same order. Repeats
   * requests, and entries that were refused with 429 or 503, safely. With an `idempotencyKey` in each entry, a second
   * call makes no second task.
   * @throws ProblemError when a whole request is refused; CallTimeout
   * @example
   * const [mail, bill] = await client.submitBatch([
   *   { type: "mail.send", input: { to: "ada@example.com" }, idempotencyKey: "mail-7" },
   *   { type: "invoice.generate", input: order, priority: "low", idempotencyKey: "bill-7" },
   * ]);
   */
  async submitBatch(tasks: readonly TaskEntry<Tasks>[], options?: BatchOptions): Promise<SubmitOutcome[]> {
    return (await many()).submitBatch(manyParts, this.#transport, tasks as readonly TaskEntry<AnyTasks>[], options);
  }

  /**
   * Waits for a task's end and returns its result: the JSON value, or a `File`.
   * @throws TaskFailed, TaskCancelled, TaskExpired, CallTimeout, ProblemError
   */
  async result<Result = unknown>(task: TaskRef<Result>, options: ResultOptions = {}): Promise<Result> {
    return within(options, async (signal) => {
      let last: TaskView | undefined;
      for await (last of this.#changesOf(task, options, signal)) options.onProgress?.(last);
      return (await resultOf(this.#transport, last as TaskView, signal)) as Result;
    });
  }

  /**
   * Iterates over a task's states: the present one, then each change, until its end. It does not throw when the task
   * fails.
   * @example for await (const { status, progress } of client.progress(task)) console.log(status, progress);
   */
  async *progress(task: TaskRef, options: WaitOptions = {}): AsyncGenerator<TaskView, void, undefined> {
    const limit = limitOf(options);
    try {
      yield* this.#changesOf(task, options, limit.signal);
    } finally {
      limit.end();
    }
  }

  /**
   * Iterates over messages about tasks, by push. It goes on until the loop is left: when the connection ends, it opens
   * a new channel. Read the status of your tasks at each `channel.open`, as messages that were sent before it are lost.
   * @throws ProblemError with code `not_found` when the deployment has no channels; TypeError when the runtime has no
   * `WebSocket`
   * @example for await (const message of client.subscribe()) console.log(message.type);
   */
  async *subscribe(options?: SubscribeOptions): AsyncGenerator<ChannelMessage, void, undefined> {
    yield* (await import("./push.ts")).subscribe(fileParts, this.#transport, options);
  }

  /**
   * Names a task by its unique key, for every call that takes a task: the newest one of the type that has or had the
   * key among the caller's own submits. A call that waits for an end waits for that of the task it finds first.
   * @example await client.cancel(client.task({ type: "post.publish", key: "post-4711" }));
   */
  task<Name extends TaskName<Tasks>>({ type, key }: TaskOfKey<Name>): TaskRef<TaskResult<Tasks, Name>> {
    return { task_id: `~${type}:${key}` };
  }

  /** Reads a task once. */
  status(task: TaskRef, options?: CallOptions): Promise<TaskView> {
    return this.#transport.get(pathOf(task), options);
  }

  /** Reads every ended attempt of a task, oldest first. */
  async attempts(task: TaskRef, options?: CallOptions): Promise<AttemptView[]> {
    return (await this.#transport.get<{ attempts: AttemptView[] }>(pathOf(task, "/attempts"), options)).attempts;
  }

  /**
   * Cancels a task. It is `cancelled` in the answer, or still `processing`: then its handler has to stop first.
   * @throws ProblemError `conflict` when the task has ended or cannot be cancelled
   */
  cancel(task: TaskRef, options: CallOptions = {}): Promise<TaskView> {
    return within(options, async (signal) => {
      try {
        return await this.#transport.post<TaskView>(pathOf(task, "/cancel"), {}, { signal });
      } catch (error) {
        const state = refusesRepeat(error, 409) ? await this.status(task, { signal }) : undefined;
        if (state?.status === "cancelled") return state;
        throw error;
      }
    });
  }

  /**
   * Starts a new round of attempts of a failed task. Sent again only when the API did not take the request: a second
   * one could start a round too many.
   * @param options With `input`, the new round and later ones have that input.
   */
  retry(task: TaskRef, options?: CallOptions & { input?: unknown }): Promise<TaskView> {
    return this.#transport.postOnce(pathOf(task, "/retry"), { input: options?.input }, options);
  }

  /**
   * Sends a signal to a task: it answers the task's wait of this name, which may have begun already or begins later.
   * @param name 1 to 64 letters, digits, `.`, `_` and `-`.
   * @param body Any JSON of at most 256 KiB. Default: none, which the task gets as null.
   * @throws ApiError `conflict` when the task has ended, the wait has timed out, or the task has another signal of this
   * name
   */
  signal(
    task: TaskRef,
    name: string,
    body?: unknown,
    options?: CallOptions & { idempotencyKey?: string },
  ): Promise<TaskView> {
    const headers = { "idempotency-key": options?.idempotencyKey ?? newKey() };
    return this.#transport.post(pathOf(task, path`/signals/${name}`), body, options, headers);
  }

  /** Keeps a task for at least this many seconds from now, 60 to 2,592,000. */
  extend(task: TaskRef, retentionSeconds: number, options?: CallOptions): Promise<TaskView> {
    return this.#transport.post(pathOf(task, "/extend"), { retention_seconds: retentionSeconds }, options);
  }

  /**
   * Moves a waiting task to another tier. It runs once, as if it had been submitted to that tier.
   * @throws ProblemError `conflict` when the task does not wait
   */
  setPriority(task: TaskRef, priority: Tier, options?: CallOptions): Promise<TaskView> {
    return this.#transport.post(pathOf(task, "/priority"), { priority }, options);
  }

  /**
   * Moves the start of a task that waits for the end of its delay. An operator moves a retry, too.
   * @throws ProblemError `not_waiting` when the task does not wait for its time
   * @example await client.reschedule(task, { runAt: "2027-03-01T08:00:00Z" });
   */
  reschedule(
    task: TaskRef,
    start: { runAt: Time } | { delaySeconds: number },
    options?: CallOptions,
  ): Promise<TaskView> {
    return this.#transport.post(pathOf(task, "/reschedule"), toWire(start), options);
  }

  /** Deletes the result of a completed task, which the caller has. Reading it is refused with `gone` from then on. */
  acknowledge(task: TaskRef, options?: CallOptions): Promise<void> {
    return this.#transport.post(pathOf(task, "/acknowledge"), {}, options);
  }

  /**
   * Sends a file to the API's file store, and returns the id of the upload for `files` of a submit. An upload that no
   * task has taken after 24 hours is deleted.
   * @param source A `Blob` or `File`, or bytes; in Node also a stream of `sizeBytes` bytes, which cannot be sent again
   * after an error.
   * @throws ProblemError, ConnectionError, CallTimeout
   * @example await client.submit("video.cut", {}, { files: { video: await client.upload(file) } });
   */
  async upload(source: UploadSource, file?: NewFile, options?: TransferOptions): Promise<string> {
    return (await files()).upload(fileParts, this.#transport, source, file, options);
  }

  /**
   * Waits for a task's end and opens its result as a stream, whatever its size. `timeoutMs` ends when the stream
   * begins.
   * @throws ProblemError with code `conflict` when the task has no result; ConnectionError, CallTimeout
   * @example await pipeline((await client.download(task)).body, createWriteStream("talk.mp4"));
   */
  async download(task: TaskRef, options?: TransferOptions): Promise<Download> {
    return (await files()).download(fileParts, this.#transport, pathOf(task, "/result"), options);
  }

  /** Lists tasks, newest first: a submitter's own, or all of an operator's tenant. */
  list({ tags = {}, ...filter }: TaskFilter = {}, options?: CallOptions): List<TaskView> {
    const byTag = Object.entries(tags).map(([name, value]) => [`tag.${name}`, value]);
    const query = { ...toWire(filter), ...Object.fromEntries(byTag) } as Query;
    return new List(this.#transport, "/tasks", "tasks", query, options);
  }

  /** Reads the counts of each tier's queue. Requires the role admin. */
  async queues(options?: CallOptions): Promise<Record<Tier, QueueView>> {
    return (await this.#transport.get<{ queues: Record<Tier, QueueView> }>("/queues", options)).queues;
  }

  /** Lists the task types that the API accepts. */
  async types(options?: CallOptions): Promise<TypeView[]> {
    return (await this.#transport.get<{ types: TypeView[] }>("/types", options)).types;
  }

  /** Reads the API's health, for which no key is needed. */
  health(options?: CallOptions): Promise<{ status: string; version: string }> {
    return this.#transport.get("/health", options);
  }

  async *#changesOf(task: TaskRef, options: ResultOptions, signal: AbortSignal) {
    const { pollMs, push = options.onProgress } = options;
    const firstPoll = this.#firstPolls.get(task as object);
    const poll: Poll = {
      taskId: idOf(task),
      firstWaitMs: Math.min((firstPoll ?? 0) - Date.now(), pollMs ?? Infinity),
      pollMs,
    };
    yield* push
      ? (await import("./follow.ts")).follow(fileParts, [pollOf, isEnd], this.#transport, poll, signal)
      : changesOf(this.#transport, poll, signal);
  }
}
