import { describe, expect, test } from "vitest";
import { firstPlaceIn, type PlaceOf, stackText } from "../../../src/core/model/stack.ts";

const asIs: PlaceOf = (place) => place;

/** An error with a stack as V8 writes it. */
function thrown(message: string, frames: readonly string[], more: object = {}): Error {
  const error = Object.assign(new Error(message), more);
  error.stack = [`${error.name}: ${message}`, ...frames.map((text) => `    at ${text}`)].join("\n");
  return error;
}

describe("the stack of a thrown value", () => {
  test("has the function, the file, the line and the column of each frame", () => {
    const error = thrown("no", ["send (/app/tasks/mail.ts:18:40)", "async Object.handler (/app/tasks/mail.ts:9:3)"]);
    expect(stackText(error, asIs)).toBe(
      "Error: no\n    at send (/app/tasks/mail.ts:18:40)\n    at async handler (/app/tasks/mail.ts:9:3)",
    );
  });

  test.each([
    "/work/C# (y)/what?/app/[x]/tasks/a.ts",
    "C:\\Users\\me\\app (2)\\tasks\\a.ts",
    "file:///C:/Users/me/app%20(2)/tasks/a.ts",
  ])("has the whole path of a folder with any name: %s", (file) => {
    const error = thrown("no", [`send (${file}:18:40)`, `${file}:9:3`, `async ${file}:7:1`]);
    expect(stackText(error, asIs)?.split("\n").slice(1)).toEqual([
      `    at send (${file}:18:40)`,
      `    at ${file}:9:3`,
      `    at ${file}:7:1`,
    ]);
    expect(firstPlaceIn(stackText(error, asIs))).toBe(`${file}:18:40`);
    expect(firstPlaceIn(stackText(thrown("no", [`${file}:9:3`]), asIs))).toBe(`${file}:9:3`);
  });

  test("has no query that a loader put behind a file, and no frame of evaluated code", () => {
    const frames = ["a (/app/what?/a.ts?t=1:1:2)", "eval (eval at f (/app/a.ts:1:1), <anonymous>:1:1)", "b (native)"];
    expect(stackText(thrown("no", frames), asIs)).toBe("Error: no\n    at a (/app/what?/a.ts:1:2)");
  });

  test("has the places of a real error", () => {
    expect(stackText(new RangeError("too far"), asIs)).toMatch(
      /^RangeError: too far\n {4}at .*stack\.test\.ts:\d+:\d+/,
    );
  });

  test("is written with translated places; frames without one are left out", () => {
    const error = thrown("no", ["f (/app/index.mjs:1:500)", "g (node:internal/process:1:2)", "/app/index.mjs:1:900"]);
    const placeOf: PlaceOf = ({ file, column }) =>
      file.startsWith("node:") ? undefined : { file: "tasks/a.ts", line: column / 100, column: 1 };
    expect(stackText(error, placeOf)).toBe("Error: no\n    at f (tasks/a.ts:5:1)\n    at tasks/a.ts:9:1");
  });

  test("has the causes, with their codes", () => {
    const system = thrown("connect ECONNREFUSED 127.0.0.1:9", [], { code: "ECONNREFUSED" });
    const error = thrown("fetch failed", ["send (tasks/a.ts:1:2)"], { name: "TypeError", cause: system });
    expect(stackText(error, asIs)).toBe(
      "TypeError: fetch failed\n    at send (tasks/a.ts:1:2)\n" +
        "caused by Error ECONNREFUSED: connect ECONNREFUSED 127.0.0.1:9",
    );
  });

  test("has the first error of an AggregateError, which Node throws when no address of a host answers", () => {
    const first = thrown("connect ECONNREFUSED ::1:9", [], { code: "ECONNREFUSED" });
    const all = thrown("", ["send (tasks/a.ts:1:2)"], {
      name: "AggregateError",
      code: "ECONNREFUSED",
      errors: [first],
    });
    expect(stackText(all, asIs)).toContain("AggregateError ECONNREFUSED\n");
    expect(stackText(all, asIs)).toContain("caused by Error ECONNREFUSED: connect ECONNREFUSED ::1:9");
  });

  test("a message that looks like frames makes no frame", () => {
    const error = thrown("no\n    at fake (tasks/fake.ts:1:1)", ["real (tasks/a.ts:1:2)"]);
    const text = stackText(error, asIs) ?? "";
    expect(text.split("\n")).toEqual(["Error: no at fake (tasks/fake.ts:1:1)", "    at real (tasks/a.ts:1:2)"]);
  });

  test("a function in a member of an object has the member's name", () => {
    const error = thrown("no", ["Object.name.name [as handler] (tasks/a.ts:1:2)"]);
    expect(stackText(error, asIs)).toContain("at handler (tasks/a.ts:1:2)");
  });

  test("has at most 2,000 characters, and ends with a whole line", () => {
    const long = "x".repeat(80);
    const chain = (depth: number): Error =>
      thrown(
        "m".repeat(5_000),
        Array.from({ length: 50 }, (_, line) => `${long} (/app/${long}.ts:${line}:1)`),
        {
          cause: depth === 0 ? undefined : chain(depth - 1),
        },
      );
    const text = stackText(chain(20), asIs) ?? "";
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text.split("\n").at(-1)).toMatch(/\.ts:\d+:1\)$|^caused by /);
  });

  test.each([
    ["a text"],
    [undefined],
    [null],
    [12],
    [{ message: "no error" }],
    [{ stack: "no frames" }],
    [{ stack: 5 }],
  ])("%j has none", (value) => {
    expect(stackText(value, asIs)).toBeUndefined();
  });

  test("hostile errors do not throw, and end", () => {
    const circle = thrown("no", ["f (a.ts:1:2)"]);
    circle.cause = circle;
    expect(stackText(circle, asIs)?.split("caused by")).toHaveLength(5);
    const trap = new Proxy(new Error("no"), {
      get() {
        throw new Error("trap");
      },
    });
    expect(stackText(trap, asIs)).toBeUndefined();
    const huge = thrown("no", []);
    huge.stack = `Error: no\n${"    at f (".repeat(1_000_000)}`;
    expect(stackText(huge, asIs)).toBeUndefined();
    const failing: PlaceOf = () => {
      throw new Error("no map");
    };
    expect(stackText(thrown("no", ["f (a.mjs:1:2)"]), failing)).toContain("at f (a.mjs:1:2)");
  });
});
