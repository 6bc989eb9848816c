import type * as z from "zod";
import { inShort } from "../../util/foreign-value.ts";
import { latestVersion } from "../model/envelope.ts";
import { errorKinds } from "../model/errors.ts";
import type { FileOptions } from "../model/stored-file.ts";
import { tiers } from "../model/words.ts";
import {
  anything,
  type Check,
  type Checks,
  type ChecksOf,
  either,
  flag,
  func,
  listOf,
  number,
  object,
  oneOf,
  optionsFault,
  syncFunction,
  text,
  wholeNumber,
} from "./check-options.ts";
import type { ChildrenOptions } from "./result.ts";
import type { Backoff, RetryPolicy } from "./retry.ts";
import type { BreakerOption, CollectOption, ConcurrencyOption, RateLimitOption } from "./type-limits.ts";

/**
 * The places where attempts of a task type run: in a worker function, or in a container worker (`npx offload work`).
 */
export const runsOnPlaces = ["function", "container"] as const;
export type RunsOn = (typeof runsOnPlaces)[number];

/**
 * Longest time-out of one attempt, in seconds. A function has 900 s for an attempt with all that belongs to it; SQS
 * holds a message for 12 hours.
 */
export const longestTimeoutSeconds: Readonly<Record<RunsOn, number>> = { function: 840, container: 43_200 };

/** Longest work of a container worker on one message, in seconds: the longest attempt, with what belongs to it. */
export const containerWorkSeconds = longestTimeoutSeconds.container + 600;

/** A schema of zod 4. */
export const schema: Check = (value) => {
  const { _zod, safeParse } = Object(value) as { _zod?: unknown; safeParse?: unknown };
  if (_zod !== undefined && typeof safeParse === "function") return undefined;
  return zodThree(value) ?? "a schema of zod, such as z.object({ ... })";
};

const seconds = number(0, 31_536_000);

/** Without a wait, each retry would follow at once. */
const waits: Check = (value) =>
  Array.isArray(value) && value.length === 0 ? "a list with at least one wait" : listOf(seconds)(value);

const backoff: ChecksOf<Backoff> = {
  waitsSeconds: waits,
  baseSeconds: seconds,
  factor: number(1, 1_000),
  capSeconds: seconds,
  jitter: oneOf(["additive", "full", "none"]),
  jitterRatio: number(0, 1),
  maxRetries: wholeNumber(0, 1_000),
};

const kinds = Object.fromEntries(
  errorKinds.map((kind) => [kind, either(oneOf(["stop"]), object(`retry.kinds.${kind}`, backoff))]),
);

/** Each member is an object with these options. */
const eachOf =
  <Options>(path: string, checks: ChecksOf<Options>): Check =>
  (value) =>
    typeof value !== "object" || value === null || Array.isArray(value)
      ? "an object"
      : Object.entries(value)
          .map(([name, one]) => object(`${path}.${name}`, checks)(one))
          .find((fault) => fault !== undefined);

const retry: ChecksOf<RetryPolicy> = { ...backoff, kinds: object("retry.kinds", kinds) };

const numberOrFunction: Check = (value) => (typeof value === "function" ? syncFunction(value) : undefined);
const limit = { key: syncFunction, limit: numberOrFunction, scope: anything };
const concurrency: ChecksOf<ConcurrencyOption> = {
  ...limit,
  order: oneOf(["strict"]),
  onDeadLetter: oneOf(["continue", "hold"]),
};
const rateLimit: ChecksOf<RateLimitOption> = { ...limit, perSeconds: anything };
const rate = (path: string) => object(path, rateLimit, ["limit", "perSeconds"]);
const rates: Check = (value) =>
  Array.isArray(value)
    ? value.map((one, index) => rate(`rateLimit[${index}]`)(one)).find((fault) => fault !== undefined)
    : rate("rateLimit")(value);
const breaker: ChecksOf<BreakerOption> = { key: syncFunction, failures: anything, coolDownSeconds: anything };
const collect: ChecksOf<CollectOption> = { maxItems: wholeNumber(1, 1_000), waitSeconds: wholeNumber(0, 86_400) };
const file: ChecksOf<FileOptions> = { contentTypes: listOf(text), maxBytes: anything, required: flag };
const children: ChecksOf<ChildrenOptions<never>> = {
  threshold: either(number(0, 1), syncFunction),
  stopOnFailure: flag,
};

/**
 * The options of a task type; its definition holds them against their types. Ranges of some are checked by their own
 * files. A definition that is made of another one has `types`.
 */
export const typeOptions = {
  name: text,
  description: text,
  input: schema,
  version: wholeNumber(1, latestVersion),
  upcast: (value) => (typeof value === "object" && value !== null ? undefined : "an object of functions, by version"),
  output: schema,
  priority: oneOf(tiers),
  runsOn: oneOf(runsOnPlaces),
  timeoutSeconds: anything,
  maxAttempts: wholeNumber(1, 20),
  retry: object("retry", retry),
  classify: listOf(syncFunction),
  concurrency: object("concurrency", concurrency, ["limit"]),
  rateLimit: rates,
  breaker: object("breaker", breaker, ["failures", "coolDownSeconds"]),
  collect: object("collect", collect, ["maxItems", "waitSeconds"]),
  cancellable: flag,
  sensitive: flag,
  keepInput: flag,
  push: oneOf(["result"]),
  files: eachOf<FileOptions>("files", file),
  state: schema,
  children: object("children", children),
  aggregate: func,
  onFailed: func,
  handler: func,
  types: anything,
} satisfies Checks;

