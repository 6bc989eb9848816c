import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/core/ports/tasks.ts";

/** A clock that moves only when told to. */
export class FakeClock implements Clock {
  #now: number;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  constructor(start: string | number = "2027-01-01T00:00:00.000Z") {
    this.#now = new Date(start).getTime();
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(delayMs, 0), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves on, rings the timers on the way in their order, and lets what they started go as far as it can. */
  async advance(seconds: number): Promise<void> {
    const end = this.#now + seconds * 1000;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  /** Moves on without ringing any timer, as when the machine or the process was off. */
  skip(seconds: number): void {
    this.#now += seconds * 1000;
  }
}

/** Lets promises and I/O that are under way go on. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await setImmediate();
}
