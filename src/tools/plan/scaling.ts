import { limits } from "./figures.ts";

/** Parameters of an event source's growth and shrinkage. */
export interface Scaling {
  /** Concurrent invocations that are possible after an idle time. */
  readonly idle: number;
  /** Maximum of concurrent invocations. */
  readonly most: number;
  /** Additional concurrent invocations with each growth step. */
  readonly step: number;
  readonly stepSeconds: number;
  /** Time that unused capacity stays before it shrinks, with the same steps as it grew. */
  readonly keepSeconds: number;
}

/** AWS does not document how fast unused capacity shrinks. A minute is a pessimistic assumption for the next burst. */
const keepSeconds = 60;

/** An SQS event source without provisioned pollers: 5 concurrent invocations at first, 300 more per minute. */
export const standardScaling = (maxConcurrency: number = limits.eventSourceMost.value): Scaling => {
  const most = Math.min(maxConcurrency, limits.eventSourceMost.value);
  return {
    idle: Math.min(limits.eventSourceStart.value, most),
    most,
    step: 1,
    stepSeconds: 60 / limits.eventSourceGrowth.value,
    keepSeconds,
  };
};

/** An SQS event source with provisioned pollers: 10 concurrent invocations per poller, 100 more pollers per minute. */
export const provisionedScaling = (pollers: { minimum: number; maximum: number }): Scaling => {
  const each = limits.pollerInvocations.value;
  return {
    idle: pollers.minimum * each,
    most: pollers.maximum * each,
    step: each,
    stepSeconds: (60 * each) / limits.pollerGrowth.value,
    keepSeconds,
  };
};

/** Capacity of one event source: the concurrent invocations that it can have now. */
export class Room {
  readonly #scaling: Scaling;
  #now: number;
  /** Time when a message last waited for capacity. */
  #wantedAt = 0;

  constructor(scaling: Scaling) {
    this.#scaling = scaling;
    this.#now = scaling.idle;
  }

  /** True when one more invocation can start beside those that run. */
  fits(running: number, time: number): boolean {
    return running < this.#at(running, time);
  }

  get atMost(): boolean {
    return this.#now >= this.#scaling.most;
  }

  get stepSeconds(): number {
    return this.#scaling.stepSeconds;
  }

  /** Grows by one step, because messages wait. */
  grow(running: number, time: number): void {
    this.#now = Math.min(this.#scaling.most, this.#at(running, time) + this.#scaling.step);
    this.#wantedAt = time;
  }

  /** Stores that messages wait while all capacity is used. */
  want(time: number): void {
    this.#wantedAt = time;
  }

  #at(running: number, time: number): number {
    const { idle, step, stepSeconds, keepSeconds } = this.#scaling;
    const unused = time - this.#wantedAt - keepSeconds;
    if (unused <= 0 || this.#now <= idle) return this.#now;
    const gone = Math.floor(unused / stepSeconds) * step;
    if (gone > 0) {
      this.#now = Math.max(idle, running, this.#now - gone);
      this.#wantedAt = time - keepSeconds;
    }
    return this.#now;
  }
}
