/**
 * A failure in a test, at one step of one attempt. The steps of an attempt are its calls to the table, the queues and the
 * scheduler. Step 1 is its claim, the last steps settle it. `Outcome.attempts[n].steps` has the names of all steps. Each fault
 * happens once.
 */
export interface Fault {
  /** Number of the attempt, from 1, over all rounds. Default: 1. */
  attempt?: number;
  /** Number of the step in the attempt, from 1. */
  step: number;
  /**
   * - `crash`: the worker dies after the step. The handler never continues, and the next attempt starts when the lease ends.
   * - `refuse`: the call fails and has no effect.
   * - `lose`: the call has its effect, but its answer is lost, so that the caller gets an error.
   * - `timeout`: after the step, time passes until the attempt's time-out or the end of the handler.
   * - `cancel`: a client cancels the task after the step, and time passes until the handler ends.
   */
  how: "crash" | "refuse" | "lose" | "timeout" | "cancel";
}

/** The faults that have not happened yet. */
export class Faults {
  readonly #waiting: Set<Fault>;

  constructor(faults: readonly Fault[]) {
    for (const { step, attempt = 1 } of faults) {
      if (!Number.isInteger(step) || step < 1)
        throw new RangeError(`The fault's step must be a whole number of 1 or more, got ${step}.`);
      if (!Number.isInteger(attempt) || attempt < 1) {
        throw new RangeError(`The fault's attempt must be a whole number of 1 or more, got ${attempt}.`);
      }
    }
    this.#waiting = new Set(faults);
  }

  /** Removes and returns the fault of a step. */
  take(attempt: number, step: number): Fault["how"] | undefined {
    for (const fault of this.#waiting) {
      if ((fault.attempt ?? 1) !== attempt || fault.step !== step) continue;
      this.#waiting.delete(fault);
      return fault.how;
    }
    return undefined;
  }
}
