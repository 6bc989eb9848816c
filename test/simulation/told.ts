import type { Notice } from "../../src/core/notify/notice.ts";
import type { TaskRecord } from "../../src/core/record.ts";
import { isTerminal } from "../../src/core/status.ts";
import { endId } from "../../src/core/tell.ts";

/** An end of a task that somebody has to be told of. */
interface End {
  taskId: string;
  status: string;
  /** Notices of it. */
  notices: number;
}

/** Ends of tasks, and the notices of them. */
export class Told {
  /** Notices of ends that nobody asked for, or that did not happen. */
  readonly wrong: { text: string; taskId: string }[] = [];
  readonly #ends = new Map<string, End>();
  /** Ends that nobody could tell of in time. A late notice of one is right. */
  readonly #late = new Set<string>();
  readonly #mustTell: (record: TaskRecord) => boolean;

  /** @param mustTell True for a task whose end has a subscriber. */
  constructor(mustTell: (record: TaskRecord) => boolean) {
    this.#mustTell = mustTell;
  }

  changed(before: TaskRecord, after: TaskRecord): void {
    if (isTerminal(before.status) || !isTerminal(after.status) || !this.#mustTell(after)) return;
    this.#ends.set(endId(after), { taskId: after.task_id, status: after.status, notices: 0 });
  }

  notice(notice: Notice): void {
    if (notice.kind !== "end") return;
    const { id, task_id: taskId, task } = notice;
    const end = this.#ends.get(id);
    const wrong = (text: string) => this.wrong.push({ text, taskId });
    if (end === undefined) return void wrong("told of an end without a subscriber, or that did not happen");
    if (end.taskId !== taskId) wrong("told of the end of another task");
    if (end.status !== task.status) wrong(`told that it is ${task.status}, and it ended ${end.status}`);
    end.notices += 1;
  }

  /** The retention of a task has ended, and the table has deleted its record, or has another task's: nobody can tell of its ends any more. */
  gone(taskId: string): void {
    for (const [id, end] of this.#ends) if (end.taskId === taskId && end.notices === 0) this.#late.add(id);
  }

  /**
   * Laws at rest: each end is told, and not more often than its messages and clients explain.
   * @param most Most notices of one end of a task.
   * @param accepted True for a task whose end must be told.
   */
  broken(most: (taskId: string) => number, accepted: (taskId: string) => boolean): { text: string; taskId: string }[] {
    const broken = [...this.#ends].flatMap(([id, { taskId, status, notices }]) => {
      if (notices === 0 && !this.#late.has(id) && accepted(taskId))
        return [{ taskId, text: `nobody was told that it ${status}` }];
      if (notices > most(taskId)) return [{ taskId, text: `${notices} notices of one end` }];
      return [];
    });
    return [...this.wrong, ...broken];
  }
}
