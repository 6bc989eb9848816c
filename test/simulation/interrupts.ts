import type { Attempt } from "../../src/core/model/record.ts";
import type { Invocation } from "./invocation.ts";
import type { Claim, Lives, Watched } from "./lives.ts";

/** An attempt whose cancel `now` was asked for does no harm after this time, in milliseconds. */
const harmWithinMs = 10_000;

/** The part of a handler's execution that these laws look at. */
interface Running {
  from: Invocation;
  over: boolean;
  calls?: boolean;
}

const isExcused = ({ process, troubledUntil }: Invocation, sinceMs: number): boolean =>
  process.stood || troubledUntil >= sinceMs;

/** Laws of the processes that a cancel `now` ends. */
export class InterruptLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;

  constructor(watched: Watched, lives: Lives) {
    this.#watched = watched;
    this.#lives = lives;
  }

  /** A client asked for an end now: the handler has stopped in time, or its process is dead. */
  asked(run: Running | undefined, taskId: string): void {
    if (run === undefined || run.over) return;
    const { time } = this.#watched;
    const askedAt = time.now;
    time.after(harmWithinMs, () => {
      if (run.over || run.calls || !run.from.process.alive || isExcused(run.from, askedAt)) return;
      this.#lives.violated("its handler goes on 10 s after its cancel now", taskId);
    });
  }

  /** No handler starts in a process that is about to be ended. */
  started(from: Invocation, taskId: string): void {
    if (from.interrupted) this.#lives.violated(`its handler starts in ${from.name}, which has to end`, taskId);
  }

  /** An attempt beside the one that did not stop is given back, and counts as nothing. */
  ended(taskId: string, claim: Claim, { outcome }: Pick<Attempt, "outcome">): void {
    const { interrupted, answered } = claim.by;
    if (outcome !== "crashed" || !interrupted || !answered || !claim.known || isExcused(claim.by, 1)) return;
    this.#lives.violated(`it lost an attempt with ${claim.by.name}, which was ended for another one`, taskId);
  }
}
