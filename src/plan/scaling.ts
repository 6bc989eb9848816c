import { limits } from "./figures.ts";

/** How the invocations of an event source grow and shrink. */
export interface Scaling {
  /** Invocations at once that are possible at any time. */
  readonly idle: number;
  /** Invocations at once at the most. */
  readonly most: number;
  /** How many more are possible after each step of waiting for room. */
  readonly step: number;
  readonly stepSeconds: number;
  /** How long room that nobody needs stays, before it goes step by step as it came. */
  readonly keepSeconds: number;
}

/** AWS does not say how fast unused room goes; a minute makes the next burst wait rather than promise too much. */
const keepSeconds = 60;

/** An SQS event source without provisioned pollers: from 5 invocations at once, 300 more per minute. */
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

/** An SQS event source with provisioned pollers: each has 10 invocations at once, and 100 more pollers come per minute. */
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

/** The room that one event source has: how many invocations it may have at once, now. */
export class Room {
  readonly #scaling: Scaling;
  #now: number;
  /** When somebody last waited for room. */
  #wantedAt = 0;

  constructor(scaling: Scaling) {
    this.#scaling = scaling;
    this.#now = scaling.idle;
  }

  /** Whether another invocation fits beside those that run. */
  fits(running: number, time: number): boolean {
    return running < this.#at(running, time);
  }

  get atMost(): boolean {
    return this.#now >= this.#scaling.most;
  }

  get stepSeconds(): number {
    return this.#scaling.stepSeconds;
  }

  /** One step more, as messages wait. */
  grow(running: number, time: number): void {
    this.#now = Math.min(this.#scaling.most, this.#at(running, time) + this.#scaling.step);
    this.#wantedAt = time;
  }

  /** Says that messages wait although all the room is used. */
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
