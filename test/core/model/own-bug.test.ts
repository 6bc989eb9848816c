import { expect, test } from "vitest";
import { isOwnBug, plainStackOf } from "../../../src/core/model/stack.ts";

const thrownBy = (code: () => unknown): unknown => {
  try {
    code();
  } catch (error) {
    return error;
  }
  return undefined;
};

const missing: unknown = undefined;
const at = (frame: string, name = "TypeError") =>
  Object.assign(new Error("x"), { name, stack: `${name}: x\n    at ${frame}` });

test.each<[string, boolean, unknown]>([
  ["a TypeError of own code", true, thrownBy(() => (missing as { a: { b: 1 } }).a.b)],
  ["a ReferenceError of own code", true, at("handler (/app/tasks/mail.send.ts:3:4)", "ReferenceError")],
  ["another error of own code", false, new RangeError("too large")],
  ["a TypeError of Node", false, thrownBy(() => new URL("no url"))],
  ["a TypeError with a cause, as fetch throws it", false, new TypeError("fetch failed", { cause: new Error("reset") })],
  ["a TypeError of a package", false, at("call (/app/node_modules/axios/index.js:1:2)")],
  [
    "a TypeError whose first frame is Node's",
    false,
    at("node:internal/deps/undici:1:2\n    at handler (/app/tasks/a.ts:1:1)"),
  ],
  ["a TypeError that begins in a native function of own code's call", false, at("Array.map (<anonymous>)")],
  ["no error", false, "TypeError"],
  ["a TypeError without a stack", false, Object.assign(new TypeError("x"), { stack: "" })],
])("%s: %s", async (_, isBug, error) => {
  expect(await isOwnBug(error, plainStackOf)).toBe(isBug);
});
