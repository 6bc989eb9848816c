import { inexact, numberFault } from "../../src/util/exact-number.ts";

/**
 * The value of a JSON text that somebody has entered.
 * @throws Error with words for people: the text is not JSON, or has an integer that would be changed
 */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text, exact);
  } catch (error) {
    if (error instanceof Inexact) throw error;
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
}

class Inexact extends Error {}

/**
 * Refuses a number that would be changed, as the API does. Browsers without the source of a value leave that to the
 * API's schema.
 */
function exact(_: string, value: unknown, { source = "" }: { source?: string } = {}): unknown {
  if (typeof value === "number") checkExact(source, value);
  return value;
}

/** @throws Error for the text of a number that would be changed */
export function checkExact(text: string, value: number): void {
  const fault = /^-?\d/.test(text) ? numberFault(text, value) : undefined;
  if (fault !== undefined) throw new Inexact(`${text.slice(0, 40)}: ${inexact(fault)}.`);
}
