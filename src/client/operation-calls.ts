import type { DryRun, StartedOperation, TaskLogView } from "../api/acts/views.ts";
import type { LetterGroups } from "../core/control/group-dead-letters.ts";
import type { OperationView } from "../core/control/operation.ts";
import type { StepView } from "../core/control/stored-parts.ts";
import type { LogLine } from "../core/control/task-log.ts";
import type { TaskView } from "../core/model/task-view.ts";
import type { Status, Tier } from "../core/model/words.ts";
import type { ScheduleView } from "../core/schedules/schedule-record.ts";
import { bodyOf, type DeadLetterFilter, type Selection } from "./dead-letters.ts";
import { type CallOptions, sleep } from "./limits.ts";
import { List } from "./list.ts";
import { idOf, type TaskRef } from "./task-ref.ts";
import { type ClientOptions, path, type Query, Transport } from "./transport.ts";
import { type Time, toWire } from "./wire.ts";

/** Pause after a page of a log without lines, in milliseconds. */
const logPauseMs = 1_000;

/** A page without lines can have others behind it: a log that is not followed ends after so many. */
const mostEmptyPages = 3;

/** Filter for many tasks. An absent field selects all. */
export interface BulkFilter {
  status?: Status | undefined;
  /** True: only tasks that wait for another attempt after a failed one. False: all others. */
  retrying?: boolean | undefined;
  type?: string | undefined;
  priority?: Tier | undefined;
  /** Only tasks with all these tags. */
  tags?: Readonly<Record<string, string>> | undefined;
  createdAfter?: Time | undefined;
  createdBefore?: Time | undefined;
}

/**
 * Selects tasks: at most 100 by id, or by filter. An empty filter selects all of the tenant that the action can change.
 */
export type TaskSelection = { readonly taskIds: readonly string[] } | { readonly filter: BulkFilter };

/**
 * Calls that act on many tasks, groups of dead letters, and those about operations, also replays and discards of dead
 * letters. They require the role operator.
 */
export class Operations {
  readonly #transport: Transport;

  /**
   * @throws TypeError when an option is missing or not valid
   * @example const { operation_id } = await new Operations({ url, key }).cancelTasks({ filter: { type: "mail.send" } });
   */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** Counts the tasks that an action would select. Changes nothing. */
  async count(
    action: "cancel" | "retry" | "run-now",
    selection: TaskSelection,
    options?: CallOptions,
  ): Promise<number> {
    return (await this.dryRun(action, selection, options)).matched;
  }

  /** As `count`; for all tenants (the client's option `tenant` is `*`) also the number of each tenant's. */
  dryRun(action: "cancel" | "retry" | "run-now", selection: TaskSelection, options?: CallOptions): Promise<DryRun> {
    return this.#transport.post(`/tasks/${action}`, { ...bodyOf(selection), dry_run: true }, options);
  }

  /**
   * As `deadLetters.count` of the client; for all tenants (the option `tenant` is `*`) also the number of each
   * tenant's.
   */
  dryRunOfLetters(action: "replay" | "discard", selection: Selection, options?: CallOptions): Promise<DryRun> {
    return this.#transport.post(`/dead-letters/${action}`, { ...bodyOf(selection), dry_run: true }, options);
  }

  /**
   * Cancels the selected tasks that have not ended. Sent again only when the API did not take the request.
   * @param options With `now: true`, attempts that have not stopped after 5 s are ended with their processes.
   */
  cancelTasks(
    selection: TaskSelection,
    { now, ...options }: CallOptions & { now?: boolean | undefined } = {},
  ): Promise<StartedOperation> {
    return this.#transport.postOnce("/tasks/cancel", { ...bodyOf(selection), now }, options);
  }

  /**
   * Cancels a task whose handler may ignore its signal: an attempt that has not stopped after 5 s is ended with its
   * process.
   * @throws ProblemError `conflict` when the task has ended or cannot be cancelled
   */
  cancelNow(task: TaskRef, options?: CallOptions): Promise<TaskView> {
    return this.#transport.post(path`/tasks/${idOf(task)}/cancel`, { now: true }, options);
  }

  /**
   * Starts a new round of the selected failed tasks. Sent again only when the API did not take the request: a second
   * retry could start a task that has failed once more since.
   */
  retryTasks(
    selection: TaskSelection,
    { perSecond, ...options }: CallOptions & { perSecond?: number | undefined } = {},
  ): Promise<StartedOperation> {
    return this.#transport.postOnce("/tasks/retry", { ...bodyOf(selection), per_second: perSecond }, options);
  }

  /**
   * Changes the rate of a replay, retry or run-now, also while it runs.
   * @throws ProblemError `conflict` when it has ended
   */
  changeRate(operationId: string, perSecond: number, options?: CallOptions): Promise<OperationView> {
    const body = { per_second: perSecond };
    return this.#transport.call({ method: "PATCH", path: path`/operations/${operationId}`, body }, options);
  }

