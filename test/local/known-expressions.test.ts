import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { type Parser, rememberParsed } from "../../src/local/dynamodb/known-expressions.ts";
import "../../src/local/dynamodb/table-operations.ts";

const require = createRequire(import.meta.url);

/** One of dynalite's parsers, which `table-operations` has changed, as it is in the package. */
function parserOf(name: string): Parser {
  const path = require.resolve(`dynalite/db/${name}`);
  const changed = require.cache[path];
  delete require.cache[path];
  const own = require(path) as Parser;
  require.cache[path] = changed;
  return own;
}

/** A parser that remembers, and counts what it parses. */
function remembering(name: string): { parser: Parser; count: () => number } {
  const { parse } = parserOf(name);
  let parsed = 0;
  const parser: Parser = {
    parse: (text, options) => {
      parsed += 1;
      return parse(text, options);
    },
  };
  rememberParsed(parser);
  return { parser, count: () => parsed };
}

type Values = Record<string, object>;

function contextOf(attrVals: Values, attrNames: Record<string, string>) {
  const unused = (of: object) => Object.fromEntries(Object.keys(of).map((name) => [name, true as const]));
  const more = { isReserved: () => false, compare: () => false };
  return { attrNames, attrVals, unusedAttrNames: unused(attrNames), unusedAttrVals: unused(attrVals), ...more };
}

const names = { "#a": "a", "#left": "left" };
const updates = "SET #a = if_not_exists(#a, :a), b.c[1] = b.c[1] + :n REMOVE d ADD e :n DELETE f :set";
const conditions =
  "(attribute_not_exists(#a) OR size(b.c) < :n) AND NOT begins_with(d, :a) AND e IN (:a, :n) AND contains(f, :set)";

test.each([
  ["updateParser", updates],
  ["conditionParser", conditions],
])("%s parses an expression once, and gives the same for other values", (name, text) => {
  const { parser, count } = remembering(name);
  const plain = parserOf(name);
  for (const [a, n] of [
    ["1", "1"],
    ["2", "2"],
    ["3", "1"],
  ]) {
    const values = { ":a": { S: a }, ":n": { N: n }, ":set": { SS: [a] }, ":left": { S: "" } };
    const [context, expected] = [contextOf(values, names), contextOf(values, names)];
    const parsed = parser.parse(text, { context });
    expect(parsed).toEqual(plain.parse(text, { context: expected }));
    expect(parsed).toBeTypeOf("object");
    expect(context).toEqual({ ...expected, isReserved: context.isReserved, compare: context.compare });
    expect(Object.keys(context.unusedAttrVals)).toEqual([":left"]);
  }
  expect(count()).toBe(1);
});

test("a change of what was parsed changes no later one", () => {
  const { parser } = remembering("updateParser");
  const parse = () =>
    parser.parse("SET a = :a", { context: contextOf({ ":a": { S: "1" } }, {}) }) as { sections: { val: unknown }[] };
  for (const parsed of [parse(), parse()]) Object.assign(parsed.sections[0] ?? {}, { val: "changed" });
  expect(parse().sections[0]?.val).toEqual({ S: "1" });
});

test("names, types of values, and refusals are looked at each time", () => {
  const { parser } = remembering("conditionParser");
  const parse = (text: string, values: Values, of: Record<string, string> = {}) =>
    parser.parse(text, { context: contextOf(values, of) });
  expect(parse("begins_with(a, :a)", { ":a": { S: "1" } })).toBeTypeOf("object");
  expect(parse("begins_with(a, :a)", { ":a": { N: "1" } })).toMatch("Incorrect operand type");
  expect(parse("begins_with(a, :a)", {})).toMatch("not defined");
  expect(parse("#a = #b", {}, { "#a": "a", "#b": "b" })).toBeTypeOf("object");
  expect(parse("#a = #b", {}, { "#a": "a", "#b": "a" })).toMatch("must be distinct");
  const between = "a BETWEEN :a AND :b";
  const context = contextOf({ ":a": { N: "1" }, ":b": { N: "2" } }, {});
  expect(parser.parse(between, { context })).toBeTypeOf("object");
  const wrong = { ...contextOf({ ":a": { N: "3" }, ":b": { N: "2" } }, {}), compare: () => true };
  expect(parser.parse(between, { context: wrong })).toMatch("upper bound");
});
