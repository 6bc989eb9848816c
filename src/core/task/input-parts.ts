import type * as z from "zod";

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
export function zodThree(schema: unknown): string | undefined {
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
