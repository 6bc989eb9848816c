import { describe, expect, test } from "vitest";
import * as z from "zod";
import { limitBounds, limitNames, writtenLimits } from "../../../../src/core/limits/limits.ts";
import { parseLimits } from "../../../../src/core/limits/parse-limits.ts";
import { fitsOf } from "../../../../src/core/model/fits.ts";
import { tiers } from "../../../../src/core/model/words.ts";
import { submitSchema } from "../../../../src/core/pipeline/submit/submit-body.ts";
import { isUsualBody } from "../../../../src/core/pipeline/submit/usual-body.ts";
import { type CatalogEntry, knownTypesOf } from "../../../../src/core/task/catalog.ts";
import { inputSchema } from "../../../../src/core/task/input-schema.ts";
import { knownTypes } from "../../../../src/core/task/known-types.ts";
import { toCatalog } from "../../../../src/core/task/to-catalog.ts";
import fc from "../../../support/fast-check.ts";
import { near } from "../../../support/json-values.ts";
import { taskTypes } from "../../../support/own-types.ts";
import { typeOf } from "../../../support/task-types.ts";

// The check without zod may only say "fits": a value that zod refuses, or reads as another value, must never pass it.

const json = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));

const known = (input: z.ZodType): CatalogEntry =>
  json(toCatalog([typeOf(() => null, { name: "t", input })]))[0] as CatalogEntry;

/** Holds the rule for values near the type's schema; returns the number of those that the check let pass. */
function holdsFor(type: CatalogEntry, numRuns: number): number {
  const fits = knownTypes([type], fitsOf).get(type.name)?.fits;
  let passed = 0;
  fc.assert(
    fc.property(near(type.input_schema), (given) => {
      const input = json(given);
      if (!fits?.(input)) return;
      passed += 1;
      expect(inputSchema(type).safeParse(input).error).toBeUndefined();
    }),
    { numRuns },
  );
  return passed;
}

const text = z.string();

test.each<[string, z.ZodType]>([
  ["text", text],
  ["a short text", text.min(2).max(4)],
  ["a text of many characters", text.max(300)],
  ["a pattern", text.regex(/^[a-c]+$/)],
  [
    "a pattern with bounds",
    text
      .min(2)
      .max(5)
      .regex(/[a-c]{2}/),
  ],
  ["a whole number", z.int().min(-3).max(3)],
  ["any whole number", z.int()],
  ["a number", z.number().gt(0).lt(2)],
  ["any number", z.number()],
  ["true or false", z.boolean()],
  ["null or text", text.nullable()],
  ["one of some words", z.enum(["a", "b", "null"])],
  ["literals", z.literal(["a", 1, null, false])],
  ["a literal number", z.literal(3)],
  ["an array", z.array(z.int()).min(1).max(3)],
  ["an array of anything", z.array(z.unknown()).max(2)],
  ["an object that takes more", z.looseObject({ a: z.int() })],
  ["an object that takes no more", z.strictObject({ a: z.int(), b: text.optional() })],
  ["an object that drops more", z.object({ a: z.int(), b: text.optional() })],
  ["an object of other members", z.object({ a: z.int() }).catchall(text)],
  ["defaults", z.strictObject({ a: z.int().default(3), b: text.prefault("x") })],
  ["a record", z.record(text.regex(/^[ab_]+$/), z.int())],
  ["a record of any name", z.record(text, text)],
  ["one of two", z.union([z.int(), z.strictObject({ a: z.int() })])],
  ["anything", z.unknown()],
  ["objects within objects", z.strictObject({ a: z.strictObject({ a: z.array(z.int()) }) })],
  ["a UUID", z.uuid()],
  ["an address", z.email()],
  ["a day", z.iso.date()],
  ["a time", z.iso.datetime()],
  ["a time with a zone", z.iso.datetime({ offset: true })],
  ["a described text", text.max(3).meta({ title: "A text", description: "short", examples: ["a"], deprecated: true })],
])("the quick check accepts inputs by %s, and none that the schema refuses", (_, schema) => {
  expect(holdsFor(known(schema), 200)).toBeGreaterThan(5);
});

test.each<[string, z.ZodType]>([
  ["a member that each object inherits", z.object({ a: z.int(), constructor: text.optional() })],
  ["a multiple", z.number().multipleOf(3)],
  ["a tuple", z.tuple([text, z.int()])],
  [
    "one of two by a field",
    z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b") })]),
  ],
  ["two patterns", text.regex(/a/).regex(/b/)],
  ["a URL", z.url()],
  ["a token", z.jwt()],
])("inputs by %s are left to the schema, and none passes", (_, schema) => {
  expect(holdsFor(known(schema), 100)).toBe(0);
});

