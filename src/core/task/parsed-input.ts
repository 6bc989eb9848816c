import type * as z from "zod";
import { isAsyncError } from "../model/check-now.ts";
import type { Envelope } from "../model/envelope.ts";
import { InputTooNew, InvalidInput } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { TaskType } from "./task.ts";

/**
 * The version of a task's input. The record has it too, because a worker of an older release drops it from the
 * envelope.
 */
export const inputVersionOf = (
  envelope: Pick<Envelope, "input_version">,
  record: Pick<TaskRecord, "input_version">,
): number => envelope.input_version ?? record.input_version ?? 1;

/**
 * Brings an input of an earlier version to its type's present version, step by step.
 * @throws InvalidInput when a step is missing or throws; InputTooNew when the input's version is later than the
 * worker's
 */
export function upcastInput({ version, upcast }: TaskType, input: unknown, inputVersion: number): unknown {
  if (inputVersion === version) return input;
  if (inputVersion > version) {
    throw new InputTooNew(`the input has version ${inputVersion}; this worker knows versions up to ${version}`);
  }
  // A retry sends the original input again: no step may change it.
  let current: unknown = structuredClone(input);
  for (let from = inputVersion; from < version; from++) current = stepFrom(upcast, from, version, current);
  return current;
}

function stepFrom(upcast: TaskType["upcast"], from: number, version: number, input: unknown): unknown {
  const step = upcast[from];
  if (step === undefined) {
    throw new InvalidInput(
      `the input has version ${from}; this worker expects version ${version} and has no step from ${from}`,
    );
  }
  const result = callStep(step, from, input);
  if (!(result instanceof Promise)) return result;
  // An unhandled rejection would end the worker.
  result.catch(() => {});
  throw new InvalidInput(`the step from version ${from} to ${from + 1} of the input returned a promise`);
}

function callStep(step: (input: never) => unknown, from: number, input: unknown): unknown {
  try {
    return step(input as never);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInput(`the step from version ${from} to ${from + 1} of the input failed: ${why}`, { cause });
  }
}

/** A parsed value, or the fault of a value that does not fit. */
export type Parsed = { data: unknown } | { fault: InvalidInput };

/**
 * Parses an input with its type's schema, after the steps from an earlier version to the present one. The input of a
 * type that collects is a list. A promise for an async schema only.
 * @param collected True for the array of a list. Absent: the input is of one submit.
 * @throws InvalidInput when a step fails
 */
export function parseInput(
  type: TaskType,
  given: unknown,
  version: number,
  collected?: boolean,
): Parsed | Promise<Parsed> {
  if (type.collect !== undefined) return parseList(type, collected && Array.isArray(given) ? given : [given], version);
  const origin = version === type.version ? "" : `from version ${version}, `;
  return parseBy(type.input, upcastInput(type, given, version), `${origin}input`);
}

function parseList(type: TaskType, all: readonly unknown[], version: number): Parsed | Promise<Parsed> {
  const origin = version === type.version ? "" : `from version ${version}, `;
  return listOf(
    all.map((value, index) => parseBy(type.input, upcastInput(type, value, version), `${origin}input.${index}`)),
  );
}

/** The list of what was parsed, or its first fault. */
function listOf(all: readonly (Parsed | Promise<Parsed>)[]): Parsed | Promise<Parsed> {
  const isNow = (one: Parsed | Promise<Parsed>): one is Parsed => !(one instanceof Promise);
  if (!all.every(isNow)) return Promise.all(all).then(listOf);
  return all.find((one) => "fault" in one) ?? { data: all.map(dataOf) };
}

/**
 * The value that was parsed.
 * @throws InvalidInput
 */
export function dataOf(parsed: Parsed): unknown {
  if ("fault" in parsed) throw parsed.fault;
  return parsed.data;
}

/** Schemas whose code is async: zod refuses to parse with one at once, and leaves its promise to itself. */
const asyncSchemas = new WeakSet<z.ZodType>();

/**
 * Parses a value with a schema, which may be async, and whose own code may throw.
 * @param name Name of the value in messages.
 */
export function parseBy(schema: z.ZodType, value: unknown, name: string): Parsed | Promise<Parsed> {
  if (!asyncSchemas.has(schema)) {
    try {
      const result = schema.safeParse(value);
      const isLacking = !result.success && addUndefined(value, result.error.issues);
      return parsedOf(isLacking ? schema.safeParse(value) : result, name);
    } catch (cause) {
      if (!isAsyncError(cause)) return thrownBySchema(cause, name);
      asyncSchemas.add(schema);
    }
  }
  return parsedLater(schema, value).then(
    (result) => parsedOf(result, name),
    (cause: unknown) => thrownBySchema(cause, name),
  );
}

async function parsedLater(schema: z.ZodType, value: unknown): Promise<z.ZodSafeParseResult<unknown>> {
  const result = await schema.safeParseAsync(value);
  const isLacking = !result.success && addUndefined(value, result.error.issues);
  return isLacking ? schema.safeParseAsync(value) : result;
}

function parsedOf(result: z.ZodSafeParseResult<unknown>, name: string): Parsed {
  if (result.success) return { data: result.data };
  const [issue] = result.error.issues;
  const where = [name, ...(issue?.path ?? [])].map(String).join(".");
  return { fault: new InvalidInput(`${where}: ${issue?.message ?? "does not fit the schema"}`) };
}

function thrownBySchema(cause: unknown, name: string): Parsed {
  const why = cause instanceof Error ? cause.message : String(cause);
  return { fault: new InvalidInput(`${name}: its schema threw an error: ${why}`, { cause }) };
}

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
function addUndefined(value: unknown, issues: readonly Issue[]): boolean {
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
