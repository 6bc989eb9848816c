import { describe, expect, test } from "vitest";
import { createRouter } from "../../../src/api/http/api.ts";
import { deepestBody, jsonBody, largestBodyBytes, optionalJsonBody } from "../../../src/api/http/body.ts";
import { noTracing } from "../../../src/core/ports/tasks.ts";
import { KeptLog } from "../../support/kept.ts";
import { type Ask, ask, problem } from "../../support/served.ts";

const json = { "content-type": "application/json" };

/** Posts a text to a route that gives back what it read. */
async function posted(raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json, path = "/needed") {
  const api = createRouter({ log: new KeptLog(), tracing: noTracing, newCorrelationId: () => "c" });
  api.on("POST", "/needed", async (call) => call.json({ read: await jsonBody(call) }));
  api.on("POST", "/optional", async (call) => call.json({ read: await optionalJsonBody(call) }));
  const request: Ask = { method: "POST", raw, headers };
  return ask(api, path, request);
}

/** An object that is so many levels deep. */
const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;

describe("a body", () => {
  test.each(["application/json", "application/json; charset=utf-8", "Application/JSON", " application/json ;x=y"])(
    "a body is read as %s",
    async (type) => {
      expect((await posted('{"a":[1]}', { "content-type": type })).json).toEqual({ read: { a: [1] } });
    },
  );

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", "application/problem+json"])(
    "a body is refused as %j",
    async (type) => {
      expect(await posted("{}", { "content-type": type })).toMatchObject(problem(415, "unsupported_media_type"));
    },
  );

  test("a body without a content type is refused", async () => {
    expect(await posted(new Uint8Array([123, 125]), {})).toMatchObject(problem(415, "unsupported_media_type"));
  });

  test.each(["", "{", "{'a':1}", "nonsense", '{"a":1}}', "\u0000"])("the body %j is malformed", async (raw) => {
    expect(await posted(raw)).toMatchObject(problem(400, "malformed_request"));
  });

  test.each(["null", "7", '"text"', "[]", "true"])("the body %s is malformed, as it is not an object", async (raw) => {
    const answer = await posted(raw);
    expect(answer).toMatchObject(problem(400, "malformed_request"));
    expect(answer.json.detail).toBe("The body must be a JSON object.");
  });

  test("a body that is not UTF-8 is malformed", async () => {
    const bytes = new Uint8Array([...Buffer.from('{"a":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    expect(await posted(bytes)).toMatchObject(problem(400, "malformed_request"));
  });
});

describe("a body's size", () => {
  const ofBytes = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`;

  test("a body has at most 1 MiB", async () => {
    expect(largestBodyBytes).toBe(1_048_576);
    expect((await posted(ofBytes(largestBodyBytes))).status).toBe(200);
    expect(await posted(ofBytes(largestBodyBytes + 1))).toMatchObject(problem(413, "too_large"));
  });

  test("a body's size is counted in bytes", async () => {
    expect(await posted(`{"a":"${"ä".repeat(largestBodyBytes / 2)}"}`)).toMatchObject(problem(413, "too_large"));
  });

  test("a content-length that is too small does not help a body that is too large", async () => {
    const headers = { ...json, "content-length": "2" };
    expect(await posted(ofBytes(largestBodyBytes + 1), headers)).toMatchObject(problem(413, "too_large"));
  });
});

describe("a body's shape", () => {
  test("a body is at most 64 levels deep, in objects and in arrays", async () => {
    expect((await posted(nested(deepestBody))).status).toBe(200);
    expect(await posted(nested(deepestBody + 1))).toMatchObject(problem(400, "malformed_request"));
    expect((await posted(`{"a":${"[".repeat(63)}${"]".repeat(63)}}`)).status).toBe(200);
    expect(await posted(`{"a":${"[".repeat(64)}${"]".repeat(64)}}`)).toMatchObject(problem(400, "malformed_request"));
  });

  test("a body that is 500,000 levels deep is refused", async () => {
    expect(await posted(`{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`)).toMatchObject(
      problem(400, "malformed_request"),
    );
  });

  test.each([
    '{"__proto__":{"admin":true}}',
    '{"a":[{"__proto__":1}]}',
    '{"a":{"b":{"__proto__":null}}}',
    '{"\\u005f_proto__":1}',
  ])("a member named __proto__ is refused: %s", async (raw) => {
    expect(await posted(raw)).toMatchObject(problem(400, "malformed_request"));
  });

  test("a member named constructor or prototype is accepted", async () => {
    const read = { constructor: 1, prototype: 2, toString: 3 };
    expect((await posted(JSON.stringify(read))).json).toEqual({ read });
  });
});

describe("a body's numbers", () => {
  const refused = (path: string) => ({
    status: 422,
    json: { code: "invalid_input", errors: [{ path, message: expect.stringContaining("send it as text") }] },
  });

  test.each([
    ...["1e400", "-1e400", "9".repeat(400), "12345678901234567890", "-12345678901234567890"],
    ...["9007199254740993", "-9007199254740993", "9007199254740993 "],
  ])("the number %s is refused, as it would change", async (number) => {
    expect(await posted(`{"a":${number}}`)).toMatchObject(refused("/a"));
    expect(await posted(`{"a": [ ${number}]}`)).toMatchObject(refused("/a/0"));
    expect(await posted(`{"x":[{"~b/c":[1,"t",null,${number}]}]}`)).toMatchObject(refused("/x/0/~0b~1c/3"));
    expect(await posted(`{"a":${number}}`, {}, "/optional")).toMatchObject(refused("/a"));
  });

  test.each([
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992],
    ["-9007199254740994", -9007199254740994],
    ["100000000000000000000", 1e20],
    ["1e20", 1e20],
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["0.1234567890123456789", Number("0.1234567890123456789")],
    ["123456789012345678.5", Number("123456789012345678.5")],
    ["-0", 0],
  ])("the number %s is accepted", async (text, number) => {
    expect((await posted(`{"a":[${text}]}`)).json).toEqual({ read: { a: [number] } });
  });

  test("digits in a text are not a number", async () => {
    const read = { a: "12345678901234567890", "12345678901234567890": ":12345678901234567890,1e400" };
    expect((await posted(JSON.stringify(read))).json).toEqual({ read });
    expect((await posted(`{"n":9007199254740992,"a":"12345678901234567890"}`)).status).toBe(200);
  });

  test("deep nesting around a long number is refused", async () => {
    const raw = `{"a":${"[".repeat(500_000)}9007199254740993${"]".repeat(500_000)}}`;
    expect(await posted(raw)).toMatchObject(problem(400, "malformed_request"));
  });
});

describe("a body that may be left out", () => {
  test.each(["", "  \n"])("a missing body is an empty object: %j", async (raw) => {
    expect((await posted(raw, {}, "/optional")).json).toEqual({ read: {} });
  });

  test("an optional body is read when it exists, whatever its type", async () => {
    expect((await posted('{"a":1}', {}, "/optional")).json).toEqual({ read: { a: 1 } });
  });

  test.each(["{", "[]", '{"__proto__":1}'])("the optional body %s is refused", async (raw) => {
    expect(await posted(raw, {}, "/optional")).toMatchObject(problem(400, "malformed_request"));
  });
});
