import timers from "node:timers";
import type { Clock } from "../core/ports/tasks.ts";
import { Heap } from "../util/heap.ts";

interface Timer {
  at: number;
  order: number;
  callback: () => void;
}

/** A clock whose time changes only by `advance`. Timers run in the order of their times. */
export class FakeClock implements Clock {
  #now: number;
  readonly #timers = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  #order = 0;

  /** @param startMs Epoch milliseconds. Default: 2027-01-01T00:00:00Z. */
  constructor(startMs = Date.UTC(2027, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.put(timer);
    return () => this.#timers.delete(timer);
  }

  /** Time of the next timer, in epoch milliseconds. Undefined: there are no timers. */
  nextTimer(): number | undefined {
    return this.#timers.first()?.at;
  }

  /** Advances the time, and runs the timers that become due. Pending promises run between them. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms;
    for (let timer = this.#timers.first(); timer !== undefined && timer.at <= target; timer = this.#timers.first()) {
      this.#now = Math.max(this.#now, timer.at);
      this.#timers.delete(timer);
      timer.callback();
      await settlePromises();
    }
    this.#now = target;
    await settlePromises();
  }
}

/** Node's own function: a test may have replaced the global one, such as by `vi.useFakeTimers()`. */
const { setImmediate } = timers;

/** Resolves after all code that waits only for promises has run. */
const settlePromises = () => new Promise<void>((resolve) => setImmediate(resolve));
