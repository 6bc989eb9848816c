import * as z from "zod";
import { type Catalog, type CatalogEntry, filesOf, ruledBy } from "./catalog.ts";
import { mayBeLeftOut } from "./parsed-input.ts";
import type { TaskType } from "./task.ts";

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
    ...nextSignals(type),
  }));
}

function nextSignals(type: TaskType): Pick<CatalogEntry, "next_signals"> {
  const names = nextSignalsOf(type);
  return names.length === 0 ? {} : { next_signals: names };
}

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

/** Stands for every name: the handler reads signals whose names its text does not say. */
export const anyName = "*";

const call = /\bnextSignal\s*(?:\?\.)?\(\s*(?:(["'`])([A-Za-z0-9][A-Za-z0-9._-]{0,63})\1\s*[,)])?/g;

/**
 * The names of the signals that a type's handler reads one after the other, as the text of its functions says: a sender
 * has to know it before the handler has read one. A call in another function is not seen.
 */
export function nextSignalsOf({ handler, aggregate }: Pick<TaskType, "handler" | "aggregate">): string[] {
  const texts = [handler, aggregate].map((code) => (code === undefined ? "" : Function.prototype.toString.call(code)));
  const names = texts.flatMap((text) => [...text.matchAll(call)].map(([, , name]) => name ?? anyName));
  return [...new Set(names)];
}
