import { describe, expect, test } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import { defineTask } from "../../../src/core/task/task.ts";

const define = (input: z.ZodType) => defineTask({ name: "report.daily", input, handler: () => null });

interface Node {
  at: unknown;
  children: Node[];
}

const recursive: z.ZodType<Node> = z.object({
  at: z.date(),
  get children() {
    return z.array(recursive);
  },
});

const toDate = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});

describe("an input schema that no JSON can fit", () => {
  test("is refused with its path and an alternative", () => {
    expect(() => define(z.object({ day: z.date() }))).toThrow(
      'defineTask("report.daily"): input.day: z.date() cannot arrive as JSON; use z.iso.datetime() or z.coerce.date()',
    );
  });

  test.each([
    ["z.bigint() cannot arrive as JSON; use z.int() or z.coerce.bigint()", z.bigint()],
    ["z.bigint()", z.int64()],
    ["z.map() cannot arrive as JSON; use z.record()", z.map(z.string(), z.string())],
    ["z.set() cannot arrive as JSON; use z.array()", z.set(z.string())],
    ["z.symbol()", z.symbol()],
    ["z.nan()", z.nan()],
    ["z.file()", z.file().mime("image/png")],
    ["z.function()", z.function() as unknown as z.ZodType],
    ["z.promise()", z.promise(z.string())],
    ["z.date()", mini.date() as unknown as z.ZodType],
    ["z.void() cannot arrive as JSON; use z.null() or z.object({})", z.void()],
    ["z.undefined() cannot arrive as JSON", z.undefined()],
    ["z.literal(5n) cannot arrive as JSON; use z.literal(5)", z.literal(5n)],
    ["z.literal(5n)", z.literal(["a", 5n])],
  ])("is refused at the top level: %s", (message, input) => {
    expect(() => define(input)).toThrow(`input: ${message}`);
  });

  test.each([
    ["input.a.b", z.object({ a: z.strictObject({ b: z.date() }) })],
    ["input.*", z.looseObject({}).catchall(z.date())],
    ["input.a[]", z.object({ a: z.array(z.date()) })],
    ["input[1]", z.tuple([z.string(), z.date()])],
    ["input[]", z.tuple([z.string()], z.date())],
    ["input.*", z.record(z.string(), z.date())],
    ["input", z.union([z.string(), z.date()])],
    ["input.at", z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), at: z.date() })])],
    ["input.b", z.intersection(z.object({ a: z.string() }), z.object({ b: z.date() }))],
    ["input.a", z.object({ a: z.date().optional() })],
    ["input.a", z.object({ a: z.date().nullable() })],
    ["input.a", z.object({ a: z.date().default(() => new Date()) })],
    ["input.a", z.object({ a: z.date().prefault(() => new Date()) })],
    ["input.a", z.object({ a: z.date().catch(() => new Date()) })],
    ["input.a", z.object({ a: z.date().readonly() })],
    ["input.a", z.object({ a: z.date().optional().nonoptional() })],
    ["input.a", z.object({ a: z.date().transform(String) })],
    ["input.a", z.object({ a: z.date().pipe(z.any()) })],
    ["input", z.lazy(() => z.date())],
    ["input.at", recursive],
    ["input.a", mini.object({ a: mini.optional(mini.date()) }) as unknown as z.ZodType],
  ])("is refused where it is nested, at %s", (path, input) => {
    expect(() => define(input)).toThrow(`defineTask("report.daily"): ${path}: z.date() cannot arrive as JSON`);
  });
});

describe("an input schema that JSON can fit is allowed", () => {
  test.each([
    ["z.coerce.date()", z.object({ day: z.coerce.date() })],
    ["z.coerce.bigint()", z.coerce.bigint()],
    ["a codec to a date", z.object({ day: toDate.optional() })],
    ["z.stringbool()", z.stringbool()],
    ["z.preprocess()", z.preprocess((value) => new Date(String(value)), z.date())],
    ["a transform to a date", z.string().transform((text) => new Date(text))],
    ["a pipe to a date", z.string().pipe(z.coerce.date())],
    ["a template literal", z.templateLiteral(["n", z.bigint()])],
    ["z.json()", z.json()],
    ["z.custom()", z.custom<string>()],
    ["z.undefined() as one of several", z.object({ a: z.string() }).or(z.undefined())],
    ["z.literal() of undefined", z.literal([undefined, "a"])],
    ["z.unknown()", z.unknown()],
    ["z.undefined()", z.object({ a: z.undefined(), b: z.void() })],
    [
      "zod/mini",
      mini.object({ a: mini.optional(mini.string().check(mini.refine(() => true))) }) as unknown as z.ZodType,
    ],
  ])("%s", (_name, input) => {
    expect(define(input).input).toBe(input);
  });

  test("not a schema of another library", () => {
    expect(() => define({} as z.ZodType)).toThrow(
      "input must be a schema of zod, such as z.object({ ... }), got an object",
    );
  });

  test("a lazy schema that is defined later", () => {
    const early = define(z.object({ node: z.lazy(() => later) }));
    const later = z.string();
    expect(early.input.safeParse({ node: "a" }).success).toBe(true);
  });
});
