import { useEffect, useRef } from "preact/hooks";
import { ProblemError } from "../../../src/client/errors.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { isTerminal } from "../../../src/core/model/words.ts";
import { onMessage } from "../live.ts";
import { type Loaded, useLoad } from "../load.ts";
import { api, tenant } from "../session.ts";

/**
 * Time between two reads of a task that has not ended, in milliseconds. Messages come earlier, but one can get lost.
 */
const everyMs = 5_000;

/** The same of a task that has ended: somebody may retry it. */
const everyEndedMs = 20_000;

/** Shortest time between two reads after messages, in milliseconds. */
const leastMs = 1_000;

/** Path of a task, or of a part of it. */
export const taskPath = <Part extends string = "">(taskId: string, part = "" as Part) =>
  `/tasks/${encodeURIComponent(taskId)}${part}` as const;

/** True when no attempt follows by itself. */
export const hasEnded = ({ status }: TaskView): boolean => isTerminal(status);

/** A task that follows what happens: by messages, and by reads. */
export function useTask(taskId: string): Loaded<TaskView> {
  const task = useLoad(`task ${taskId} ${tenant.value}`, (signal) =>
    api.get<TaskView>(taskPath(taskId), undefined, { signal }),
  );
  const { value, error, reload } = task;
  const isRefused = value === undefined && error instanceof ProblemError;
  const waitMs = isRefused || (value !== undefined && hasEnded(value)) ? everyEndedMs : everyMs;
  useEffect(() => {
    const read = () => {
      if (!document.hidden) reload();
    };
    const timer = setInterval(read, waitMs);
    document.addEventListener("visibilitychange", read);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", read);
    };
  }, [waitMs]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastMs = 0;
    const read = () => {
      timer = undefined;
      lastMs = Date.now();
      reload();
    };
    const stop = onMessage((message) => {
      const concerns = "task_id" in message ? message.task_id === taskId : message.type === "channel.open";
      if (concerns) timer ??= setTimeout(read, Math.max(50, leastMs - (Date.now() - lastMs)));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [taskId]);
  return task;
}

/** The state of a task in which its attempts and its input are the same. */
export const stateOf = ({ status, attempts, waiting_for, next_attempt_at }: TaskView): string =>
  JSON.stringify([status, attempts, waiting_for?.kind, next_attempt_at]);

/** Calls `again` when `state` changes, and not at first. */
export function useAgain(state: string, again: () => void): void {
  const last = useRef(state);
  useEffect(() => {
    if (last.current === state) return;
    last.current = state;
    again();
  }, [state]);
}

/** A part of a task, which is read again when `state` changes. Until then the last answer stays. */
export function useTaskPart<T>(task: TaskView, part: string, state: string): Loaded<T> {
  const loaded = useLoad(`${part} ${task.task_id} ${tenant.value}`, (signal) =>
    api.get<T>(taskPath(task.task_id, part), undefined, { signal }),
  );
  useAgain(state, loaded.reload);
  return loaded;
}
