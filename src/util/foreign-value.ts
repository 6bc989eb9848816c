/*
 * Values that code of others made: what a handler threw, logged or returned. They may be anything, also objects that
 * throw when they are read.
 */

/** Reads a property of anything; a getter that throws counts as absent. */
export function property(value: unknown, name: PropertyKey): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` for any value; a proxy that throws is not an instance. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/**
 * True for a response or headers of `fetch`, of any copy of it. Without `instanceof`: Node loads its own copy, which
 * takes 25 ms, when somebody reads the global.
 */
export const isOfFetch = (value: unknown, name: "Response" | "Headers"): boolean =>
  property(value, Symbol.toStringTag) === name;

/** The names of an object's members; none when they cannot be listed. */
export function namesOf(value: object): string[] {
  try {
    return Object.keys(value);
  } catch {
    return [];
  }
}

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof property(value, "then") === "function";

/** Takes a promise that code returned where none is expected: its rejection says nothing more than that. */
export function quiet(value: unknown): void {
  if (isPromise(value)) void Promise.resolve(value).catch(() => {});
}

/** A value in a message, in at most 60 characters. */
export function inShort(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) {
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
  }
  if (Array.isArray(value)) return "a list";
  return isPromise(value) ? "a promise" : "an object";
}
