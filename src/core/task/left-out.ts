import type * as z from "zod";

/** The fields of a zod definition that tell if undefined fits. Each kind of schema has some of them. */
interface Definition {
  type: string;
  values?: readonly unknown[];
  options?: readonly z.core.$ZodType[];
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  left?: z.core.$ZodType;
  right?: z.core.$ZodType;
  getter?: () => z.core.$ZodType;
}

/** Schemas that undefined fits, or for which only their code can tell: the worker runs it. */
const takeUndefined = ["undefined", "void", "any", "unknown", "custom"];

/**
 * True when a client may leave a value out that undefined fits, as JSON has no undefined. By zod's own marks: a check
 * of undefined would run the schema's code, which may be async. Not for `z.coerce`, which makes "undefined" of it.
 */
export function mayBeLeftOut(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  const fits = (part: z.core.$ZodType | undefined) => part !== undefined && mayBeLeftOut(part, seen);
  if (schema._zod.optin !== undefined) return true;
  const { type, values = [], options = [], innerType, getter, left, right, ...def } = schema._zod.def as Definition;
  if (takeUndefined.includes(type) || values.includes(undefined)) return true;
  if (type === "nonoptional" || type === "promise" || type === "success") return false;
  if (type === "intersection") return fits(left) && fits(right);
  return options.some(fits) || fits(innerType) || fits(def.in) || fits(getter?.());
}

/** An issue of zod, as far as it tells that a member is missing. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly expected?: unknown;
  readonly errors?: readonly (readonly Issue[])[];
}

/**
 * Gives an input the members that it lacks, and whose schema takes undefined: zod refuses them as missing. Returns true
 * when there are some. The input's JSON stays the same.
 */
export function addUndefined(value: unknown, issues: readonly Issue[]): boolean {
  let hasAdded = false;
  for (const { path, expected, errors = [] } of issues) {
    const parent = path.slice(0, -1).reduce(memberOf, value);
    const name = path.at(-1);
    if (expected === "nonoptional" && name !== undefined && isObject(parent) && !Object.hasOwn(parent, name)) {
      hasAdded = Reflect.set(parent, name, undefined) || hasAdded;
    }
    // The issues of a union's options start at the union.
    const at = errors.length === 0 ? undefined : path.reduce(memberOf, value);
    for (const option of errors) hasAdded = addUndefined(at, option) || hasAdded;
  }
  return hasAdded;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const memberOf = (value: unknown, name: PropertyKey): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? (value as Record<PropertyKey, unknown>)[name] : undefined;
