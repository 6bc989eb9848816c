/**
 * Something that goes wrong in a test, at one step of one attempt. Steps are the calls that an attempt makes to the table,
 * the queues and the scheduler: its claim is step 1, its last ones settle it; `Outcome.attempts[n].steps` names them all.
 * Each fault happens once.
 */
export interface Fault {
  /** The attempt, counted from 1 over all rounds. Default: 1. */
  attempt?: number;
  /** The step, from 1. */
  step: number;
  /**
   * - `crash`: the worker dies right after the step. What the handler waits for then never comes, and it is run anew when
   *   its lease is over.
   * - `refuse`: the call fails, and nothing was done.
   * - `lose`: the call is done, and its answer is lost: the caller is told that it failed.
   * - `timeout`: right after the step, time passes until the attempt's time-out, unless the handler ends first.
   * - `cancel`: a client cancels the task right after the step, and time passes until the handler ends.
   */
  how: "crash" | "refuse" | "lose" | "timeout" | "cancel";
}

/** Faults that wait for their step. */
export class Faults {
  readonly #waiting: Set<Fault>;

  constructor(faults: readonly Fault[]) {
    for (const { step, attempt = 1 } of faults) {
      if (!Number.isInteger(step) || step < 1)
        throw new RangeError(`fault: step must be a whole number from 1, got ${step}`);
      if (!Number.isInteger(attempt) || attempt < 1) {
        throw new RangeError(`fault: attempt must be a whole number from 1, got ${attempt}`);
      }
    }
    this.#waiting = new Set(faults);
  }

  /** The fault of a step, which does not happen again. */
  take(attempt: number, step: number): Fault["how"] | undefined {
    for (const fault of this.#waiting) {
      if ((fault.attempt ?? 1) !== attempt || fault.step !== step) continue;
      this.#waiting.delete(fault);
      return fault.how;
    }
    return undefined;
  }
}
