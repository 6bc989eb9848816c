import { setTimeout as sleep } from "node:timers/promises";
import type { VerifyClock } from "./check.ts";
import { Stopped } from "./run-checks.ts";

/** The machine's clock, whose pauses end when the checks have to stop. */
export class StoppableClock implements VerifyClock {
  readonly #stop = new AbortController();
  readonly stopped: Promise<never>;

  constructor() {
    const { signal } = this.#stop;
    this.stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    // It may have no listener yet.
    this.stopped.catch(() => {});
  }

  now(): number {
    return Date.now();
  }

  async pause(ms: number): Promise<void> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    await sleep(ms, undefined, { signal }).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error;
    });
  }

  /** True when the checks had to stop before their end. */
  isStopped = false;

  /** Ends all pauses, and the checks with them. */
  stop(reason: string): void {
    this.isStopped = true;
    this.#stop.abort(new Stopped(reason));
  }

  /** Ends the pauses of checks that have had their time. */
  end(): void {
    this.#stop.abort(new Stopped("all checks have ended"));
  }
}

/** The machine's clock, for the clean-up: nothing stops it. */
export const machineClock: VerifyClock = {
  now: () => Date.now(),
  pause: async (ms) => {
    await sleep(ms);
  },
};
