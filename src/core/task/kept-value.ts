import { PermanentError } from "../model/errors.ts";
import { parsedValue, valueText } from "./json-value.ts";

/*
 * The outcome of an effect, as `once` and `step` keep it: what they return first is what every later attempt gets. An
 * effect that was done is not done again, also when its outcome cannot be kept: then every attempt fails with the same
 * fault.
 */

/** The outcome of an effect that was done. */
export interface Kept {
  value: unknown;
  /** Fault of an outcome that cannot be kept. Absent: `value` is the outcome. */
  fault?: string;
}

/** The JSON text of an outcome; undefined for undefined. */
export interface KeptText {
  text: string | undefined;
  fault?: string;
}

/** @param what The effect in words, such as `step "charge"`. */
export function keptText(outcome: unknown, what: string): KeptText {
  try {
    return { text: valueText(outcome, `the result of ${what}`) };
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    return { text: undefined, fault: fault.slice(0, 500).toWellFormed() };
  }
}

/** The outcome of a text or of a stored step. */
export const keptIn = ({ value, fault }: { value?: string; fault?: string }): Kept => ({
  value: parsedValue(value),
  ...(fault !== undefined && { fault }),
});

/**
 * Returns the kept outcome.
 * @throws PermanentError for an outcome that could not be kept
 */
export function mustBeKept({ value, fault }: Kept, what: string): unknown {
  if (fault === undefined) return value;
  throw new PermanentError(
    `${fault}. The effect was done, and is not done again: change what ${what} returns, and its name`,
  );
}
