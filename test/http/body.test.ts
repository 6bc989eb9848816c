import { describe, expect, test } from "vitest";
import { noTracing } from "../../src/core/tracing.ts";
import { createApi } from "../../src/http/api.ts";
import { deepestBody, jsonBody, largestBodyBytes, optionalJsonBody } from "../../src/http/body.ts";
import { KeptLog } from "../support/memory-pipeline.ts";
import { type Ask, ask, problem } from "../support/served.ts";

const json = { "content-type": "application/json" };

/** Posts a text to a route that gives back what it read. */
async function posted(raw: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json, path = "/needed") {
  const api = createApi({ log: new KeptLog(), tracing: noTracing, newCorrelationId: () => "c" });
  api.post("/needed", async (call) => call.json({ read: await jsonBody(call) }));
  api.post("/optional", async (call) => call.json({ read: await optionalJsonBody(call) }));
  const request: Ask = { method: "POST", raw, headers };
  return ask(api, path, request);
}

/** An object that is so many levels deep. */
const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;

describe("a body", () => {
  test.each(["application/json", "application/json; charset=utf-8", "Application/JSON", " application/json ;x=y"])(
    "is read as %s",
    async (type) => {
      expect((await posted('{"a":[1]}', { "content-type": type })).json).toEqual({ read: { a: [1] } });
    },
  );

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", "application/problem+json"])(
    "is refused as %j",
    async (type) => {
      expect(await posted("{}", { "content-type": type })).toMatchObject(problem(415, "unsupported_media_type"));
    },
  );

  test("without a content type is refused", async () => {
    expect(await posted(new Uint8Array([123, 125]), {})).toMatchObject(problem(415, "unsupported_media_type"));
  });

  test.each(["", "{", "{'a':1}", "nonsense", '{"a":1}}', "\u0000"])("that is %j is malformed", async (raw) => {
    expect(await posted(raw)).toMatchObject(problem(400, "malformed_request"));
  });

  test.each(["null", "7", '"text"', "[]", "true"])("that is %s and no object is malformed", async (raw) => {
    const answer = await posted(raw);
    expect(answer).toMatchObject(problem(400, "malformed_request"));
    expect(answer.json.detail).toBe("The body must be a JSON object.");
  });

  test("that is no UTF-8 is malformed", async () => {
    const bytes = new Uint8Array([...Buffer.from('{"a":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    expect(await posted(bytes)).toMatchObject(problem(400, "malformed_request"));
  });
});

describe("a body's size", () => {
  const ofBytes = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`;

  test("is at most 1 MiB", async () => {
    expect(largestBodyBytes).toBe(1_048_576);
    expect((await posted(ofBytes(largestBodyBytes))).status).toBe(200);
    expect(await posted(ofBytes(largestBodyBytes + 1))).toMatchObject(problem(413, "too_large"));
  });

  test("is counted in bytes", async () => {
    expect(await posted(`{"a":"${"ä".repeat(largestBodyBytes / 2)}"}`)).toMatchObject(problem(413, "too_large"));
  });

  test("is believed when it says that it is too large", async () => {
    const headers = { ...json, "content-length": String(largestBodyBytes + 1) };
    expect(await posted("{}", headers)).toMatchObject(problem(413, "too_large"));
  });

  test("is not believed when it says that it is small", async () => {
    const headers = { ...json, "content-length": "2" };
    expect(await posted(ofBytes(largestBodyBytes + 1), headers)).toMatchObject(problem(413, "too_large"));
  });
});

describe("a body's shape", () => {
  test("is at most 64 levels deep, in objects and in arrays", async () => {
    expect((await posted(nested(deepestBody))).status).toBe(200);
    expect(await posted(nested(deepestBody + 1))).toMatchObject(problem(400, "malformed_request"));
    expect((await posted(`{"a":${"[".repeat(63)}${"]".repeat(63)}}`)).status).toBe(200);
    expect(await posted(`{"a":${"[".repeat(64)}${"]".repeat(64)}}`)).toMatchObject(problem(400, "malformed_request"));
  });

  test("that is bottomless exhausts nothing", async () => {
    expect(await posted(`{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`)).toMatchObject(
      problem(400, "malformed_request"),
    );
  });

  test.each([
    '{"__proto__":{"admin":true}}',
    '{"a":[{"__proto__":1}]}',
    '{"a":{"b":{"__proto__":null}}}',
    '{"\\u005f_proto__":1}',
  ])("must not reach for prototypes: %s", async (raw) => {
    expect(await posted(raw)).toMatchObject(problem(400, "malformed_request"));
  });

  test("may name what merely sounds like it", async () => {
    const read = { constructor: 1, prototype: 2, toString: 3 };
    expect((await posted(JSON.stringify(read))).json).toEqual({ read });
  });
});

describe("a body that may be left out", () => {
  test.each(["", "  \n"])("is an empty object when it is %j", async (raw) => {
    expect((await posted(raw, {}, "/optional")).json).toEqual({ read: {} });
  });

  test("is read when it is there, whatever its type", async () => {
    expect((await posted('{"a":1}', {}, "/optional")).json).toEqual({ read: { a: 1 } });
  });

  test.each(["{", "[]", '{"__proto__":1}'])("is refused when it is %s", async (raw) => {
    expect(await posted(raw, {}, "/optional")).toMatchObject(problem(400, "malformed_request"));
  });
});
