import { AsyncLocalStorage } from "node:async_hooks";
import { fingerprint } from "../model/idempotency.ts";

/** A step that runs: its name, and how many calls of each kind it has numbered. */
interface RunningStep {
  name: string;
  counts: Map<Numbering, number>;
}

const running = new AsyncLocalStorage<RunningStep>();

/**
 * Runs a step, whose spawns and submits are numbered for themselves: an attempt that finds the step's result does not
 * make them.
 */
export const runInStep = <T>(name: string, run: () => T): T => running.run({ name, counts: new Map() }, run);

/** Characters of a print: 36 bits. */
export const printLength = 6;

/** A short text of a child's type and input, equal for equal ones. */
export const printOf = ({ type, input }: { type: string; input?: unknown }): string =>
  fingerprint([type, input ?? null]).slice(0, printLength);

/**
 * The default keys of an attempt's spawns, or of its submits: their numbers.
 *
 * An attempt that starts with a state may make the calls from before the checkpoint again, or go on behind them. A call
 * that has the number of an earlier one and its type and input is that call. Any other one is new, and has the next
 * number behind those of the checkpoint.
 */
export class Numbering {
  readonly #prefix: string;
  readonly #first: number;
  #calls = 0;
  /** Number of calls before the checkpoint with whose state the attempt started. */
  #before = 0;
  #behind = 0;

  constructor(prefix: string, first: number) {
    this.#prefix = prefix;
    this.#first = first;
  }

  /** Number of calls outside of steps, those before the checkpoint included. */
  get count(): number {
    return this.#before === 0 ? this.#calls : this.#before + this.#behind;
  }

  startBehind(count: number): void {
    this.#before = count;
  }

  /** @param isSame True when an earlier attempt made the same call under this key. */
  next(isSame: (key: string) => boolean): string {
    const step = running.getStore();
    if (step !== undefined) {
      const count = step.counts.get(this) ?? 0;
      step.counts.set(this, count + 1);
      return `${step.name}#${this.#first + count}`;
    }
    const number = this.#calls;
    this.#calls += 1;
    if (this.#before === 0 || (number < this.#before && isSame(this.#keyOf(number)))) return this.#keyOf(number);
    this.#behind += 1;
    return this.#keyOf(this.#before + this.#behind - 1);
  }

  #keyOf(number: number): string {
    return `${this.#prefix}${this.#first + number}`;
  }
}
