import { randomUUID } from "node:crypto";
import { type Client, ProblemError, type SubmitOptions, type TaskView } from "../../client/index.ts";
import { take, textOf } from "./connection.ts";
import { failedAt } from "./dlq-commands.ts";
import { jsonOf } from "./json-input.ts";
import { CommandFailed, UsageError } from "./terminal.ts";

/** A submitted task. Times are milliseconds of the prober's clock. */
export interface SentProbe {
  taskId: string;
  sentAt: number;
  answeredAt: number;
}

/**
 * Time that a record is kept after the task's end, in seconds, unless an option says otherwise. This is the minimum.
 */
const leastRetentionSeconds = 60;

const firstPauseMs = 150;

/** Maximum number of dead letters in one discard. */
const maxIdsPerDiscard = 100;

/** Default time limit of the clean-up after the checks. */
const defaultCleanUpSeconds = 15;

const terminal: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "expired"]);

/**
 * The task type and the input that the command line names.
 * @throws UsageError for `--input` without `--type`, or not in JSON
 */
export function sampleGiven({ type, input }: { type?: string; input?: string }) {
  if (type !== undefined) return { type, input: jsonOf(input ?? "{}") };
  if (input !== undefined) throw new UsageError("--input needs --type");
  return undefined;
}

interface ProberClock {
  /** Milliseconds. */
  now(): number;
  pause(ms: number): Promise<void>;
}

interface ProberOptions {
  /** Name of the tag that all its tasks have. */
  tag: string;
  /** Time limit of its waits, in seconds from now. */
  limitSeconds: number;
  /** Longest pause between two polls of a task, in milliseconds. Default: 1,000. */
  longestPauseMs?: number;
  /** Most tasks that it submits. Default: no limit. */
  mostTasks?: number;
  /** Time that a record is kept after the task's end, in seconds. Default: 60. */
  retentionSeconds?: number;
}

/** Submits tasks, polls them within a time limit, and cleans up those that are left. */
export class Prober {
  readonly client: Client;
  readonly #options: ProberOptions;
  #clock: ProberClock;
  #limitSeconds = 0;
  #deadline = 0;
  /** Ids of tasks to clean up: they may still run, or are dead letters. */
  readonly #toCleanUp = new Set<string>();
  readonly run = randomUUID();
  /** Number of submitted tasks, and of polls. */
  tasks = 0;
  polls = 0;

  constructor(client: Client, clock: ProberClock, options: ProberOptions) {
    this.client = client;
    this.#clock = clock;
    this.#options = options;
    this.#setTimeLimit(options.limitSeconds);
  }

  /** Sets the time limit, counted from now. */
  #setTimeLimit(seconds: number): void {
    this.#limitSeconds = seconds;
    this.#deadline = this.#clock.now() + seconds * 1000;
  }

  /** @throws CommandFailed when it has submitted as many tasks as it may */
  async submit(type: string, input: unknown, options: SubmitOptions = {}): Promise<SentProbe> {
    const { tag, mostTasks = Infinity, retentionSeconds = leastRetentionSeconds } = this.#options;
    if (this.tasks >= mostTasks) throw new CommandFailed(`${mostTasks} tasks were submitted, which is the limit`);
    this.tasks += 1;
    const all = { retentionSeconds, tags: { [tag]: this.run }, ...options };
    const sentAt = this.#clock.now();
    const { task_id } = await this.client.submit(type, input, all);
    this.#toCleanUp.add(task_id);
    return { taskId: task_id, sentAt, answeredAt: this.#clock.now() };
  }

  /**
   * Polls until the task has this status.
   * @throws CommandFailed when the task ends with another status, or at the time limit
   */
  async until(taskId: string, status: string): Promise<TaskView> {
    const found = await this.#poll(`task ${taskId}`, async () => {
      this.polls += 1;
      const task = await this.client.status(taskId);
      return task.status === status || terminal.has(task.status) ? task : task.status;
    });
    if (terminal.has(found.status) && found.status !== "failed") this.#toCleanUp.delete(taskId);
    if (found.status === status) return found;
    throw new CommandFailed(`task ${taskId} is ${found.status}${found.error === null ? "" : `: ${found.error}`}`);
  }

  /** Submits a task, and polls until it has completed. */
  async completed(type: string, input: unknown, options?: SubmitOptions): Promise<TaskView> {
    const { taskId } = await this.submit(type, input, options);
    return this.until(taskId, "completed");
  }

  /** Waits until the list of dead letters contains a task, or until it does not, as `listed` says. */
  async untilListed(task: TaskView, listed: boolean): Promise<void> {
    const list = this.client.deadLetters.list(failedAt(task.finished_at ?? task.created_at));
    await this.#poll(`task ${task.task_id}`, async () => {
      const { items } = await take(list, 1_000);
      const isListed = items.some(({ task_id }) => task_id === task.task_id);
      return isListed === listed ? {} : `${isListed ? "" : "not "}in the list of dead letters`;
    });
  }

  /** Discards dead letters, at most 100. */
  async discard(taskIds: readonly string[]): Promise<void> {
    const { operation_id } = await this.client.deadLetters.discard({ taskIds });
    const operation = await this.#poll(`the discard ${operation_id}`, async () => {
      const now = await this.client.deadLetters.operation(operation_id);
      return terminal.has(now.status) ? now : now.status;
    });
    if (operation.status !== "completed" || operation.failed > 0) {
      throw new CommandFailed(`the discard ${operation_id} is ${operation.status}, ${operation.failed} failed`);
    }
    for (const taskId of taskIds) this.#toCleanUp.delete(taskId);
  }

  /**
   * Cancels tasks that have not ended, and discards those that failed.
   * @param clock its clock from now on. Default: its present clock
   * @returns A message with the tasks that could not be cleaned up; undefined when nothing is left.
   */
  async cleanUp(clock = this.#clock, limitSeconds = defaultCleanUpSeconds): Promise<string | undefined> {
    this.#clock = clock;
    this.#setTimeLimit(limitSeconds);
    const failed: string[] = [];
    const cancels = [...this.#toCleanUp].map(async (taskId) => {
      const { status } = await this.client.status(taskId);
      if (status === "failed") failed.push(taskId);
      else if (!terminal.has(status)) await this.#cancel(taskId);
      else this.#toCleanUp.delete(taskId);
    });
    const cancelled = await Promise.allSettled(cancels);
    const discards: Promise<void>[] = [];
    while (failed.length > 0) discards.push(this.discard(failed.splice(0, maxIdsPerDiscard)));
    const discarded = await Promise.allSettled(discards);
    const wrong = [...cancelled, ...discarded].find((one) => one.status === "rejected");
    return wrong && `could not clean up ${[...this.#toCleanUp].join(", ")}: ${textOf(wrong.reason)}`;
  }

  async #cancel(taskId: string): Promise<void> {
    await this.client.cancel(taskId);
    await this.until(taskId, "cancelled");
  }

  /** Polls until `look` returns an object instead of a status text. A 429 counts as "not yet". */
  async #poll<T extends object>(what: string, look: () => Promise<T | string>): Promise<T> {
    const { longestPauseMs = 1_000 } = this.#options;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.2)) {
      const seen = await look().catch((error: unknown) => {
        if (error instanceof ProblemError && error.status === 429) return "unknown (the API answered 429)";
        throw error;
      });
      if (typeof seen === "object") return seen;
      if (this.#clock.now() > this.#deadline)
        throw new CommandFailed(`${what} is still ${seen} after ${this.#limitSeconds} s`);
      await this.#clock.pause(pauseMs);
    }
  }
}
