import type { TaskView } from "../core/model/task-view.ts";
import type { Status } from "../core/model/words.ts";
import { TaskCancelled, TaskExpired, TaskFailed } from "./errors.ts";
import { fileParts } from "./late-parts.ts";
import { sleep } from "./limits.ts";
import { path, retryAfterOf, type Transport } from "./transport.ts";

/** Milliseconds before the next poll. Default of an answer without `Retry-After`: one second. */
const waitMsOf = (response: Response): number => (retryAfterOf(response) ?? 1) * 1000;

/** Errors of the ends without a result, by the task's status. */
const failures: { [status in Status]?: new (task: TaskView) => Error } = {
  failed: TaskFailed,
  cancelled: TaskCancelled,
  expired: TaskExpired,
};

/** True when the task has ended. */
export const isEnd = ({ status }: { status: Status }): boolean => status === "completed" || status in failures;

/** Loaded on use, as most results are in the status answer. */
export const files = () => import("./files.ts");

export interface Poll {
  taskId: string;
  /** Wait before the first poll. */
  firstWaitMs: number;
  /** Wait between polls. Default: as long as `Retry-After` says. */
  pollMs?: number | undefined;
}

/** Polls a task until its end. Yields each state that differs from the one before; the last one is the end. */
export async function* changesOf(
  transport: Transport,
  { taskId, firstWaitMs, pollMs }: Poll,
  signal: AbortSignal,
): AsyncGenerator<TaskView, void, undefined> {
  let id = taskId;
  let etag: string | undefined;
  let seen: string | undefined;
  for (let waitMs = firstWaitMs; ; ) {
    if (waitMs > 0) await sleep(waitMs, signal);
    const { task, ...answer } = await transport.call(pollOf(id, etag), { signal });
    waitMs = pollMs ?? answer.waitMs;
    if (task === undefined) continue;
    // The task was named by its key, which another task may get.
    id = task.task_id;
    etag = answer.etag;
    // Without the ETag, which a page of another origin may not be allowed to read, every poll returns the task.
    const text = JSON.stringify(task);
    if (text !== seen) yield task;
    seen = text;
    if (isEnd(task)) return;
  }
}

/** The request that reads a task, unless it is as the ETag says. */
export const pollOf = (taskId: string, etag: string | undefined) => ({
  path: path`/tasks/${taskId}`,
  headers: { "if-none-match": etag },
  read: async (response: Response, json: () => Promise<object>) => ({
    task: response.status === 304 ? undefined : ((await json()) as TaskView),
    etag: response.headers.get("etag") ?? undefined,
    waitMs: waitMsOf(response),
  }),
});

/**
 * Returns the result of an ended task.
 * @throws TaskFailed, TaskCancelled, TaskExpired; ProblemError with code `gone` when the result was deleted
 */
export async function resultOf(transport: Transport, task: TaskView, signal: AbortSignal): Promise<unknown> {
  const Failure = failures[task.status];
  if (Failure !== undefined) throw new Failure(task);
  if (task.result_url === null) return task.result;
  return (await files()).storedResult(fileParts, transport, path`/tasks/${task.task_id}/result`, signal);
}
