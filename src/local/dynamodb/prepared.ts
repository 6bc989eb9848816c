import { createRequire } from "node:module";
import dynalite from "dynalite/db/index.js";
import type { Parser } from "./known-expressions.ts";
import type { Item, Value } from "./known-tables.ts";

const require = createRequire(import.meta.url);
const conditions = require("dynalite/db/conditionParser") as Parser;
const updates = require("dynalite/db/updateParser") as Parser;

export type Values = Readonly<Record<string, Value>>;
type Names = Readonly<Record<string, string>>;

/** A part of a parsed expression: a path, a value of the request, or a function with its arguments. */
type Part = readonly (string | number)[] | Value | { type: string; name?: string; args: readonly Part[] };
type Test = { type: string; name?: string; args: readonly (Test | Part)[] };
type Section = { type: string; path: readonly (string | number)[]; val?: Part };

/** True when the condition holds for an item. */
export type Condition = (item: Item, values: Values) => boolean;
/** Changes an item. False: dynalite has to judge the change, and nothing was changed. */
export type Update = (item: Item, values: Values) => boolean;
type Read = (item: Item, values: Values) => Value | undefined;

/** An expression that was accepted once, as a request with the same names and other values of the same types has it. */
interface Expression {
  text: string;
  names: Names;
  values: Values;
}

function parsed(parser: Parser, { text, names, values }: Expression): object | undefined {
  const unused = { unusedAttrNames: {}, unusedAttrVals: {} };
  // Dynalite has checked the words.
  const check = { isReserved: () => false, compare: dynalite.compare };
  const found = parser.parse(text, { context: { attrNames: names, attrVals: values, ...unused, ...check } });
  return typeof found === "object" && found !== null ? found : undefined;
}

/** Undefined: the condition has a part that dynalite has to judge. */
export function preparedCondition(expression: Expression): Condition | undefined {
  if (expression.text === "") return () => true;
  // They may be refused for their values.
  if (/between|attribute_type/i.test(expression.text)) return undefined;
  const found = parsed(conditions, expression) as { expression: Test } | undefined;
  return found && testOf(found.expression, namesOf(expression.values));
}

function testOf(test: Test, names: ReadonlyMap<object, string>): Condition | undefined {
  if (test.type === "and" || test.type === "or" || test.type === "not") {
    const parts = test.args.map((arg) => testOf(arg as Test, names));
    if (!isWhole(parts)) return undefined;
    if (test.type === "and") return (item, values) => parts.every((part) => part(item, values));
    if (test.type === "or") return (item, values) => parts.some((part) => part(item, values));
    const [part = () => false] = parts;
    return (item, values) => !part(item, values);
  }
  const reads = test.args.map((arg) => readOf(arg as Part, names));
  if (!isWhole(reads)) return undefined;
  const name = test.type === "function" ? String(test.name) : test.type;
  const [first = () => undefined, ...others] = reads;
  return (item, values) =>
    dynalite.compare(
      name,
      first(item, values),
      others.map((read) => read(item, values)),
    );
}

/** Reads a path or a value. Undefined: it is a function. */
function readOf(part: Part, names: ReadonlyMap<object, string>): Read | undefined {
  if (Array.isArray(part)) return (item) => dynalite.mapPath(part, item);
  const name = names.get(part);
  return name === undefined ? undefined : (_, values) => values[name];
}

/** Undefined: the update has a part that dynalite has to judge. */
export function preparedUpdate(expression: Expression): Update | undefined {
  const found = parsed(updates, expression) as { sections: readonly Section[] } | undefined;
  if (found === undefined) return undefined;
  const names = namesOf(expression.values);
  const sets: [string, Read][] = [];
  const removed: string[] = [];
  for (const { type, path, val } of found.sections) {
    const [attribute, ...deeper] = path;
    if (typeof attribute !== "string" || deeper.length > 0) return undefined;
    if (type === "remove") {
      removed.push(attribute);
      continue;
    }
    const read = type === "set" && val !== undefined ? newValueOf(val, names) : undefined;
    if (read === undefined) return undefined;
    sets.push([attribute, read]);
  }
  return (item, values) => {
    const found = sets.map(([, read]) => read(item, values));
    if (!isWhole(found)) return false;
    for (const name of removed) delete item[name];
    for (const [index, [name]] of sets.entries()) item[name] = found[index] as Value;
    return true;
  };
}

/** The new value of an attribute in a `SET`. Undefined: dynalite has to judge the present item. */
function newValueOf(part: Part, names: ReadonlyMap<object, string>): Read | undefined {
  const read = readOf(part, names);
  if (read !== undefined) return read;
  const { type, name, args = [] } = part as { type: string; name?: string; args?: readonly Part[] };
  const reads = args.map((arg) => newValueOf(arg, names));
  if (!isWhole(reads) || reads.length !== 2) return undefined;
  const [first, second] = reads as [Read, Read];
  if (type === "add" || type === "subtract") {
    const sign = type === "add" ? 1 : -1;
    return (item, values) => sum(first(item, values), second(item, values), sign);
  }
  if (name === "if_not_exists") return (item, values) => first(item, values) ?? second(item, values);
  if (name === "list_append") return (item, values) => joined(first(item, values), second(item, values));
  return undefined;
}

/** Whole numbers that are exact in JavaScript, also when two of them are added. */
const exact = /^(0|-?[1-9]\d{0,14})$/;

export const isExact = (value: unknown): boolean => typeof value === "string" && exact.test(value);

function sum(a: Value | undefined, b: Value | undefined, sign: 1 | -1): Value | undefined {
  return isExact(a?.N) && isExact(b?.N) ? { N: String(Number(a?.N) + sign * Number(b?.N)) } : undefined;
}

const joined = (a: Value | undefined, b: Value | undefined): Value | undefined =>
  Array.isArray(a?.L) && Array.isArray(b?.L) ? { L: [...a.L, ...b.L] } : undefined;

const namesOf = (values: Values): Map<object, string> =>
  new Map(Object.entries(values).map(([name, value]) => [value, name]));

const isWhole = <T>(parts: readonly (T | undefined)[]): parts is T[] => !parts.includes(undefined);
