import { PermanentError } from "../model/errors.ts";
import { jsonFault } from "./json-fault.ts";

/** Most bytes of a step's result, of what `once` stores, of a state and of a signal's body, as JSON. */
export const mostValueBytes = 256 * 1024;

/** The text of a value as JSON. */
export interface JsonText {
  /** Undefined: the value is undefined. */
  text: string | undefined;
  /** A part that JSON writes as null. */
  lost?: string;
}

/**
 * JSON text of a value.
 * @param what Name of the value in messages, such as `the result of step "charge"`.
 * @param at Name of the value in paths, such as `result`.
 * @throws PermanentError, with the path, when JSON cannot express the value or would write a part of it as empty
 */
export function jsonText(value: unknown, what: string, at: string): JsonText {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (value === undefined) return { text: undefined };
  // What JSON empties or cannot write shows in its text; other values are not looked through.
  const fault = text === undefined || text.includes("{}") || text.includes("null") ? jsonFault(value, at) : undefined;
  if (text !== undefined && fault?.passable !== false) return { text, ...(fault && { lost: fault.text }) };
  const why = fault?.passable === false ? fault.text : reasonOf(value, cause);
  throw new PermanentError(`${what} cannot be serialised as JSON: ${why}`, cause === undefined ? {} : { cause });
}

function reasonOf(value: unknown, cause: unknown): string {
  if (cause !== undefined) return cause instanceof Error ? cause.message : String(cause);
  return `it is a ${typeof value}`;
}

/**
 * JSON text of a value that is stored beside a task. Undefined: the value is undefined.
 * @throws PermanentError when JSON cannot express the value, or it is too large
 */
export function valueText(value: unknown, what: string, at = "result"): string | undefined {
  const { text } = jsonText(value, what, at);
  const bytes = text === undefined ? 0 : Buffer.byteLength(text);
  if (bytes <= mostValueBytes) return text;
  throw new PermanentError(
    `${what} has ${bytes} bytes as JSON, of at most ${mostValueBytes}; store it elsewhere and return its key`,
  );
}

/** The value of a JSON text. */
export const parsedValue = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text));
