import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { TaskInput } from "../../../src/client/index.ts";
import { inputSchema } from "../../../src/core/task/input-schema.ts";
import { dataOf, parseInput } from "../../../src/core/task/parsed-input.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { toCatalog } from "../../../src/core/task/to-catalog.ts";

const text = z.string();
const node: z.ZodType = z.lazy(() => z.union([z.object({ next: node }), z.undefined()]));

/** A type whose input has the member `a`, and the member `b` that is there. */
const typeOf = (a: z.ZodType, wrap: (member: z.ZodType) => z.ZodType = (member) => member) =>
  defineTask({ name: "left.out", input: wrap(z.object({ a, b: text })), handler: () => null });

/** The answers of submit, the document and the worker about an input. */
async function judge(type: ReturnType<typeof typeOf>, input: unknown) {
  const [entry] = toCatalog([type]);
  const { required } = (entry?.input_schema ?? {}) as { required?: string[] };
  const parsed = await parseInput(type, structuredClone(input), 1);
  return {
    accepts: entry !== undefined && inputSchema(entry).safeParse(input).success,
    required: required?.includes("a"),
    runs: !("fault" in parsed),
  };
}

test.each<[string, z.ZodType]>([
  ["optional", text.optional()],
  ["nullish", text.nullish()],
  ["exactOptional", text.exactOptional()],
  ["default", text.default("x")],
  ["prefault", text.prefault("x")],
  ["catch", text.catch("x")],
  ["undefined", z.undefined()],
  ["void", z.void()],
  ["any", z.any()],
  ["unknown", z.unknown()],
  ["a union with undefined", z.union([text, z.undefined()])],
  ["a union in a union", z.union([text, z.union([z.number(), z.undefined()])])],
  ["a union with an optional", z.union([text, z.number().optional()])],
  ["xor", z.xor([text, z.undefined()])],
  ["a literal undefined", z.literal(["x", undefined])],
  ["custom", z.custom((value) => value === undefined || value === 1)],
  ["custom without a check", z.custom()],
  ["refine", z.any().refine((value) => value === undefined)],
  ["an async refine", z.any().refine(async (value) => value === undefined)],
  ["lazy", z.lazy(() => text.optional())],
  ["lazy with undefined", z.lazy(() => z.undefined())],
  ["a schema that contains itself", node],
  ["nullable", z.union([text, z.undefined()]).nullable()],
  ["readonly", z.union([text, z.undefined()]).readonly()],
  ["brand", text.optional().brand("id")],
  ["transform", z.union([text, z.undefined()]).transform((value) => value ?? "x")],
  ["preprocess", z.preprocess((value) => value ?? "x", text)],
  ["pipe", z.unknown().pipe(z.undefined())],
  ["codec", z.codec(text.optional(), text, { decode: (value) => value ?? "x", encode: (value) => value })],
  ["intersection", z.intersection(z.unknown(), text.optional())],
])(
  "a member that may be undefined by %s may be left out, at submit, in the document and in the worker",
  async (_, a) => {
    expect(await judge(typeOf(a), { b: "y" })).toEqual({ accepts: true, required: false, runs: true });
  },
);

test.each<[string, z.ZodType]>([
  ["a text", text],
  ["nullable", text.nullable()],
  ["nonoptional", text.optional().nonoptional()],
  ["coerce", z.coerce.number()],
  ["a coerced text", z.coerce.string()],
  ["a union", z.union([text, z.number()])],
  ["an object whose members may all be left out", z.object({ c: text.optional() })],
])("a member of %s is required", async (_, a) => {
  expect(await judge(typeOf(a), { b: "y" })).toMatchObject({ accepts: false, required: true });
});

test("a member is left out at any depth: in a list, a record, a union, a strict object", async () => {
  const of = (wrap: (member: z.ZodType) => z.ZodType) => typeOf(z.unknown(), wrap);
  const input = { b: "y" };
  expect(
    await judge(
      of((member) => z.array(member)),
      [input, input],
    ),
  ).toMatchObject({ accepts: true, runs: true });
  expect(
    await judge(
      of((member) => z.record(text, member)),
      { one: input },
    ),
  ).toMatchObject({ accepts: true, runs: true });
  expect(
    await judge(
      of((member) => z.union([z.number(), member])),
      input,
    ),
  ).toMatchObject({ accepts: true, runs: true });
  const strict = defineTask({ name: "left.out", input: z.strictObject({ a: z.undefined() }), handler: () => null });
  expect(await judge(strict, {})).toEqual({ accepts: true, required: undefined, runs: true });
});

test("the handler gets the member as undefined, and other faults are told as they are", async () => {
  const type = typeOf(z.unknown());
  expect(dataOf(await parseInput(type, { b: "y" }, 1))).toEqual({ a: undefined, b: "y" });
  expect(await parseInput(type, { b: 1 }, 1)).toMatchObject({ fault: { message: expect.stringContaining("input.b") } });
  expect(await parseInput(typeOf(text), {}, 1)).toMatchObject({
    fault: { message: expect.stringContaining("input.a") },
  });
});

test("many members that are left out cost no more than they are", async () => {
  const input = Array.from({ length: 20_000 }, () => ({ b: "y" }));
  expect(
    await judge(
      typeOf(z.unknown(), (member) => z.array(member)),
      input,
    ),
  ).toMatchObject({ runs: true });
});

test("the types of the client let such a member be left out", () => {
  const input = z.object({ a: z.union([text, z.undefined()]), b: text, list: z.array(z.object({ c: z.undefined() })) });
  const types = { type: defineTask({ name: "left.out", input, handler: () => null }) };
  type Sent = TaskInput<typeof types, "left.out">;
  expectTypeOf<{ b: string; list: Record<never, never>[] }>().toExtend<Sent>();
  expectTypeOf<{ a: undefined; b: string; list: { c: undefined }[] }>().toExtend<Sent>();
  expectTypeOf<{ list: Record<never, never>[] }>().not.toExtend<Sent>();
  expect(types.type.name).toBe("left.out");
});
