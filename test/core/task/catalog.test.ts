import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { knownTypesOf, parseCatalog } from "../../../src/core/task/catalog.ts";
import { inputSchema } from "../../../src/core/task/input-schema.ts";
import { knownTypes } from "../../../src/core/task/known-types.ts";
import { defineTask, type TaskType } from "../../../src/core/task/task.ts";
import { toCatalog } from "../../../src/core/task/to-catalog.ts";
import fc from "../../support/fast-check.ts";
import { taskTypes } from "../../support/own-types.ts";
import { typeOf } from "../../support/task-types.ts";

/** The schema of a type as submit sees it, after its way through the catalogue's file. */
function throughCatalog(input: z.ZodType): z.ZodType {
  const text = JSON.stringify(toCatalog([typeOf(() => null, { name: "t", input })]));
  const known = knownTypes(parseCatalog(text)).get("t");
  if (known === undefined) throw new Error("the type is gone");
  return inputSchema(known);
}

describe("a catalogue", () => {
  const type = defineTask({
    name: "report.daily",
    description: "The day's report.",
    input: z.strictObject({ day: z.string() }),
    version: 2,
    priority: "low",
    timeoutSeconds: 90,
    maxAttempts: 3,
    cancellable: false,
    handler: () => null,
  });

  test("a catalogue describes a type as data", () => {
    expect(toCatalog([type])).toEqual([
      {
        name: "report.daily",
        description: "The day's report.",
        input_schema: expect.objectContaining({ type: "object", additionalProperties: false, required: ["day"] }),
        version: 2,
        priority: "low",
        timeout_seconds: 90,
        max_attempts: 3,
        cancellable: false,
      },
    ]);
  });

  test("a catalogue comes back from its file as it was written", async () => {
    const catalog = toCatalog(await taskTypes());
    expect(parseCatalog(JSON.stringify(catalog))).toEqual(JSON.parse(JSON.stringify(catalog)));
  });

  test.each([
    ["", "Unexpected end of JSON input"],
    ["{}", "expected a catalogue of task types"],
    ['[{"name":"a"}]', "expected a catalogue of task types"],
  ])("%j is not a catalogue", (text, message) => {
    expect(() => parseCatalog(text)).toThrow(message);
  });

  test("a catalogue has the same facts of a type as its definition", () => {
    const [fromFile, fromCode] = [knownTypes(toCatalog([type])), knownTypesOf([type])].map((types) =>
      types.get(type.name),
    );
    const { input: a, input_schema: b, ...facts } = fromCode ?? { input: undefined, input_schema: {} };
    expect(facts).toMatchObject({ name: "report.daily", version: 2, priority: "low", cancellable: false });
    expect(fromFile).toMatchObject(facts);
    expect(knownTypes(toCatalog([type])).get("report.weekly")).toBeUndefined();
  });
});