test("no input passes the quick check that the schema of any type refuses", async () => {
  const types = json(toCatalog(await taskTypes())) as readonly CatalogEntry[];
  expect(types.length).toBeGreaterThan(10);
  const passed = types.map((type) => holdsFor(type, 60));
  expect(passed.filter((count) => count > 5).length).toBeGreaterThan(types.length / 2);
});

test.each([
  ["a keyword that is not known", { type: "string", contentEncoding: "base64" }],
  ["a format that is not known", { type: "string", format: "toString" }],
  ["a type that is not known", { type: "toString" }],
  ["types in types", { type: [["string", "null"]] }],
  ["a pattern that is not valid", { type: "string", pattern: "(" }],
  ["a bound that is no number", { type: "number", minimum: 0, exclusiveMinimum: true }],
  ["a negation", { not: {} }],
  ["a reference", { $ref: "#/$defs/a", $defs: { a: {} } }],
  ["no schema", true],
])("the quick check accepts nothing by %s", (_, schema) => {
  const fits = fitsOf(schema);
  fc.assert(
    fc.property(near(schema), (value) => {
      expect(fits(value)).toBe(false);
    }),
  );
});

test("types that are known by their definitions are left to their schemas", () => {
  const [type] = knownTypesOf([typeOf(() => null, { name: "t", input: z.strictObject({ a: z.int() }) })]).values();
  expect(type).toMatchObject({ name: "t" });
  expect(type?.fits).toBeUndefined();
});

describe("the body of a submit", () => {
  const schema = z.toJSONSchema(submitSchema, { io: "input", unrepresentable: "any" });
  const { type: _, ...options } = schema.properties ?? {};
  const needed = { ...schema, properties: { type: { type: "string", maxLength: 64 }, input: {}, ...options } };

  test("a body that passes the quick check is read by the schema as the same body, whatever its options", () => {
    const names = Object.keys(options);
    let passed = 0;
    fc.assert(
      fc.property(fc.subarray(names, { maxLength: 4 }), fc.gen(), (some, gen) => {
        const properties = Object.fromEntries(
          Object.entries(needed.properties).filter(([name]) => name === "type" || some.includes(name)),
        );
        const body = json(gen(near, { ...needed, properties }));
        if (!isUsualBody(body)) return;
        passed += 1;
        expect(submitSchema.safeParse(body)).toEqual({ success: true, data: body });
      }),
      { numRuns: 400 },
    );
    expect(passed).toBeGreaterThan(20);
  });

  test.each([
    { type: "report.daily" },
    { type: "report.daily", input: { a: [null] }, priority: "low", max_attempts: 20, delay_seconds: 0 },
    { type: "t", expires_in_seconds: 1, retention_seconds: 60, tags: { "order.id": "A 17", a: "" } },
  ])("%j passes the quick check", (body) => {
    expect(isUsualBody(body)).toBe(true);
    expect(submitSchema.safeParse(body)).toEqual({ success: true, data: body });
  });
});

describe("limits from the environment", () => {
  const number = (name: keyof typeof limitBounds) => {
    const [minimum, maximum] = limitBounds[name];
    return { anyOf: [{ type: "number", minimum, maximum }, { type: "null" }, { const: maximum }] };
  };
  const object = (properties: object) => ({ type: "object", additionalProperties: false, properties });
  const depth = { anyOf: [{ type: "integer", minimum: 1, maximum: 100_000_000 }, { type: "null" }] };

  test("limits that are read without the schema are what the schema reads", () => {
    let passed = 0;
    fc.assert(
      fc.property(
        fc.subarray([...limitNames], { maxLength: 2 }),
        fc.constantFrom(...tiers),
        fc.gen(),
        (some, tier, gen) => {
          const limits = object(Object.fromEntries(some.map((name) => [name, number(name)])));
          const tenants = {
            ...{ type: "object", propertyNames: { pattern: "^[A-Za-z0-9_-]{1,9}$" }, additionalProperties: limits },
          };
          const text = JSON.stringify(
            gen(near, object({ default: limits, tenants, depth: object({ [tier]: depth }) })),
          );
          const read = writtenLimits(text);
          if (read === undefined) return;
          passed += 1;
          expect(read).toEqual(parseLimits(text));
        },
      ),
      { numRuns: 1_000 },
    );
    expect(passed).toBeGreaterThan(50);
  });

  test.each([
    ["", { default: {}, tenants: {}, depth: {} }],
    ['{"default":{},"depth":{"critical":20000}}', { default: {}, tenants: {}, depth: { critical: 20_000 } }],
    ["{", undefined],
    ['{"max_burst":3}', undefined],
    ['{"depth":5}', undefined],
    ['{"default":{"burst":"none"}}', undefined],
  ])("%j is read as %j without the schema", (text, limits) => {
    expect(writtenLimits(text)).toEqual(limits);
  });
});
