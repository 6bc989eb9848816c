import type { Clock } from "../../core/ports/tasks.ts";

/** The longest wait of a Node timer. */
const longestTimerMs = 2 ** 31 - 1;

interface Timer {
  dueMs: number;
  order: number;
  callback: () => void;
  handle: NodeJS.Timeout;
}

/** The machine's clock with time added to it. Its timers do not keep the process alive. */
export class MovableClock implements Clock {
  #movedMs: number;
  #order = 0;
  readonly #timers = new Set<Timer>();
  readonly #wall: () => number;

  /** @param wall The machine's time, in epoch milliseconds. */
  constructor(movedMs = 0, wall: () => number = () => Date.now()) {
    this.#movedMs = movedMs;
    this.#wall = wall;
  }

  /** Time that was added to the machine's, in milliseconds. */
  get movedMs(): number {
    return this.#movedMs;
  }

  readonly now = (): number => this.#wall() + this.#movedMs;

  readonly after = (delayMs: number, callback: () => void): (() => void) => {
    const waitMs = Math.min(Math.max(delayMs, 0), longestTimerMs);
    const timer: Timer = {
      dueMs: this.now() + waitMs,
      order: this.#order++,
      callback,
      handle: setTimeout(() => this.#ring(timer), waitMs).unref(),
    };
    this.#timers.add(timer);
    return () => this.#forget(timer);
  };

  /** Adds time up to this sum, and calls what became due, in its order. Time never goes back. */
  moveTo(movedMs: number): void {
    if (movedMs <= this.#movedMs) return;
    this.#movedMs = movedMs;
    const now = this.now();
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= now);
    for (const timer of due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)) {
      if (this.#timers.has(timer)) this.#ring(timer);
    }
    this.#setHandles();
  }

  /** Goes back to the machine's time. Timers keep the waits that they have left. */
  reset(): void {
    for (const timer of this.#timers) timer.dueMs -= this.#movedMs;
    this.#movedMs = 0;
  }

  /** The machine's timers of what is left would ring too late. */
  #setHandles(): void {
    for (const timer of this.#timers) {
      clearTimeout(timer.handle);
      timer.handle = setTimeout(() => this.#ring(timer), Math.max(0, timer.dueMs - this.now())).unref();
    }
  }

  #ring(timer: Timer): void {
    this.#forget(timer);
    timer.callback();
  }

  #forget(timer: Timer): void {
    clearTimeout(timer.handle);
    this.#timers.delete(timer);
  }
}
