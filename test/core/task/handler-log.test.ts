import { beforeEach, describe, expect, test } from "vitest";
import type { TaskLog } from "../../../src/core/task/context.ts";
import { handlerLog, redactedLog, redactionOf } from "../../../src/core/task/handler-log.ts";

let lines: { message: string; fields: Record<string, unknown> | undefined }[] = [];
const take = (message: string, fields?: Record<string, unknown>): void => {
  lines.push({ message: message.replaceAll("\n", " "), fields });
};
const written = { debug: take, info: take, warn: take, error: take };
const log = handlerLog(written);
beforeEach(() => {
  lines = [];
});

const declined = Object.assign(new Error("declined", { cause: new Error("no cover") }), { code: "E7" });
const ofDeclined = {
  error: "declined (no cover)",
  error_type: "E7",
  stack: expect.stringMatching(/^Error: declined[\s\S]*handler-log\.test\.ts\S*:\d+[\s\S]*caused by Error: no cover/),
};
class Shop {
  name = "shop-7";
}

describe("a handler's log takes", () => {
  test.each<[string, unknown[], string, Record<string, unknown> | undefined]>([
    ["a text", ["stored"], "stored", undefined],
    ["a text and fields", ["stored", { rows: 3 }], "stored", { rows: 3 }],
    ["an error", [declined], "declined (no cover)", ofDeclined],
    ["a text and an error", ["failed", declined], "failed", ofDeclined],
    ["an error and a text", [declined, "failed"], "failed", ofDeclined],
    ["fields with an error", ["failed", { order: 7, why: declined }], "failed", { order: 7, why: ofDeclined }],
    ["fields with an error under error", ["failed", { error: declined }], "failed", { error: ofDeclined }],
    ["fields and a text", [{ rows: 3 }, "stored"], "stored", { rows: 3 }],
    ["fields with a message", [{ message: "stored", rows: 3 }], "stored", { message: "stored", rows: 3 }],
    ["nothing", [], "", undefined],
    ["a number", [42], "42", undefined],
    ["null", [null], "null", undefined],
    ["a symbol", [Symbol("a")], "Symbol(a)", undefined],
    ["a text and a number", ["rows", 3], "rows", { value: 3 }],
    ["a text and a big integer", ["rows", 3n], "rows", { value: "3" }],
    ["a text and a list", ["rows", [1, 2]], "rows", { value: [1, 2] }],
    ["a text and more values", ["a", { b: 1 }, "c", 2], "a", { b: 1, more: ["c", 2] }],
    ["a Map in fields", ["a", { counts: new Map([["b", 1]]) }], "a", { counts: { b: 1 } }],
    ["an object of a class", ["a", new Shop()], "a", { name: "shop-7" }],
  ])("%s", (_, given, message, fields) => {
    (log.info as (...values: unknown[]) => void)(...given);
    expect(lines).toEqual([{ message, fields }]);
  });
});

describe("no call of a handler's log throws", () => {
  const trapped = new Proxy(
    {},
    {
      get: () => {
        throw new Error("get");
      },
      ownKeys: () => {
        throw new Error("ownKeys");
      },
    },
  );
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const getter = {
    get rows() {
      throw new Error("hidden");
    },
  };
  const values = [undefined, null, 1, 1n, Symbol("a"), () => 1, [circle], circle, getter, trapped, revoked.proxy];

  test.each(["debug", "info", "warn", "error"] as const)("%s", (level) => {
    const write = log[level] as (...given: unknown[]) => void;
    for (const first of values) for (const second of values) expect(() => write(first, second)).not.toThrow();
    expect(lines.length).toBe(values.length ** 2);
  });

  test("where the line cannot be written", () => {
    const broken = () => {
      throw new Error("disk full");
    };
    const own = handlerLog({ ...written, info: broken });
    expect(() => own.info("a")).not.toThrow();
  });
});

test("the log of a sensitive type takes the same, and tells neither messages of errors nor their stacks", () => {
  const own = handlerLog(redactedLog(written, redactionOf({ card: "4111 1111" })));
  const each: ((log: TaskLog) => void)[] = [
    (to) => to.error(new Error("card 4111 1111 declined")),
    (to) => to.error("failed", new Error("card 4111 1111 declined")),
    (to) => to.info({ card: "4111 1111" }, "paid with 4111 1111"),
    (to) => to.info(undefined, { "4111 1111": 1 }),
  ];
  for (const write of each) write(own);
  expect(lines).toHaveLength(each.length);
  expect(JSON.stringify(lines)).not.toContain("4111 1111");
});
