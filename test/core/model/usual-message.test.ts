import { describe, expect, test } from "vitest";
import { messageText } from "../../../src/core/model/envelope.ts";
import { parseMessage } from "../../../src/core/model/read-envelope.ts";
import { usualMessage } from "../../../src/core/model/usual-message.ts";
import fc from "../../support/fast-check.ts";

const task_id = "019a5f0e-7c1b-7d3a-9f2e-1b2c3d4e5f60";
const sha256 = "0123456789abcdef".repeat(4);

const least = {
  schema_version: "1.0",
  message_id: "m",
  task_id,
  type: "report.daily",
  tenant_id: "acme",
  requested_by: "key",
  correlation_id: "c",
  enqueued_at: "2026-11-30T00:00:00.000Z",
  max_attempts: 5,
};

const whole = {
  ...least,
  traceparent: "00-1-2-01",
  input_version: 3,
  input: { a: [null] },
  collected: true,
  input_ref: { key: "acme/in", bytes: 0, sha256 },
  later: { form: 2 },
};

/** Values at the edges of what the members may be. */
const edges = fc.constantFrom<unknown>(
  ...["", "a", "1.0", "1.", "2.0", "1.0\n", task_id, task_id.toUpperCase(), "00000000-0000-0000-0000-000000000000"],
  ...[64, 65, 128, 129, 256, 257, 1024, 1025].flatMap((length) => ["x".repeat(length), "\u{1f600}".repeat(length)]),
  ...[null, true, 0, 1, 1.5, 20, 21, 1000, 1001, -1, 2 ** 53, [], {}, [1]],
  ...[
    { key: "k", bytes: 1, sha256 },
    { key: "k", bytes: 1, sha256, more: 1 },
    { key: "k", bytes: -1, sha256 },
  ],
  ...[
    { key: "", bytes: 1, sha256 },
    { key: "k", bytes: 1, sha256: "short" },
    { key: "k", bytes: 1 },
  ],
);

const names = [...Object.keys(whole), "line", "check_id", "constructor"];

/** A message of which some members are changed, left out, or put first. */
const nearly = fc
  .record({
    base: fc.constantFrom<object>(
      least,
      whole,
      { line: "acme/t", check_id: "c" },
      { line: "l", check_id: "c", more: 1 },
    ),
    changed: fc.dictionary(fc.constantFrom(...names), edges, { maxKeys: 2 }),
    without: fc.subarray(names, { maxLength: 1 }),
    proto: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
  })
  .map(({ base, changed, without, proto }) => {
    const members = Object.entries({ ...base, ...changed }).filter(([name]) => !without.includes(name));
    const text = messageText(Object.fromEntries(members));
    return proto && text !== "{}" ? text.replace(/\}$/, ',"__proto__":{"a":1}}') : text;
  });

describe("a message that is read without the schemas", () => {
  test("is read by the schemas as the same, whatever its members are", () => {
    let read = 0;
    fc.assert(
      fc.property(nearly, (body) => {
        const usual = usualMessage(body);
        if (usual === undefined) return;
        read += 1;
        expect(usual).toEqual(parseMessage(body));
      }),
      { numRuns: 3_000 },
    );
    expect(read).toBeGreaterThan(200);
  });

  test.each([least, whole, { line: "acme/report.daily", check_id: "c" }])("%j is usual", (message) => {
    expect(usualMessage(messageText(message))).toEqual(parseMessage(messageText(message)));
    expect(usualMessage(messageText(message))).toBeDefined();
  });

  test.each(["", "{", "null", "[]", '"text"', "1", '{"line":1}'])("%s is none: the schemas say why", (body) => {
    expect(usualMessage(body)).toBeUndefined();
    expect(parseMessage(body)).toMatchObject({ ok: false });
  });
});
