import { randomUUID } from "node:crypto";
import { type Client, collect, Refusal } from "./client.ts";
import { type Operation, operationPath } from "./operation.ts";
import { Failure, type Terminal } from "./terminal.ts";

/** What a smoke test reads of a task. */
export interface Probed {
  task_id: string;
  status: string;
  attempts: number;
  created_at: string;
  run_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  result: unknown;
  error: string | null;
  error_kind: string | null;
}

/** A task that was submitted, by this process's clock in milliseconds. */
export interface Sent {
  taskId: string;
  sentAt: number;
  answeredAt: number;
}

/** How long a task's record stays after its end, in seconds: the shortest that there is. */
const retentionSeconds = 60;

const firstPauseMs = 150;
const longestPauseMs = 1_000;

/** The most dead letters that one discard can name. */
const mostIds = 100;

/** How long clearing up may take after the checks. */
const cleanUpSeconds = 15;

const terminal: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "expired"]);

/** Submits tasks and follows them for a bounded time, and knows what it has to clear up. */
export class Prober {
  readonly client: Client;
  readonly #terminal: Terminal;
  #limitSeconds = 0;
  #deadline = 0;
  /** Tasks that may have to be cancelled, or are dead letters. */
  readonly #left = new Set<string>();
  readonly #run = randomUUID();

  constructor(client: Client, terminal: Terminal, limitSeconds: number) {
    this.client = client;
    this.#terminal = terminal;
    this.#allow(limitSeconds);
  }

  /** From now on. */
  #allow(seconds: number): void {
    this.#limitSeconds = seconds;
    this.#deadline = performance.now() + seconds * 1000;
  }

  async submit(type: string, input: unknown, options: Record<string, unknown> = {}): Promise<Sent> {
    const body = { type, input, retention_seconds: retentionSeconds, tags: { smoke: this.#run }, ...options };
    const sentAt = performance.now();
    const { task_id } = await this.client.post<{ task_id: string }>("/tasks", body);
    this.#left.add(task_id);
    return { taskId: task_id, sentAt, answeredAt: performance.now() };
  }

  /**
   * Polls until the task has this status.
   * @throws Failure when it ends otherwise, or time is up
   */
  async until(taskId: string, status: string): Promise<Probed> {
    const found = await this.#poll(`task ${taskId}`, async () => {
      const task = await this.client.get<Probed>(pathOf(taskId));
      return task.status === status || terminal.has(task.status) ? task : task.status;
    });
    if (terminal.has(found.status) && found.status !== "failed") this.#left.delete(taskId);
    if (found.status === status) return found;
    throw new Failure(`task ${taskId} is ${found.status}${found.error === null ? "" : `: ${found.error}`}`);
  }

  /** Waits until the dead letters show a task, or until they do not. */
  async untilListed(task: Probed, listed: boolean): Promise<void> {
    const after = task.finished_at ?? task.created_at;
    const span = { failed_after: after, failed_before: new Date(Date.parse(after) + 1).toISOString(), limit: 1_000 };
    await this.#poll(`task ${task.task_id} among the dead letters`, async () => {
      const { items } = await collect<{ task_id: string }>(this.client, "/dead-letters", "dead_letters", span);
      const isListed = items.some(({ task_id }) => task_id === task.task_id);
      return isListed === listed ? {} : `${isListed ? "there" : "not there"}`;
    });
  }

  /** Takes tasks, at most 100, out of the dead letters. */
  async discard(taskIds: readonly string[]): Promise<void> {
    const { operation_id } = await this.client.post<Operation>("/dead-letters/discard", { task_ids: taskIds });
    const operation = await this.#poll(`the discard ${operation_id}`, async () => {
      const now = await this.client.get<Operation>(operationPath(operation_id));
      return terminal.has(now.status) ? now : now.status;
    });
    if (operation.status !== "completed" || operation.failed > 0) {
      throw new Failure(`the discard ${operation_id} is ${operation.status}, ${operation.failed} failed`);
    }
    for (const taskId of taskIds) this.#left.delete(taskId);
  }

  /**
   * Cancels what has not ended, and discards what failed.
   * @returns What could not be cleared up, in words; undefined when nothing is left.
   */
  async cleanUp(): Promise<string | undefined> {
    this.#allow(cleanUpSeconds);
    const failed: string[] = [];
    const looks = [...this.#left].map(async (taskId) => {
      const { status } = await this.client.get<Probed>(pathOf(taskId));
      if (status === "failed") failed.push(taskId);
      else if (!terminal.has(status)) await this.#cancel(taskId);
      else this.#left.delete(taskId);
    });
    const looked = await Promise.allSettled(looks);
    const pages = Array.from({ length: Math.ceil(failed.length / mostIds) }, (_, page) => page * mostIds);
    const discarded = await Promise.allSettled(pages.map((from) => this.discard(failed.slice(from, from + mostIds))));
    const wrong = [...looked, ...discarded].find(({ status }) => status === "rejected") as
      | PromiseRejectedResult
      | undefined;
    return wrong && `left behind: ${[...this.#left].join(", ")}: ${(wrong.reason as Error).message}`;
  }

  async #cancel(taskId: string): Promise<void> {
    await this.client.post(`${pathOf(taskId)}/cancel`);
    await this.until(taskId, "cancelled");
  }

  /** Looks again and again until there is more to see than a word for how it stands. A poll that came too soon does not count. */
  async #poll<T extends object>(what: string, look: () => Promise<T | string>): Promise<T> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.2)) {
      const seen = await look().catch((error: unknown) => {
        if (error instanceof Refusal && error.status === 429) return "asked for too often";
        throw error;
      });
      if (typeof seen === "object") return seen;
      if (performance.now() > this.#deadline)
        throw new Failure(`${what} is still ${seen}: ${this.#limitSeconds} s are over`);
      await this.#terminal.pause(pauseMs);
    }
  }
}

const pathOf = (taskId: string): string => `/tasks/${encodeURIComponent(taskId)}`;
