import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { canonicalJson, fingerprint, taskIdOf } from "../../../src/core/model/idempotency.ts";
import fc from "../../support/fast-check.ts";

/** The same value with its members written in another order, at every level. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, shuffled(member)]),
  );
}

const json = fc.jsonValue({ maxDepth: 5 }).map((value): unknown => JSON.parse(JSON.stringify(value)));

describe("canonical JSON", () => {
  test("canonical JSON is JSON of the same value", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  test("canonical JSON does not depend on the order of the members", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test("canonical JSON is equal for equal values only", () => {
    const leaf = fc.constantFrom<unknown>(
      null,
      0,
      1,
      "0",
      "",
      "null",
      true,
      [],
      {},
      [0],
      { a: 0 },
      { a: "0" },
      { b: 0 },
    );
    const value = fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }), fc.dictionary(fc.constantFrom("a", "b"), leaf));
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(canonicalJson(a) === canonicalJson(b)).toBe(
          isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))),
        );
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    [{ b: 1, a: { d: 2, c: [1, { f: 1, e: 2 }] } }, '{"a":{"c":[1,{"e":2,"f":1}],"d":2},"b":1}'],
    [[3, 1, 2], "[3,1,2]"],
    [{ a: undefined, b: null }, '{"b":null}'],
    [[undefined], "[null]"],
    [undefined, "null"],
    ['"quoted"\n', '"\\"quoted\\"\\n"'],
    [-0, "0"],
  ])("the canonical JSON of %j is %s", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });
});

describe("a fingerprint", () => {
  test("a fingerprint is short, and safe in a key", () => {
    expect(fingerprint({ a: 1 })).toMatch(/^[A-Za-z0-9_-]{27}$/);
  });

  test.each([
    [{ a: 1 }, { a: "1" }],
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: { b: 1 } }, { a: 1, b: 1 }],
    [{ a: null }, {}],
    ["", null],
    [[[]], [[[]]]],
  ])("the fingerprint of %j differs from that of %j", (a, b) => {
    expect(fingerprint(a)).not.toBe(fingerprint(b));
  });
});

describe("the task id of an idempotency key", () => {
  test("the task id is a UUID, and the same for the same caller and key", () => {
    const id = taskIdOf("acme", "olga", "key-1");
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(taskIdOf("acme", "olga", "key-1")).toBe(id);
  });

  test("the task id is the same as in earlier versions", () => {
    expect(taskIdOf("acme", "olga", "key-1")).toBe("deba09e2-528b-5a5e-b7b7-9b5c79509ab3");
  });

  test("the task id differs for another tenant, principal or key, however the three are cut", () => {
    const ids = new Map<string, readonly string[]>();
    const cuts = fc.tuple(fc.nat(6), fc.nat(6)).map(([one, other]) => [Math.min(one, other), Math.max(one, other)]);
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "b", '"', ",", "\n"), maxLength: 6 }),
        cuts,
        (text, [from, to]) => {
          const parts = [text.slice(0, from), text.slice(from, to), text.slice(to)] as const;
          const id = taskIdOf(...parts);
          expect(ids.get(id) ?? parts).toEqual(parts);
          ids.set(id, parts);
          expect(taskIdOf(...parts)).toBe(id);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