/**
 * Returns the first fault of a type's options, but for those that depend on several of them.
 * @param checks Those of the options.
 */
export function typeFault(
  options: { timeoutSeconds?: number; runsOn?: RunsOn },
  checks: typeof typeOptions,
): string | undefined {
  const fault = optionsFault(options, checks, { needed: ["name", "input", "handler"] });
  if (fault !== undefined) return fault;
  const { timeoutSeconds = 1, runsOn = "function" } = options;
  const expected = wholeNumber(1, longestTimeoutSeconds[runsOn])(timeoutSeconds);
  return expected && `timeoutSeconds must be ${expected}, got ${inShort(timeoutSeconds)}`;
}

/** The fields of a zod definition that this file reads. Each kind of schema has some of them. */
interface Definition {
  type?: string;
  coerce?: boolean;
  checks?: readonly { _zod: { def: { check: string } } }[];
  shape?: Record<string, z.ZodType>;
  items?: readonly z.ZodType[];
  options?: readonly z.ZodType[];
  getter?: () => z.ZodType;
  values?: readonly unknown[];
}

/**
 * Fields of definitions that hold an inner schema of the input, with what they add to its path. A pipe's `out` is not
 * input.
 */
const inner = {
  innerType: "",
  in: "",
  left: "",
  right: "",
  element: "[]",
  rest: "[]",
  valueType: ".*",
  catchall: ".*",
};

/** This is expected in place of a schema of zod 3, whose schemas look alike. Undefined: it is none. */
function zodThree(schema: unknown): string | undefined {
  const { _zod, _def } = Object(schema) as { _zod?: object; _def?: { typeName?: string } };
  if (_zod !== undefined || _def?.typeName === undefined) return undefined;
  return `a schema of zod 4, and ${_def.typeName} is one of zod 3: install zod@4, or import from "zod/v4"`;
}

/** Yields each part of an input's schema with its path, such as `input.lines[].text`. */
export function* inputParts(
  schema: z.ZodType,
  path = "input",
  seen = new Set<z.ZodType>(),
): Generator<{ path: string; definition: Definition }> {
  const definition: Definition | undefined = schema?._zod?.def;
  if (definition === undefined || seen.has(schema)) return;
  seen.add(schema);
  yield { path, definition };
  for (const [suffix, part] of childrenOf(definition)) yield* inputParts(part, path + suffix, seen);
}

function childrenOf(definition: Definition): [suffix: string, schema: z.ZodType][] {
  const fields = definition as Readonly<Record<string, z.ZodType | undefined>>;
  const found = Object.entries(inner).map(([field, suffix]) => [suffix, fields[field]] as const);
  return [
    ...found.flatMap(([suffix, part]): [string, z.ZodType][] => (part === undefined ? [] : [[suffix, part]])),
    ...(definition.items ?? []).map((part, index): [string, z.ZodType] => [`[${index}]`, part]),
    ...(definition.options ?? []).map((part): [string, z.ZodType] => ["", part]),
    ...lateChildrenOf(definition),
  ];
}

/**
 * Schemas behind a getter. While a module is loaded, a getter can name a schema that does not exist yet: then there are
 * none.
 */
function lateChildrenOf(definition: Definition): [suffix: string, schema: z.ZodType][] {
  try {
    const members = Object.entries(definition.shape ?? {}).map(([key, part]): [string, z.ZodType] => [`.${key}`, part]);
    return definition.getter === undefined ? members : [["", definition.getter()]];
  } catch {
    return [];
  }
}

/** Schemas of values that JSON does not have, and what to use in their place. */
const notJson: Readonly<Record<string, string>> = {
  date: "z.iso.datetime() or z.coerce.date()",
  bigint: "z.int() or z.coerce.bigint()",
  map: "z.record()",
  set: "z.array()",
  symbol: "z.enum()",
  nan: "z.number()",
  file: "z.url() or z.base64()",
  function: "z.enum() of the functions' names",
  promise: "the schema of its value",
};

/** Schemas that as a whole input fit only a member that is left out. */
const onlyAbsent = ["void", "undefined"];

/** Returns the first part of an input's schema that no JSON can fit, with an alternative. Undefined: there is none. */
export function partWithoutJson(schema: z.ZodType): string | undefined {
  for (const { path, definition } of inputParts(schema)) {
    const { type = "", coerce, values = [] } = definition;
    const isWhole = definition === schema._zod.def;
    if (isWhole && onlyAbsent.includes(type))
      return `${path}: z.${type}() cannot arrive as JSON; use z.null() or z.object({})`;
    const big = values.find((value) => typeof value === "bigint");
    if (big !== undefined) return `${path}: z.literal(${big}n) cannot arrive as JSON; use z.literal(${big})`;
    const alternative = coerce === true ? undefined : notJson[type];
    if (alternative !== undefined) return `${path}: z.${type}() cannot arrive as JSON; use ${alternative}`;
  }
  return undefined;
}

/** True when a part of a schema has a rule in code (`refine`, `superRefine`, `check`, `z.custom`, `z.instanceof`). */
export const hasRefinement = ({ definition }: { definition: Definition }): boolean =>
  definition.type === "custom" || (definition.checks ?? []).some(({ _zod }) => _zod.def.check === "custom");
