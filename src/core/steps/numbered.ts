import type { StepEntry } from "../ports/steps.ts";
import { readName } from "../task/step-calls.ts";

/** Name of the entry of a signal that is one of several: the first has the name alone, as every signal has. */
export const numberedSignal = (name: string, number: number): string => (number === 1 ? name : readName(name, number));

/** The number of the signals of a name that the task's calls of `nextSignal` have taken, those of open calls included. */
export const takenSignals = (name: string, waits: Iterable<Pick<StepEntry, "kind" | "name">>): number =>
  [...waits].filter((one) => one.kind === "wait" && readBy(one) === name).length;

/** The name of the signals that a call of `nextSignal` reads. Undefined: the entry is of another call. */
const readBy = ({ name }: Pick<StepEntry, "name">): string | undefined =>
  /^(?:aggregate \d+: )?([^ |]+) #\d+$/.exec(name)?.[1];
