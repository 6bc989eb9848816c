import { PermanentError } from "../model/errors.ts";
import { FileResult, OutcomeResult } from "./result.ts";

/** A part of a value that JSON loses. */
interface JsonFault {
  /** The part's path, and the cure: `result.total is a Promise: await it`. */
  text: string;
  /** True for NaN and the infinities, which JSON writes as null: the value is stored. */
  passable: boolean;
}

/**
 * The name that an object has by its kind, such as `Map`. The global classes of the web are not touched: Node loads
 * them at their first use.
 */
const tagOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1);

/** Objects of which JSON writes nothing, or not what is meant, and the cure of each. */
const cures: readonly [is: (value: object) => boolean, what: string, cure: string][] = [
  [(value) => typeof (value as { then?: unknown }).then === "function", "a Promise", "await it"],
  [(value) => value instanceof FileResult, "a file", "a file can only be the whole result of a task"],
  [(value) => value instanceof OutcomeResult, "the value of withOutcome", "it can only be the whole result of a task"],
  [(value) => value instanceof Map, "a Map", "use Object.fromEntries(map) or [...map]"],
  [(value) => value instanceof Set, "a Set", "use [...set]"],
  [(value) => tagOf(value) === "Response", "a Response", "use what it contains, such as await response.json()"],
  [
    (value) => tagOf(value) === "Blob",
    "a Blob",
    "use await blob.text(), or return file(blob, ...) as the whole result",
  ],
  [isStream, "a stream", "read it, or return file(stream, ...) as the whole result"],
  [
    (value) => value instanceof ArrayBuffer,
    "an ArrayBuffer",
    "use a text, or return file(bytes, ...) as the whole result",
  ],
  [(value) => value instanceof Error, "an Error", "use its message"],
  [isIterator, "an iterator", "use [...iterator]"],
];

function isStream(value: object): boolean {
  const { pipe, getReader } = value as { pipe?: unknown; getReader?: unknown };
  return typeof pipe === "function" || typeof getReader === "function" || Symbol.asyncIterator in value;
}

function isIterator(value: object): boolean {
  return Symbol.iterator in value && "next" in value;
}

/**
 * Finds the first part of a value that JSON cannot express, or would write as empty: a BigInt, a circle, a Map, a
 * Promise. Only if there is none it returns a part that JSON changes to null. Call it when the text of the value is
 * missing, or has `{}` or `null` in it.
 * @param at Name of the whole value, such as `result`.
 */
function jsonFault(value: unknown, at: string): JsonFault | undefined {
  const passed: string[] = [];
  const text = faultOf(value, at, { above: new Set(), passed });
  if (text !== undefined) return { text, passable: false };
  const [first] = passed;
  return first === undefined ? undefined : { text: first, passable: true };
}

interface Walk {
  /** The objects that contain the present value. */
  above: Set<object>;
  /** Parts that become null. */
  passed: string[];
}

function faultOf(value: unknown, at: string, walk: Walk): string | undefined {
  if (typeof value === "bigint") return `${at} is a BigInt: use a text or a number`;
  if (typeof value === "number" && !Number.isFinite(value))
    walk.passed.push(`${at} is ${value}, which JSON writes as null`);
  if (typeof value !== "object" || value === null) return undefined;
  if (walk.above.has(value)) return `${at} contains itself`;
  walk.above.add(value);
  try {
    return faultOfObject(value, at, walk);
  } catch (error) {
    // Deeper than the stack: nothing is known about it.
    if (error instanceof RangeError) return undefined;
    return `${at} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    walk.above.delete(value);
  }
}

function faultOfObject(value: object, at: string, walk: Walk): string | undefined {
  if (Array.isArray(value)) return firstOf(value.entries(), ([index, part]) => faultOf(part, `${at}[${index}]`, walk));
  const [, what, cure] = cures.find(([is]) => is(value)) ?? [];
  const written = (value as { toJSON?: unknown }).toJSON;
  const isOwn = value instanceof FileResult || value instanceof OutcomeResult;
  if (what !== undefined && (isOwn || typeof written !== "function")) return `${at} is ${what}: ${cure}`;
  if (typeof written === "function") return faultOf(written.call(value), at, walk);
  const names = Object.keys(value);
  if (names.length === 0 && hidesItsValue(value)) {
    return `${at} is a ${nameOf(value)}, of which JSON writes {}: use the values in it`;
  }
  return firstOf(names, (name) => faultOf((value as Record<string, unknown>)[name], pathOf(at, name), walk));
}

/**
 * True for an object of a class with members that JSON does not write: those of built-in classes, getters, private
 * fields behind methods.
 */
function hidesItsValue(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null) return false;
  return Object.getOwnPropertyNames(prototype).some((name) => name !== "constructor");
}

const nameOf = (value: object): string => value.constructor?.name || "hidden value";

const pathOf = (at: string, name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? `${at}.${name}` : `${at}[${JSON.stringify(name.slice(0, 100))}]`;

function firstOf<Part>(parts: Iterable<Part>, look: (part: Part) => string | undefined): string | undefined {
  for (const part of parts) {
    const found = look(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Most bytes of a step's result, of what `once` stores, of a state and of a signal's body, as JSON. */
export const maxValueBytes = 256 * 1024;

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
  if (bytes <= maxValueBytes) return text;
  throw new PermanentError(
    `${what} has ${bytes} bytes as JSON, of at most ${maxValueBytes}; store it elsewhere and return its key`,
  );
}

/** The value of a JSON text. */
export const parsedValue = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text));

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
