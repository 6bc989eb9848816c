import { describe, expect, test } from "vitest";
import * as z from "zod";
import { emptyOf, entryOf, fitsForm, type Schema, startOf, withoutNull } from "../../console/src/schema.ts";

const schemaOf = (type: z.ZodType) => z.toJSONSchema(type, { io: "input" }) as Schema;

const entries: [string, z.ZodType, string][] = [
  ["a text", z.string(), "text"],
  ["a text or null", z.string().nullable(), "text"],
  ["a whole number or null", z.int().min(1).nullable(), "number"],
  ["a choice or null", z.enum(["a", "b"]).nullable(), "choice"],
  ["a switch", z.boolean(), "checkbox"],
  ["a switch or null, which no checkbox can show", z.boolean().nullable(), "json"],
  ["two kinds of value", z.union([z.string(), z.number()]), "json"],
  ["two kinds of value or null", z.union([z.string(), z.number(), z.null()]), "json"],
  ["a list or null", z.array(z.string()).nullable(), "json"],
  ["null only", z.null(), "json"],
  ["anything", z.unknown(), "json"],
];

test.each(entries)("the field of %s", (_, type, entry) => {
  expect(entryOf(schemaOf(type))).toBe(entry);
});

describe("a field that takes null", () => {
  test("keeps its bounds, texts and default, and two types are as two alternatives", () => {
    const bounded = withoutNull(schemaOf(z.int().min(1).max(9).nullable().describe("Every k-th").default(3)));
    expect(bounded).toMatchObject({ type: "integer", minimum: 1, maximum: 9, description: "Every k-th", default: 3 });
    expect(withoutNull(schemaOf(z.int().nullable().default(null)))).not.toHaveProperty("default");
    expect(withoutNull({ type: ["string", "null"], maxLength: 5 })).toEqual({ type: "string", maxLength: 5 });
    expect(withoutNull({ type: ["string", "number"] })).toEqual({ type: ["string", "number"] });
  });

  test("is null when it is empty and required, and left out when it has a default or need not be there", () => {
    const schema = schemaOf(z.string().nullable());
    expect(emptyOf(schema, true)).toBeNull();
    expect(emptyOf(schema, false)).toBeUndefined();
    expect(emptyOf({ ...schema, default: "a" }, true)).toBeUndefined();
    expect(emptyOf(schemaOf(z.string()), true)).toBeUndefined();
  });

  test("begins with null, and shows an input that has null", () => {
    const schema = schemaOf(
      z.object({ name: z.string().nullable(), on: z.boolean(), note: z.string().nullable().optional(), most: z.int() }),
    );
    expect(startOf(schema)).toEqual({ name: null, on: false });
    expect(fitsForm(schema, { name: null, on: true, most: 3 })).toBe(true);
    expect(fitsForm(schema, { name: "a", note: null })).toBe(true);
    expect(fitsForm(schema, { most: null })).toBe(false);
    expect(fitsForm(schema, { other: 1 })).toBe(false);
  });
});
