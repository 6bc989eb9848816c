import { describe, expect, test } from "vitest";
import * as z from "zod";
import { isLoose, isUnbounded, partsOf, type Schema, takesAnything } from "../../../src/tools/doctor/schema.ts";

const schemaOf = (type: z.ZodType) => z.toJSONSchema(type, { io: "input", unrepresentable: "any" }) as Schema;

const pathsWhere = (type: z.ZodType, holds: (schema: Schema) => boolean) =>
  [...partsOf(schemaOf(type))].filter(({ schema }) => holds(schema)).map(({ path }) => path);

describe("a schema that accepts anything", () => {
  test.each([z.any(), z.unknown(), z.any().describe("something"), z.unknown().default(1)])(
    "a schema that accepts anything is found: %#",
    (type) => {
      expect(takesAnything(schemaOf(type))).toBe(true);
    },
  );

  test.each([z.strictObject({}), z.null(), z.string(), z.literal("a"), z.enum(["a", "b"]), z.never()])(
    "a schema that restricts its values is not found: %#",
    (type) => {
      expect(takesAnything(schemaOf(type))).toBe(false);
    },
  );

  test("a schema that accepts anything is found in members, elements, alternatives and records", () => {
    const input = z.strictObject({
      any: z.unknown(),
      list: z.array(z.strictObject({ deep: z.any() })),
      either: z.union([z.string(), z.strictObject({ inner: z.any() })]),
      text: z.string(),
    });
    expect(pathsWhere(input, takesAnything)).toEqual(["any", "list[].deep", "either.inner"]);
  });
});

test("a loose object is found, a strict and a plain one are not", () => {
  expect([z.looseObject({}), z.record(z.string(), z.unknown())].map((type) => isLoose(schemaOf(type)))).toEqual([
    true,
    true,
  ]);
  const bound = [z.strictObject({}), z.object({}), z.record(z.string(), z.number())];
  expect(bound.map((type) => isLoose(schemaOf(type)))).toEqual([false, false, false]);
});

test("texts and arrays without a bound are found at every place", () => {
  const input = z.strictObject({
    open: z.string(),
    long: z.string().max(10),
    pattern: z.string().regex(/^a{1,9}$/),
    mail: z.email(),
    day: z.iso.date(),
    choice: z.enum(["a"]),
    list: z.array(z.strictObject({ note: z.string() })).max(5),
    endless: z.array(z.number()),
    pair: z.tuple([z.string(), z.number()]),
    byName: z.record(z.string(), z.string()),
  });
  expect(pathsWhere(input, isUnbounded)).toEqual(["open", "endless", "pair", "byName.*", "list[].note"]);
});

test("the search ends in a schema that contains itself", () => {
  const tree: z.ZodType = z.lazy(() => z.strictObject({ name: z.string(), children: z.array(tree).max(3) }));
  expect(pathsWhere(tree, isUnbounded)).toEqual(["name"]);
});
