import type { StepEntry } from "../../ports/steps.ts";
import { readName } from "../../task/step-calls.ts";

/** Name of the entry of a signal that is one of several: the first has the name alone, as every signal has. */
export const numberedSignal = (name: string, number: number): string => (number === 1 ? name : readName(name, number));

/** The number of the calls of `nextSignal` that a task has made for a name, those that wait included. */
export const takenSignals = (name: string, waits: Iterable<Pick<StepEntry, "kind" | "name">>): number =>
  [...waits].filter((one) => one.kind === "wait" && readBy(one) === name).length;

/** The name of the signals that a call of `nextSignal` reads. Undefined: the entry is of another call. */
const readBy = ({ name }: Pick<StepEntry, "name">): string | undefined =>
  /^(?:aggregate \d+: )?([^ |]+) #\d+$/.exec(name)?.[1];
