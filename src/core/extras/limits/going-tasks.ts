import type { WaitingEntry } from "../../ports/flow.ts";

/** A call that lets a task go has done so within this time, in milliseconds, or has failed. */
const goingMs = 1_000;

interface Going {
  untilMs: number;
  /** True when another call would have let the task go, and has passed it over. */
  isPassedOver: boolean;
}

/** The tasks that calls of one process let go at this moment, by the ids of their waits. */
export class GoingTasks {
  readonly #going = new Map<string, Going>();

  has({ id }: WaitingEntry, nowMs: number): boolean {
    return (this.#going.get(id)?.untilMs ?? 0) > nowMs;
  }

  /** Keeps other calls of this process from letting a task go. Returns false when one has done so. */
  add(task: WaitingEntry, nowMs: number): boolean {
    const other = this.#going.get(task.id);
    if (other !== undefined && other.untilMs > nowMs) {
      other.isPassedOver = true;
      return false;
    }
    for (const [id, { untilMs }] of this.#going) {
      if (untilMs > nowMs) break;
      this.#going.delete(id);
    }
    this.#going.set(task.id, { untilMs: nowMs + goingMs, isPassedOver: false });
    return true;
  }

  /** The task was not let go. Returns true when another call of this process has passed it over meanwhile. */
  delete({ id }: WaitingEntry): boolean {
    const isPassedOver = this.#going.get(id)?.isPassedOver === true;
    this.#going.delete(id);
    return isPassedOver;
  }
}
