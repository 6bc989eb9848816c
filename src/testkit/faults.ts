/**
 * A failure in a test, at one step of one attempt. `Outcome.attempts[n].steps` has the names of all steps. They are:
 * - the attempt's calls to the table, the queues and the scheduler, from its claim to its settle;
 * - the handler's calls on its context: `task.once(key)`, `task.submit(type)`, `task.spawn(type)`,
 *   `task.spawnAll(type)`, `task.step(name)`, `task.sleep(seconds)`, `task.waitFor(name)`, `task.nextSignal(name)`,
 *   `task.checkpoint`, `task.continueLater`, `task.progress(percent)`, `task.log.info(message)`;
 * - the end of the author's own code: `handler returned`, `aggregate returned`, `effect of once key returned`,
 *   `step name returned`, or `threw`.
 *
 * Each fault happens once. `run` throws when a fault has not happened, because its step never came.
 */
export type Fault = FaultPlace & FaultKind;

interface FaultPlace {
  /**
   * Key of the spawned child in which it happens. A child without a key has its number, from 0. A list names a child of
   * a child. Default: the task itself.
   */
  child?: ChildKey | readonly ChildKey[];
  /** Number of the attempt, from 1, over all rounds. Default: 1. */
  attempt?: number;
  /** Number of the step in the attempt, from 1, or its name. Of several steps with this name, the first one. */
  step: number | string;
}

/** Key of a child, or the number of a child that was spawned without a key. */
type ChildKey = string | number;

interface PlainFault {
  /**
   * - `crash`: the worker dies after the step. The handler never continues, and the next attempt starts when the lease
   *   ends. `task.progress` and `task.log` are not awaited: after a crash there, the handler's own code continues to
   *   its next call of `task.once` or `task.submit`, or to its end.
   * - `refuse`: the call fails and has no effect. Only for calls to the table, the queues and the scheduler.
   * - `lose`: the call has its effect, but its answer is lost, so that the caller gets an error. Only for the same
   *   calls.
   * - `timeout`: after the step, time passes until the attempt's time-out or the end of the handler. A step of the
   *   handler itself lasts until the time-out.
   * - `cancel`: a client cancels the task after the step, and time passes until the handler ends.
   */
  how: "crash" | "refuse" | "lose" | "timeout" | "cancel";
}

/**
 * The handler fails: after `claim` it throws without a start of its code; a call on its context throws; its code has
 * returned.
 */
interface ThrowFault {
  how: "throw";
  error: unknown;
}

type FaultKind = PlainFault | ThrowFault;

/** Keys from the task of the test to a child, outermost first. Empty: the task itself. */
export type ChildPath = readonly string[];

/** The child of a fault. */
export const pathOf = ({ child = [] }: Fault): ChildPath => [child].flat().map(String);

/** Text that names a child in a message. Empty for the task itself. */
export const ofChild = (path: ChildPath): string =>
  path
    .map((key) => ` of child ${key}`)
    .reverse()
    .join("");

/** The faults that have not happened yet. */
export class Faults {
  readonly #waiting: Set<Fault>;

  constructor(faults: readonly Fault[]) {
    for (const { step, attempt = 1 } of faults) {
      if (typeof step === "number" && (!Number.isInteger(step) || step < 1))
        throw new RangeError(`The fault's step must be a name or a whole number of 1 or more, got ${step}.`);
      if (!Number.isInteger(attempt) || attempt < 1) {
        throw new RangeError(`The fault's attempt must be a whole number of 1 or more, got ${attempt}.`);
      }
    }
    this.#waiting = new Set(faults);
  }

  /** Removes and returns the fault of a step. */
  take(path: ChildPath, attempt: number, number: number, name: string): Fault | undefined {
    for (const fault of this.#waiting) {
      if ((fault.attempt ?? 1) !== attempt || (fault.step !== number && fault.step !== name)) continue;
      if (JSON.stringify(pathOf(fault)) !== JSON.stringify(path)) continue;
      this.#waiting.delete(fault);
      return fault;
    }
    return undefined;
  }

  /** Gives back the fault of a step that did not come. */
  giveBack(fault: Fault): void {
    this.#waiting.add(fault);
  }

  /** The first fault that has not happened. */
  next(): Fault | undefined {
    const [fault] = this.#waiting;
    return fault;
  }
}