describe("a schema on its way through the catalogue", () => {
  const tree: z.ZodType = z.strictObject({
    name: z.string(),
    get children() {
      return z.array(tree);
    },
  });
  const schemas: [string, z.ZodType, good: unknown][] = [
    ["text", z.string().min(2).max(4), "abc"],
    ["a pattern", z.string().regex(/^[a-c]+$/), "abc"],
    ["a whole number", z.int().min(-3).max(3), -3],
    ["a number", z.number().gt(0).lt(2), 1.5],
    ["a multiple", z.number().multipleOf(3), 3],
    ["true or false", z.boolean(), true],
    ["null or text", z.string().nullable(), null],
    ["one of some words", z.enum(["a", "b", "null"]), "null"],
    ["a literal", z.literal(["a", 1, null]), 1],
    ["an array", z.array(z.int()).min(1).max(3), [1, 2]],
    ["a tuple", z.tuple([z.string(), z.int()]), ["a", 1]],
    ["an object that takes more", z.looseObject({ a: z.int() }), { a: 1, b: 2 }],
    ["an object that takes no more", z.strictObject({ a: z.int(), b: z.string().optional() }), { a: 1, b: "b" }],
    ["an object that drops more", z.object({ a: z.int() }), { a: 1, b: 2 }],
    ["a default", z.strictObject({ a: z.int().default(3) }), {}],
    ["a record", z.record(z.string().regex(/^[ab]$/), z.int()), { a: 1, b: 2 }],
    ["one of two", z.union([z.int(), z.strictObject({ a: z.int() })]), { a: 1 }],
    [
      "one of two by a field",
      z.discriminatedUnion("k", [
        z.strictObject({ k: z.literal("a"), a: z.int() }),
        z.strictObject({ k: z.literal("b"), b: z.string() }),
      ]),
      { k: "b", b: "" },
    ],
    ["both of two", z.intersection(z.looseObject({ a: z.int() }), z.looseObject({ b: z.int() })), { a: 1, b: 2 }],
    ["anything", z.unknown(), [{ a: null }]],
    ["objects within objects", z.strictObject({ a: z.strictObject({ a: z.array(z.int()) }) }), { a: { a: [1] } }],
    ["a schema within itself", tree, { name: "a", children: [{ name: "b", children: [] }] }],
    ["a day", z.iso.date(), "2027-01-01"],
    ["a time", z.iso.datetime(), "2027-01-01T00:00:00.000Z"],
    ["a UUID", z.uuid(), "9b2f0c52-7a4c-4b1e-9a3e-0d8b1c2f3a4d"],
    ["an address", z.email(), "a@example.com"],
    ["a URL", z.url(), "https://example.com/a?b"],
  ];

  const leaf = fc.constantFrom<unknown>(
    ...[null, true, 0, 1, 2, 3, -3, 1.5, 4, "", "a", "b", "ab", "abc", "null", "abcde", "2027-01-01", "2027-13-01"],
    "9b2f0c52-7a4c-4b1e-9a3e-0d8b1c2f3a4d",
  );
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom("a", "b", "k", "name", "children"), tie("value"), { maxKeys: 3 }),
    ),
  })).value;

  test.each(schemas)("%s accepts and refuses the same values", (_, schema, good) => {
    const copy = throughCatalog(schema);
    expect(schema.safeParse(good).success).toBe(true);
    expect(copy.safeParse(good).success).toBe(true);
    fc.assert(
      fc.property(value, (given) => {
        expect(copy.safeParse(given).success).toBe(schema.safeParse(given).success);
      }),
      { numRuns: 150 },
    );
  });

  const some = z.strictObject({ a: z.int() });
  test.each<[string, z.ZodType, accepted: boolean]>([
    ["optional", some.optional(), true],
    ["nullish", some.nullish(), true],
    ["a default", some.default({ a: 1 }), true],
    ["undefined as one of several", some.or(z.undefined()), true],
    ["optional, behind a transform", some.optional().transform((given) => given ?? { a: 1 }), true],
    ["optional, later defined", z.lazy(() => some.optional()), true],
    ["optional, with a rule", some.optional().refine(async () => true), true],
    ["needed", some, false],
    ["null", z.null(), false],
    ["a field may be left out", z.strictObject({ a: z.int().optional() }), false],
  ])("an input that is left out: %s", (_, schema, accepted) => {
    const copy = throughCatalog(schema);
    expect(copy.safeParse(undefined).success).toBe(accepted);
    expect(copy.safeParse({ a: 1 }).success).toBe(schema.def.type !== "null");
    expect(copy.safeParse({ a: "1" }).success).toBe(false);
  });

  test.each([
    ["i", z.string().regex(/^abc$/i), "ABC"],
    ["i, beside one without", z.strictObject({ a: z.string().regex(/^a/).regex(/C$/i) }), { a: "abc" }],
    ["s", z.string().regex(/^a.b$/s), "a\nb"],
    [
      "u",
      z
        .string()
        .regex(/^\p{L}+$/u)
        .max(10),
      "Ärger",
    ],
    ["u, of a format", z.emoji(), "🙂"],
  ])("a pattern with the flag %s is left to the worker, because JSON Schema has no flags", (_, schema, good) => {
    const copy = throughCatalog(schema);
    expect(schema.safeParse(good).success).toBe(true);
    expect(copy.safeParse(good).success).toBe(true);
    expect(copy.safeParse(3).success).toBe(false);
    expect(throughCatalog(z.string().regex(/^a/u).max(3)).safeParse("bbbb").success).toBe(false);
  });

  test("submit checks an input as it was sent, before coercion and trimming", () => {
    const schema = z.strictObject({ count: z.coerce.number(), name: z.string().trim().max(3) });
    const copy = throughCatalog(schema);
    expect(copy.safeParse({ count: 5, name: "abc" }).success).toBe(true);
    expect(copy.safeParse({ count: "5", name: "abc" }).success).toBe(false);
    expect(copy.safeParse({ count: 5, name: " abc " }).success).toBe(false);
  });

  test("submit accepts what JSON Schema cannot express, and leaves its check to the worker", () => {
    const schema = z.strictObject({
      even: z.int().refine((number) => number % 2 === 0),
      at: z.iso.datetime().transform((text) => new Date(text)),
    });
    const copy = throughCatalog(schema);
    expect(copy.safeParse({ even: 3, at: "2027-01-01T00:00:00Z" }).success).toBe(true);
    expect(copy.safeParse({ even: "3", at: "2027-01-01T00:00:00Z" }).success).toBe(false);
  });

  test("every type of the deployment survives the catalogue", async () => {
    const examples: Record<string, unknown> = {
      "invoice.generate": JSON.parse(readFileSync("examples/order.json", "utf8")),
      "probe.echo": { value: { a: 1 } },
      "probe.sleep": { ms: 10 },
      "probe.fail": { kind: "transient", times: null },
      "probe.crash": { how: "exit" },
      "probe.context": {},
      "probe.once": { key: "k" },
      "probe.steps": { steps: 2 },
      "probe.wait": { name: "approved", timeout_seconds: 1 },
      "probe.long": { ms: 10 },
      "probe.child": { number: 1 },
      "probe.fanout": { children: 3 },
      "probe.file": {},
      "probe.bytes": { bytes: 1, as: "json" },
      "probe.created": { location: "/a" },
      "probe.keyed": { key: "k", ms: 10 },
      "probe.rated": { key: "k" },
      "probe.collect": { value: 1 },
      "probe.strict": { key: "k", ms: 10 },
      "probe.signals": { timeout_seconds: 60 },
      "probe.any": { names: ["approve", "reject"] },
      "probe.tries": { failures: 1 },
      "probe.onfailed": { how: "permanent" },
    };
    const check = (type: TaskType) => {
      const copy = throughCatalog(type.input);
      const good = examples[type.name];
      const example = type.name === "invoice.generate" ? ((good as { input?: unknown }).input ?? good) : good;
      expect(type.input.safeParse(example), type.name).toMatchObject({ success: true });
      expect(copy.safeParse(example), type.name).toMatchObject({ success: true });
      expect(copy.safeParse({ ...Object(example), surplus: 1 }).success, type.name).toBe(
        type.input.safeParse({ ...Object(example), surplus: 1 }).success,
      );
      expect(copy.safeParse(null).success, type.name).toBe(type.input.safeParse(null).success);
    };
    const types = await taskTypes();
    for (const type of types) check(type);
    expect(types.map(({ name }) => name).sort()).toEqual(Object.keys(examples).sort());
  });
});
