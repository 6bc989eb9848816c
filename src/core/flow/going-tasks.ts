import type { WaitingEntry } from "../ports/flow.ts";

/** A call that lets a task go has done so within this time, in milliseconds, or has failed. */
const goingMs = 1_000;

/** The tasks that calls of one process let go at this moment, by the ids of their waits. */
export class GoingTasks {
  readonly #untilMs = new Map<string, number>();

  has({ id }: WaitingEntry, nowMs: number): boolean {
    return (this.#untilMs.get(id) ?? 0) > nowMs;
  }

  /** Keeps other calls of this process from letting a task go. Returns false when one has done so. */
  add(task: WaitingEntry, nowMs: number): boolean {
    if (this.has(task, nowMs)) return false;
    for (const [id, untilMs] of this.#untilMs) {
      if (untilMs > nowMs) break;
      this.#untilMs.delete(id);
    }
    this.#untilMs.set(task.id, nowMs + goingMs);
    return true;
  }

  /** The task was not let go. */
  delete({ id }: WaitingEntry): void {
    this.#untilMs.delete(id);
  }
}
