import { iso } from "../../model/record.ts";
import type { StepEntry } from "../../ports/steps.ts";
import { mustBeOutside } from "../../task/ambient.ts";
import { parsedValue } from "../../task/json-value.ts";
import {
  type Call,
  checkedMs,
  checkedSignalName,
  keyOf,
  readName,
  type WaitEnd,
  wakeOf,
} from "../../task/step-calls.ts";
import type { AnySignal, StepTools } from "./step-tools.ts";

/** Returns the end of a wait that begins now; both in epoch milliseconds. @throws PermanentError */
type UntilAt = (nowMs: number) => number | Promise<number>;

/** The sleeps and the waits for signals of one attempt. */
export class Waits {
  readonly #steps: StepTools;
  #sleeps = 0;
  /** The number of the calls of `nextSignal`, by the names of their signals. */
  readonly #read = new Map<string, number>();

  constructor(steps: StepTools) {
    this.#steps = steps;
  }

  async sleep(seconds: number): Promise<void> {
    mustBeOutside("task.sleep");
    const ms = checkedMs(seconds, "sleep: seconds");
    return this.#sleep((nowMs) => nowMs + ms);
  }

  async sleepUntil(date: Date | string): Promise<void> {
    mustBeOutside("task.sleepUntil");
    return this.#sleep(async (nowMs) => (await import("./late-waits.ts")).untilTime(date, "sleepUntil")(nowMs));
  }

  #sleep(untilAt: UntilAt): Promise<void> {
    this.#sleeps += 1;
    const steps = this.#steps;
    return steps.call("sleep", String(this.#sleeps), async (call, stored) => {
      const untilMs = await this.#begun(call, stored, untilAt);
      const isWoken = (await steps.stored()).has(keyOf(wakeOf(call)));
      if (!isWoken && steps.ports.clock.now() < untilMs) await steps.rest.wait({ untilMs });
    });
  }

  /** Stores the end of a sleep or wait that begins. Returns the end that was stored first, in epoch milliseconds. */
  async #begun(call: Call, stored: StepEntry | undefined, untilAt: UntilAt): Promise<number> {
    if (stored?.until !== undefined) return Date.parse(stored.until);
    const until = iso(await untilAt(this.#steps.ports.clock.now()));
    return Date.parse((await this.#steps.add({ ...call, until })).until ?? until);
  }

  /** Most waits end after some seconds: the code of the others is loaded when it is needed. */
  #endOf(end: WaitEnd | undefined, what: string): UntilAt {
    if (end?.until !== undefined)
      return async (nowMs) => (await import("./late-waits.ts")).checkedEnd(end, what)(nowMs);
    const ms = checkedMs(end?.timeoutSeconds as number, `${what}: timeoutSeconds`);
    return (nowMs) => nowMs + ms;
  }

  /** @returns The signal that came first; undefined when the wait timed out. */
  async waitForAny(given: object, end: WaitEnd): Promise<AnySignal | undefined> {
    mustBeOutside("task.waitForAny");
    const names = Object.keys(given ?? {}).toSorted();
    return this.#steps.call("wait", names.join("|"), async (call, stored) => {
      const { anySignal } = await import("./late-waits.ts");
      return anySignal(this.#steps, call, names, (untilAt) => this.#begun(call, stored, untilAt), end);
    });
  }

  /** @returns The body of the next signal of this name; undefined when the wait timed out. */
  async nextSignal(name: string, end: WaitEnd): Promise<unknown> {
    mustBeOutside("task.nextSignal");
    const number = (this.#read.get(name) ?? 0) + 1;
    this.#read.set(name, number);
    const steps = this.#steps;
    return steps.call("wait", readName(name, number), async (call, stored) => {
      const late = await import("./late-waits.ts");
      return late.nextSignal(steps, call, { name, number }, (untilAt) => this.#begun(call, stored, untilAt), end);
    });
  }

  /** @returns The signal's body; undefined when the wait timed out. */
  async waitFor(name: string, end: WaitEnd): Promise<unknown> {
    mustBeOutside("task.waitFor");
    const untilAt = this.#endOf(end, "waitFor");
    const steps = this.#steps;
    return steps.call("wait", checkedSignalName(name), async (call, stored) => {
      const untilMs = await this.#begun(call, stored, untilAt);
      const signal = (await steps.stored()).get(`signal:${name}`);
      if (signal !== undefined) return signalValue(signal);
      if (steps.ports.clock.now() < untilMs) await steps.rest.wait({ untilMs, signals: [name] });
      // The time-out is stored, too: a signal that comes later must not change what this task did.
      return signalValue(await steps.add({ kind: "signal", name, timed_out: true }));
    });
  }
}

const signalValue = ({ timed_out, value }: StepEntry): unknown => (timed_out === true ? undefined : parsedValue(value));
