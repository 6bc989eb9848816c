import { PermanentError } from "../../model/errors.ts";
import type { StepEntry } from "../../ports/steps.ts";
import { parsedValue } from "../../task/json-value.ts";
import type { Call } from "../../task/step-calls.ts";
import { checkedSignalName, type WaitEnd } from "../../task/step-names.ts";
import { numberedSignal, takenSignals } from "./numbered.ts";
import type { StepTools } from "./step-tools.ts";
import { checkedEnd } from "./wait-ends.ts";

/** A call of `nextSignal`: its name, and its number among the attempt's calls of this name, from 1. */
interface Reading {
  name: string;
  number: number;
}

/** The names of the signals that the calls of an attempt read now. */
const underWay = new WeakMap<StepTools, Set<string>>();

/**
 * Reads the next signal of a name. Signals and time-outs have numbers without a gap. Each call takes the signal, or the
 * time-out, of its own number: if both come at the same moment, the store decides.
 * @returns The signal's body; undefined when the wait timed out.
 */
export async function nextSignal(
  steps: StepTools,
  call: Call,
  reading: Reading,
  begun: (untilAt: (nowMs: number) => number) => Promise<number>,
  end: WaitEnd,
): Promise<unknown> {
  const name = checkedSignalName(reading.name, "nextSignal");
  const untilAt = checkedEnd(end, "nextSignal");
  const names = underWay.get(steps) ?? new Set();
  underWay.set(steps, names);
  if (names.has(name)) throw new PermanentError(`nextSignal ${JSON.stringify(name)}: one call at a time`);
  names.add(name);
  return next(steps, call, reading, () => begun(untilAt)).finally(() => names.delete(name));
}

async function next(
  steps: StepTools,
  call: Call,
  { name, number }: Reading,
  begun: () => Promise<number>,
): Promise<unknown> {
  const stored = await steps.stored();
  // The calls of `aggregate` go on behind those of the handler, and of earlier rounds.
  const prefix = call.name.slice(0, -steps.ownName(call).length);
  const others = [...stored.values()].filter((one) => prefix !== "" && !one.name.startsWith(prefix));
  const item = numberedSignal(name, takenSignals(name, others) + number);
  const untilMs = await begun();
  const come = stored.get(`signal:${item}`);
  if (come !== undefined) return bodyOf(come);
  if (steps.ports.clock.now() < untilMs) await steps.rest.wait({ untilMs, signals: [name] });
  return bodyOf(await steps.add({ kind: "signal", name: item, timed_out: true }));
}

const bodyOf = ({ timed_out, value }: StepEntry): unknown => (timed_out === true ? undefined : parsedValue(value));
