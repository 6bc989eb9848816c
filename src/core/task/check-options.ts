import { inShort, namesOf } from "../../util/foreign-value.ts";
import { nearestNames } from "../../util/nearest.ts";
import { frameIn } from "../model/stack.ts";

/**
 * Checks the value of an option. Returns what was expected, such as `a whole number from 1 to 20`. Undefined: the value
 * is right.
 */
export type Check = (value: unknown) => string | undefined;

/** The options that an object may have. */
export type Checks = Readonly<Record<string, Check>>;

/**
 * A check for each option of a type, so that none is refused as unknown. Of a union, the options of all its members.
 */
export type ChecksOf<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, Check>>;

/** Names of options elsewhere, and those of Offload that do the same. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  retries: ["maxAttempts", "retry"],
  maxretries: ["maxAttempts", "maxRetries", "retry"],
  attempts: ["maxAttempts"],
  timeout: ["timeoutSeconds"],
  timeoutms: ["timeoutSeconds"],
  ttl: ["expiresInSeconds", "retentionSeconds"],
  schema: ["input"],
  payload: ["input"],
  data: ["input"],
  id: ["name", "key"],
  run: ["handler"],
  fn: ["handler"],
  process: ["handler"],
  execute: ["handler"],
  backoff: ["retry", "baseSeconds"],
  delay: ["delaySeconds"],
  delayms: ["delaySeconds"],
  tz: ["timezone"],
  task: ["type"],
  tenant: ["tenantId"],
  every: ["everySeconds"],
  schedule: ["cron"],
  idempotencykey: ["key"],
  concurrencylimit: ["concurrency"],
  max: ["limit"],
};

/**
 * Finds the first fault of an object of options: an option that does not exist, with the nearest that does; a wrong
 * value; a missing option.
 * @param within Path of the object, such as `retry`. Default: it is the call's own argument.
 * @param needed Options that must be there.
 */
export function optionsFault(
  given: unknown,
  checks: Checks,
  { within, needed = [] }: { within?: string; needed?: readonly string[] } = {},
): string | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return `${within ?? "the argument"} must be an object of options, got ${inShort(given)}`;
  }
  const pathTo = (name: string) => (within === undefined ? name : `${within}.${name}`);
  const options = given as Readonly<Record<string, unknown>>;
  const unknown = namesOf(given).find((name) => !Object.hasOwn(checks, name));
  if (unknown !== undefined)
    return `${pathTo(unknown)} is not an option; ${meant(unknown, Object.keys(checks), pathTo)}`;
  for (const name of Object.keys(checks)) {
    const value = options[name];
    const expected = value === undefined ? undefined : checks[name]?.(value);
    if (expected !== undefined) return faultText(pathTo(name), expected, value);
  }
  const missing = needed.find((name) => options[name] === undefined);
  return missing === undefined ? undefined : `${within ?? "the call"} needs ${missing}`;
}

/** A check that looks into its value says the whole fault itself. */
const whole = "\u0000";

const faultText = (path: string, expected: string, value: unknown): string =>
  expected.startsWith(whole) ? expected.slice(1) : `${path} must be ${expected}, got ${inShort(value)}`;

function meant(name: string, known: readonly string[], pathTo: (name: string) => string): string {
  const same = (elsewhere[name.toLowerCase().replaceAll("_", "")] ?? []).filter((one) => known.includes(one));
  const near = nearestNames(name.replaceAll("_", ""), known);
  const [first, second] = [...new Set([...same, ...near])];
  if (first === undefined) return `expected one of ${known.map(pathTo).join(", ")}`;
  return `did you mean ${pathTo(first)}${second === undefined ? "" : ` or ${pathTo(second)}`}?`;
}

/** An object with options of its own. */
export const object =
  (path: string, checks: Checks, needed: readonly string[] = []): Check =>
  (value) => {
    const fault = optionsFault(value, checks, { within: path, needed });
    return fault === undefined ? undefined : whole + fault;
  };

export const wholeNumber =
  (min: number, max: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : `a whole number from ${min} to ${max}`;

export const number =
  (min: number, max: number): Check =>
  (value) =>
    typeof value === "number" && value >= min && value <= max ? undefined : `a number from ${min} to ${max}`;

export const oneOf =
  (values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value) ? undefined : `one of ${values.join(", ")}`;

export const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");

export const func: Check = (value) => (typeof value === "function" ? undefined : "a function");

/** A function that must answer at once: an async one returns a promise where its answer is needed. */
export const syncFunction: Check = (value) =>
  typeof value === "function" && value.constructor.name !== "AsyncFunction"
    ? undefined
    : "a function that is not async";

export const text: Check = (value) => (typeof value === "string" ? undefined : "a text");

/** The first check that a value passes. */
export const either =
  (...checks: readonly Check[]): Check =>
  (value) => {
    const expected = checks.map((check) => check(value));
    const texts = expected.filter((one) => one !== undefined);
    if (texts.length < checks.length) return undefined;
    const inside = texts.find((one) => one.startsWith(whole));
    // A sentence about the inside of an object says more.
    if (inside !== undefined && typeof value === "object") return inside;
    const others = texts.filter((one) => !one.startsWith(whole));
    return [...others, ...(inside === undefined ? [] : ["an object of options"])].join(", or ");
  };

/** An object, each member of which passes a check. */
export const eachOf =
  (check: Check): Check =>
  (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.values(value)
          .map(check)
          .find((expected) => expected !== undefined)
      : "an object";

export const anything: Check = () => undefined;

export const listOf =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return "a list";
    const expected = value.map(check).find((one) => one !== undefined);
    return expected === undefined ? undefined : `a list, and each in it ${expected}`;
  };

/** The name in the options of a definition, for messages. */
export const nameIn = (options: unknown): string => JSON.stringify((Object(options) as { name?: unknown }).name) ?? "";

/** The place that calls a function now, as ` (tasks/mail.send.ts:3)`. Empty: it is not known. */
export function calledAt(call: (...given: never[]) => unknown): string {
  const at: { stack?: string } = {};
  Error.captureStackTrace(at, call);
  const place = frameIn(at.stack?.split("\n")[1] ?? "");
  const file = place?.file.split(/[/\\]/).slice(-2).join("/");
  return file === undefined ? "" : ` (${file}:${place?.line})`;
}
