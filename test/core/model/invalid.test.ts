import { describe, expect, test } from "vitest";
import { z } from "zod";
import { parseInput } from "../../../src/core/model/invalid.ts";
import { Problem } from "../../../src/core/model/problem.ts";

/** The problem of a value that a schema refuses. */
function problemOf(schema: z.ZodType, value: unknown, within?: string[]) {
  try {
    parseInput(schema, value, within);
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error("the schema takes the value");
}

test("a value that fits is returned as its schema reads it", () => {
  const schema = z.object({ limit: z.string().transform(Number).default(50) });
  expect(parseInput(schema, { limit: "7", other: 1 })).toEqual({ limit: 7 });
  expect(parseInput(schema, {})).toEqual({ limit: 50 });
});

describe("the problem of a value that does not fit", () => {
  test("the problem points at the field, and repeats the given value", () => {
    const problem = problemOf(z.object({ width: z.int().positive() }), { width: -3 }, ["input"]);
    expect(problem).toMatchObject({
      code: "invalid_input",
      detail: "input.width: expected number to be >0, got -3",
      options: { errors: [{ path: "/input/width", message: "expected number to be >0" }] },
    });
  });

  test("the problem names the body when it is wrong as a whole", () => {
    const problem = problemOf(z.object({}), 7);
    expect(problem.detail).toBe("body: expected object, received number, got 7");
    expect(problem.options.errors).toEqual([{ path: "", message: "expected object, received number" }]);
  });

  test("the problem names each unknown field at its own path", () => {
    const schema = z.strictObject({ a: z.strictObject({}) });
    const problem = problemOf(schema, { a: { x: 1, y: 2 } });
    expect(problem.options.errors).toEqual([
      { path: "/a/x", message: "unknown field" },
      { path: "/a/y", message: "unknown field" },
    ]);
    expect(problem.detail).toBe("a.x: unknown field, got 1");
  });

  test("the problem has JSON pointers, with '~' and '/' escaped", () => {
    const schema = z.object({ "a/b~c": z.array(z.string()) });
    expect(problemOf(schema, { "a/b~c": ["", 1] }).options.errors).toEqual([
      { path: "/a~1b~0c/1", message: "expected string, received number" },
    ]);
  });

  test.each([
    ["long text", "x".repeat(100)],
    ["an object", { secret: 1 }],
    ["nothing", undefined],
  ])("the problem does not repeat %s", (_, value) => {
    expect(problemOf(z.object({ a: z.int() }), { a: value }).detail).not.toContain("got");
  });

  test("the problem lists at most 20 faults, and stays short", () => {
    const many = Array.from({ length: 500 }, () => "x".repeat(1000));
    const problem = problemOf(z.array(z.int()), many);
    expect(problem.options.errors).toHaveLength(20);
    const deep = problemOf(z.record(z.string(), z.int()), { ["x".repeat(5000)]: "no" });
    expect(deep.detail.length).toBeLessThanOrEqual(500);
    expect(deep.options.errors?.[0]?.path.length).toBeLessThanOrEqual(300);
  });

  test("the problem lists at most 20 unknown fields", () => {
    const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, 1]));
    expect(problemOf(z.strictObject({}), fields).options.errors).toHaveLength(20);
  });
});
