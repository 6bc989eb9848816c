import * as z from "zod";
import { mayBeLeftOut } from "./left-out.ts";
import type { TaskType } from "./task.ts";

/** A task type as data for submit, so that submit's bundle contains no handlers and no packages of tasks. */
export interface CatalogEntry {
  name: string;
  description: string;
  /** JSON Schema (draft 2020-12) of the input. */
  input_schema: Record<string, unknown>;
  /** True when a submit may leave the input out, which a JSON Schema cannot say. Absent: its schema decides. */
  input_optional?: true;
  /** JSON Schema of the result. Absent: the type declares none. */
  output_schema?: Record<string, unknown>;
  /** The version of that schema, which submitted inputs have. */
  version: number;
  priority: TaskType["priority"];
  /** Absent: attempts run in worker functions. */
  runs_on?: "container";
  timeout_seconds: number;
  max_attempts: number;
  cancellable: boolean;
  /** Attempts of one key that run at the same time. Absent: no limit. */
  concurrency?: LimitView & { limit: number };
  /** Starts of one key in a time. Absent: no limit. */
  rate_limit?: LimitView & { limit: number; per_seconds: number };
  /** Absent: no breaker. */
  breaker?: { failures: number; cool_down_seconds: number };
  /** True when records keep no inputs. Absent: the type is not sensitive. */
  sensitive?: true;
  /** True when the input of every task is kept. Absent: only where it costs nothing. */
  keep_input?: true;
  /** True when channels get the results. Absent: they do not. */
  push_result?: true;
  /** True when the type has `onFailed`. Absent: it has none. */
  on_failed?: true;
  /** Files that a task takes, by name. Absent: none. */
  files?: TaskType["files"];
}

export type Catalog = readonly CatalogEntry[];

/**
 * Describes task types as data. Only the worker checks what a JSON Schema cannot express: refinements, transforms, and
 * patterns with flags.
 */
export function toCatalog(types: Iterable<TaskType>): Catalog {
  return [...types].map((type) => ({
    name: type.name,
    description: type.description,
    input_schema: jsonSchemaOf(type.input),
    ...(mayBeLeftOut(type.input) ? { input_optional: true as const } : {}),
    ...(type.output === undefined ? {} : { output_schema: jsonSchemaOf(type.output) }),
    ...ruledBy(type),
    ...(type.push === "result" && !type.sensitive ? { push_result: true as const } : {}),
    ...filesOf(type),
  }));
}

/** The sharing of a limit, as data. */
interface LimitView {
  /** True when tasks with equal keys share the limit. False: all tasks of the type. */
  keyed: boolean;
  scope: "tenant" | "deployment";
}

const limitView = ({ key, scope = "tenant" }: { key?: unknown; scope?: LimitView["scope"] }): LimitView => ({
  keyed: key !== undefined,
  scope,
});

const limitsOf = ({ concurrency, rateLimit, breaker }: TaskType) => ({
  ...(concurrency && { concurrency: { ...limitView(concurrency), limit: concurrency.limit } }),
  ...(rateLimit && {
    rate_limit: { ...limitView(rateLimit), limit: rateLimit.limit, per_seconds: rateLimit.perSeconds },
  }),
  ...(breaker && { breaker: { failures: breaker.failures, cool_down_seconds: breaker.coolDownSeconds } }),
});

const runsOnOf = ({ runsOn }: TaskType): { runs_on?: "container" } =>
  runsOn === "container" ? { runs_on: runsOn } : {};

const keepInputOf = ({ keepInput }: TaskType): { keep_input?: true } => (keepInput ? { keep_input: keepInput } : {});

const sensitiveOf = ({ sensitive }: TaskType): { sensitive?: true } => (sensitive ? { sensitive } : {});

/** The rules of a type for its tasks. */
const ruledBy = (type: TaskType) => ({
  version: type.version,
  priority: type.priority,
  ...runsOnOf(type),
  timeout_seconds: type.timeoutSeconds,
  max_attempts: type.maxAttempts,
  cancellable: type.cancellable,
  ...limitsOf(type),
  ...sensitiveOf(type),
  ...keepInputOf(type),
  ...(type.onFailed && { on_failed: true as const }),
});

const filesOf = ({ files }: TaskType) => (Object.keys(files).length === 0 ? {} : { files });

/** A result is stored as the handler returned it, so inputs and results both have the form before transforms. */
const jsonSchemaOf = (schema: z.ZodType) =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any", override: forJson }) as Record<string, unknown>;

interface WithPattern {
  pattern?: RegExp;
  checks?: readonly { _zod: { def: WithPattern } }[];
}

interface Part {
  zodSchema: z.core.$ZodType;
  jsonSchema: Record<string, unknown>;
}

function forJson(part: Part): void {
  dropFlaggedPatterns(part);
  // No JSON is undefined.
  const { type } = part.zodSchema._zod.def;
  if (type === "undefined" || type === "void") part.jsonSchema.not = {};
  if (type === "object") requireMembers(part);
}

/** A member that may be undefined is not required: JSON has no undefined. */
function requireMembers({ zodSchema, jsonSchema }: Part): void {
  const { shape = {} } = zodSchema._zod.def as { shape?: Record<string, z.core.$ZodType> };
  const required = (jsonSchema.required as string[] | undefined) ?? [];
  const needed = required.filter((name) => shape[name] === undefined || !mayBeLeftOut(shape[name]));
  if (needed.length > 0) jsonSchema.required = needed;
  else delete jsonSchema.required;
}

/** JSON Schema has no flags of patterns. Without its flag, a pattern would refuse inputs that the type accepts. */
function dropFlaggedPatterns(part: Part): void {
  const definition = part.zodSchema._zod.def as WithPattern;
  const definitions = [definition, ...(definition.checks ?? []).map(({ _zod }) => _zod.def)];
  if (!definitions.some(({ pattern }) => /[imsuv]/.test(pattern?.flags ?? ""))) return;
  delete part.jsonSchema.pattern;
  delete part.jsonSchema.allOf;
}

/**
 * Reads a catalogue that `toCatalog` made. Each start of submit waits for this, so it checks no more than the outer
 * shape.
 * @throws Error
 */
export function parseCatalog(text: string): Catalog {
  const catalog: unknown = JSON.parse(text);
  if (!Array.isArray(catalog) || !catalog.every(isEntry)) throw new Error("expected a catalogue of task types");
  return catalog;
}

const isEntry = (entry: Partial<CatalogEntry> | null): boolean =>
  typeof entry?.name === "string" && typeof entry.input_schema === "object";

/** A task type as submit sees it: its entry, and its input schema, compiled when it is first used. */
export interface KnownType extends CatalogEntry {
  readonly input: z.ZodType;
}

/** Indexes a catalogue by the types' names. */
export function knownTypes(catalog: Catalog): ReadonlyMap<string, KnownType> {
  return new Map(catalog.map((entry) => [entry.name, known(entry)]));
}

function known(entry: CatalogEntry): KnownType {
  let input: z.ZodType | undefined;
  return {
    ...entry,
    get input() {
      const schema = () => z.fromJSONSchema(entry.input_schema);
      input ??= entry.input_optional ? schema().optional() : schema();
      return input;
    },
  };
}

/** Task types as submit sees them, made from their definitions: for a worker that submits for a handler. */
export const knownTypesOf = (types: Iterable<TaskType>): ReadonlyMap<string, KnownType> =>
  new Map(
    [...types].map((type) => [
      type.name,
      {
        name: type.name,
        description: type.description,
        input_schema: {},
        input: type.input,
        ...ruledBy(type),
        ...filesOf(type),
      },
    ]),
  );
