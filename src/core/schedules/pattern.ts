import { envelopeFields } from "./bus-event.ts";
import { isMatch, matchFault, type PatternMatch } from "./pattern-matches.ts";

/**
 * Accepted values of a field: texts, numbers, true, false, null, and matches such as `{ prefix: "in/" }`. One of them
 * must match.
 */
export type PatternValues = readonly (string | number | boolean | null | PatternMatch)[];

/** Fields of an object of the event. All of them must match; of `$or`, one of its objects. */
export interface PatternFields {
  readonly [field: string]: PatternValues | PatternFields | readonly PatternFields[];
}

/** An event pattern of EventBridge. */
export interface EventPattern {
  readonly version?: PatternValues;
  readonly id?: PatternValues;
  readonly "detail-type"?: PatternValues;
  readonly source?: PatternValues;
  readonly account?: PatternValues;
  readonly time?: PatternValues;
  readonly region?: PatternValues;
  readonly resources?: PatternValues;
  readonly "replay-name"?: PatternValues;
  readonly detail?: PatternFields;
  readonly $or?: readonly EventPattern[];
}

/** EventBridge's limit, in bytes of JSON. */
const maxPatternBytes = 4_096;

/** EventBridge's limit of the combinations that the `$or` of a pattern make. */
const maxCombinations = 1_000;

/** Field names with a meaning of their own, which EventBridge does not accept as fields within `$or`. */
const reservedInOr: ReadonlySet<string> = new Set([
  ...["exactly", "prefix", "suffix", "equals-ignore-case", "wildcard", "anything-but", "numeric", "cidr", "exists"],
  ...["=", "<", "<=", ">", ">="],
]);

class PatternFault extends Error {
  static override readonly name: string = "PatternFault";
}

const refuse = (path: readonly string[], reason: string): never => {
  throw new PatternFault(path.length === 0 ? reason : `${path.join(".")}: ${reason}`);
};

/** Returns why EventBridge would refuse a pattern, or why no event can match it. Undefined: the pattern is valid. */
export function patternFault(pattern: unknown): string | undefined {
  try {
    if (new TextEncoder().encode(JSON.stringify(pattern)).length > maxPatternBytes) {
      refuse([], `expected at most ${maxPatternBytes} bytes of JSON`);
    }
    checkObject(pattern, [], false);
    if (combinationsOf(pattern as PatternFields) > maxCombinations) {
      refuse([], `$or makes more than ${maxCombinations} combinations`);
    }
    return undefined;
  } catch (error) {
    if (error instanceof PatternFault) return error.message;
    throw error;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Checks an object of a pattern. Returns the paths of its fields. */
function checkObject(pattern: unknown, path: readonly string[], inOr: boolean): string[] {
  if (!isObject(pattern)) return refuse(path, "expected an object");
  const entries = Object.entries(pattern);
  if (entries.length === 0) refuse(path, "expected at least one field");
  const found = entries.map(([name, value]) =>
    name === "$or" ? checkOr(value, path) : checkField(name, value, path, inOr),
  );
  // EventBridge would keep only the last condition of a field that is named twice.
  const all = found.flat();
  const twice = all.find((one, index) => all.indexOf(one) !== index);
  if (twice !== undefined) refuse([twice], "expected one condition of a field, not one within $or and one beside it");
  return all;
}

function checkField(name: string, value: unknown, parents: readonly string[], inOr: boolean): string[] {
  const path = [...parents, name];
  if (parents.length === 0 && !(envelopeFields as readonly string[]).includes(name)) {
    refuse(path, `events have no such field; expected one of ${envelopeFields.join(", ")}`);
  }
  if (name.includes(".")) refuse(path, "expected nested objects instead of a name with dots");
  if (inOr && reservedInOr.has(name)) refuse(path, "EventBridge does not accept a field of this name within $or");
  if (!Array.isArray(value)) {
    return isObject(value)
      ? checkObject(value, path, inOr)
      : refuse(path, `expected an array of values, such as [${JSON.stringify(value)}]`);
  }
  if (value.length === 0) refuse(path, "expected at least one value");
  for (const one of value) {
    const fault = valueFault(one);
    if (fault !== undefined) refuse(path, fault);
  }
  return [path.join(".")];
}

function valueFault(value: unknown): string | undefined {
  if (isObject(value)) return matchFault(value);
  const isScalar = value === null || ["string", "number", "boolean"].includes(typeof value);
  return isScalar ? undefined : "expected texts, numbers, true, false, null, or matches such as { prefix: ... }";
}

function checkOr(value: unknown, path: readonly string[]): string[] {
  const at = [...path, "$or"];
  if (!Array.isArray(value) || value.length < 2) return refuse(at, "expected an array of at least two objects");
  return [...new Set(value.flatMap((branch) => checkObject(branch, path, true)))];
}

/** Number of combinations of the branches of all `$or`, as EventBridge counts them: each `$or` multiplies. */
function combinationsOf(pattern: unknown): number {
  if (!isObject(pattern)) return 1;
  return Object.entries(pattern).reduce((product, [name, value]) => {
    if (name !== "$or") return product * combinationsOf(value);
    return product * (value as unknown[]).reduce((sum: number, branch) => sum + combinationsOf(branch), 0);
  }, 1);
}

/**
 * True when an event matches a valid pattern. Only the local server asks: in AWS, EventBridge matches events itself.
 */
export function matchesPattern(pattern: EventPattern, event: Readonly<Record<string, unknown>>): boolean {
  return matchesObject(pattern as PatternFields, event);
}

function matchesObject(pattern: PatternFields, event: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(pattern).every(([name, expected]) => {
    if (name === "$or") return (expected as readonly PatternFields[]).some((branch) => matchesObject(branch, event));
    const value = Object.hasOwn(event, name) ? event[name] : undefined;
    if (Array.isArray(expected)) return matchesValues(expected as PatternValues, scalarsOf(value));
    // Of an array of objects, one element must have all the fields. Any other value counts as an object without fields.
    const objects = objectsOf(value);
    return (objects.length === 0 ? [{}] : objects).some((one) => matchesObject(expected as PatternFields, one));
  });
}

/** True when one of the values accepts one of the scalars. A field is absent if it has no scalar. */
const matchesValues = (values: PatternValues, scalars: readonly unknown[]): boolean =>
  values.some((value) => {
    if (!isObject(value)) return scalars.includes(value);
    if ("exists" in value) return value.exists === scalars.length > 0;
    return scalars.some((scalar) => isMatch(value as unknown as PatternMatch, scalar));
  });

const elementsOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : value === undefined ? [] : [value];

const scalarsOf = (value: unknown): unknown[] => elementsOf(value).filter((one) => !isObject(one));

const objectsOf = (value: unknown): Record<string, unknown>[] => elementsOf(value).filter(isObject);