  /**
   * Lists the dead letters of a tier again whose records are gone, from their messages in its DLQ, within some seconds.
   * Admins only.
   */
  async recoverDeadLetters(tier: Tier, options?: CallOptions): Promise<void> {
    await this.#transport.post(path`/queues/${tier}/recover`, {}, options);
  }

  /** Makes the selected tasks that wait for a retry or the end of their delay due at once. */
  runTasksNow(
    selection: TaskSelection,
    { perSecond, ...options }: CallOptions & { perSecond?: number | undefined } = {},
  ): Promise<StartedOperation> {
    return this.#transport.postOnce("/tasks/run-now", { ...bodyOf(selection), per_second: perSecond }, options);
  }

  /** Groups dead letters by type and error. Reads the newest 10,000 that match the filter's times at most. */
  deadLetterGroups(filter: DeadLetterFilter = {}, options?: CallOptions): Promise<LetterGroups> {
    return this.#transport.get("/dead-letters/groups", options, toWire(filter) as Query);
  }

  /** Reads the steps, sleeps, waits and states of a task, in the order of the handler's calls. */
  async steps(task: TaskRef, options?: CallOptions): Promise<StepView[]> {
    return (await this.#transport.get<{ steps: StepView[] }>(path`/tasks/${idOf(task)}/steps`, options)).steps;
  }

  /** Reads some lines of a task's log, oldest first, from `cursor` on. `nextCursor` undefined: the log is complete. */
  async logPage(
    task: TaskRef,
    { cursor, limit, ...options }: CallOptions & { cursor?: string | undefined; limit?: number | undefined } = {},
  ): Promise<{ lines: LogLine[]; nextCursor: string | undefined }> {
    const found = await this.#transport.get<TaskLogView>(path`/tasks/${idOf(task)}/logs`, options, { cursor, limit });
    return { lines: found.lines, nextCursor: found.next_cursor ?? undefined };
  }

  /**
   * Reads a task's log, oldest first, until the task has ended and its last line is read; with `follow: false` only the
   * lines that are there.
   * @example for await (const { at, message } of operations.logs(task)) console.log(at, message);
   */
  async *logs(
    task: TaskRef,
    { follow = true, ...options }: CallOptions & { follow?: boolean | undefined } = {},
  ): AsyncGenerator<LogLine, void> {
    let cursor: string | undefined;
    let empty = 0;
    do {
      const page = await this.logPage(task, { ...options, cursor, limit: 1_000 });
      yield* page.lines;
      cursor = page.nextCursor;
      empty = page.lines.length === 0 ? empty + 1 : 0;
      if (!follow && empty === mostEmptyPages) return;
      if (follow && empty > 0 && cursor !== undefined)
        await sleep(logPauseMs, options.signal ?? new AbortController().signal);
    } while (cursor !== undefined);
  }

  /**
   * Reads the input of a task, while it is kept.
   * @throws ProblemError `input_not_kept` when it is not
   */
  async input(task: TaskRef, options?: CallOptions): Promise<unknown> {
    return (await this.#transport.get<{ input: unknown }>(path`/tasks/${idOf(task)}/input`, options)).input;
  }

  /**
   * Replaces the input of a waiting task. The new one is checked as at a submit.
   * @throws ProblemError `conflict` when the task runs or has ended, or has stored steps, signals or children
   */
  changeInput(task: TaskRef, input: unknown, options?: CallOptions): Promise<TaskView> {
    return this.#transport.post(path`/tasks/${idOf(task)}/input`, { input }, options);
  }

  /**
   * Makes a task that waits for a retry or the end of its delay due at once. As an operator, it ends a sleep of the
   * handler, too.
   * @throws ProblemError `not_waiting` when the task does not wait for its time
   */
  runNow(task: TaskRef, options?: CallOptions): Promise<TaskView> {
    return this.#transport.post(path`/tasks/${idOf(task)}/run-now`, {}, options);
  }

  /** Pauses a schedule, of the code or of a client: it submits nothing until it is resumed. */
  pauseSchedule(scheduleId: string, options?: CallOptions): Promise<ScheduleView> {
    return this.#transport.post(path`/schedules/${scheduleId}/pause`, {}, options);
  }

  /**
   * Resumes a schedule. Its times until now stay skipped.
   * @throws ProblemError `conflict` when it is paused for all tenants
   */
  resumeSchedule(scheduleId: string, options?: CallOptions): Promise<ScheduleView> {
    return this.#transport.post(path`/schedules/${scheduleId}/resume`, {}, options);
  }

  /** Lists the children of a task, newest first. @param filter Only those with this status. */
  children(task: TaskRef, filter: { status?: Status | undefined } = {}, options?: CallOptions): List<TaskView> {
    return new List(this.#transport, path`/tasks/${idOf(task)}/children`, "tasks", { ...filter }, options);
  }

  /** Reads the progress of an operation. */
  get(operationId: string, options?: CallOptions): Promise<OperationView> {
    return this.#transport.get(path`/operations/${operationId}`, options);
  }

  /** Cancels an operation. What is done stays done. */
  cancel(operationId: string, options?: CallOptions): Promise<OperationView> {
    return this.#transport.post(path`/operations/${operationId}/cancel`, {}, options);
  }
}
