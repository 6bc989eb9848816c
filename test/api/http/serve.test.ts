import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createRouter } from "../../../src/api/http/api.ts";
import type { GatewayEvent } from "../../../src/api/http/event.ts";
import { serve } from "../../../src/api/http/serve.ts";
import fc from "../../support/fast-check.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const event = (more: Partial<GatewayEvent> = {}, method = "GET"): GatewayEvent => ({
  rawPath: "/file",
  rawQueryString: "",
  headers: {},
  isBase64Encoded: false,
  requestContext: { domainName: "api.example", http: { method } },
  ...more,
});

const ports = { ...memoryPipeline().ports, newCorrelationId: () => "c" };

/** A function with one route that answers with these bytes, and one that answers with the request's body. */
const appWith = (bytes: Uint8Array, contentType: string) => appOf(() => ({ bytes, contentType }));

function appOf(given: () => { bytes: Uint8Array; contentType: string }) {
  const api = createRouter(ports);
  api.on("GET", "/file", (call) => {
    call.header("content-type", given().contentType);
    return call.body(given().bytes);
  });
  api.on("POST", "/file", (call) => call.body(call.req.bytes()));
  api.on("GET", "/tasks/{task_id}/result", (call) => call.json(call.req.params));
  api.on("GET", "/headers", (call) => call.json(["x-a", "idempotency-key"].map((name) => call.req.header(name))));
  return serve(api);
}

/** The bytes that API Gateway sends for an answer of a function. */
const sent = (answer: { body: string; isBase64Encoded: boolean }): Buffer =>
  Buffer.from(answer.body, answer.isBase64Encoded ? "base64" : "utf8");

const mediaTypes = [
  ...[
    "text/csv",
    "text/plain; charset=windows-1252",
    "text/html",
    "application/json",
    "application/xml",
    "image/svg+xml",
  ],
  ...["text/javascript", "application/javascript", "text/plain; charset=utf-16le", "application/pdf"],
  ...["application/octet-stream", "application/problem+json", "application/vnd.api+json", "text/calendar"],
];

describe("bytes come back as they are", () => {
  test("a byte order mark, and bytes that are no UTF-8", async () => {
    const bytes = Buffer.from("efbbbf613b62e4", "hex");
    expect(sent(await appWith(bytes, "text/csv")(event())).toString("hex")).toBe("efbbbf613b62e4");
    const marked = Buffer.from("efbbbf613b62", "hex");
    expect(sent(await appWith(marked, "text/csv")(event())).toString("hex")).toBe("efbbbf613b62");
  });

  test("any bytes under any media type, out and in", async () => {
    const cases = fc.tuple(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        fc.string({ unit: "binary", maxLength: 100 }).map((s) => Buffer.from(s)),
      ),
      fc.constantFrom(...mediaTypes),
      fc.boolean(),
    );
    let given = { bytes: new Uint8Array(), contentType: "" };
    const app = appOf(() => given);
    await fc.assert(
      fc.asyncProperty(cases, async ([bytes, contentType, marked]) => {
        const whole = marked ? Buffer.concat([Buffer.from("efbbbf", "hex"), bytes]) : Buffer.from(bytes);
        given = { bytes: whole, contentType };
        expect(sha256(sent(await app(event())))).toBe(sha256(whole));
        const request = { body: whole.toString("base64"), isBase64Encoded: true };
        expect(sha256(sent(await app(event(request, "POST"))))).toBe(sha256(whole));
      }),
      { numRuns: Number(process.env.OFFLOAD_PROPERTY_RUNS ?? 50) },
    );
  }, 600_000);

  test.each([65_535, 65_536, 65_537, 307_199, 307_200, 307_201])("%d bytes of all values", async (size) => {
    const bytes = Buffer.from(Uint8Array.from({ length: size }, (_, index) => (index * 7 + (index >> 8)) & 0xff));
    for (const contentType of mediaTypes) {
      expect(sha256(sent(await appWith(bytes, contentType)(event())))).toBe(sha256(bytes));
    }
  });
});

describe("every event has an answer of the app", () => {
  test("a HEAD has the headers and the length of its GET", async () => {
    const app = appWith(Buffer.from("hello"), "text/plain");
    const [get, head] = [await app(event()), await app(event({}, "HEAD"))];
    expect(head).toEqual(get);
  });

  test.each([
    ["~mail:a b?#%", "/tasks/~mail:a b?#%/result"],
    ["~mail:ä💥", "/tasks/~mail:ä💥/result"],
    ["~mail:a/b", "/tasks/~mail:a/b/result"],
    ["~mail:a/b", "/tasks/~mail%3Aa%2Fb/result"],
    ["~mail:", "/tasks/~mail:/result"],
  ])("a user's name %s is one step of the path, encoded or decoded by the gateway: %s", async (task_id, rawPath) => {
    const route = { routeKey: "GET /tasks/{task_id}/result", pathParameters: { task_id } };
    const answer = await appWith(Buffer.of(), "text/csv")(event({ rawPath, ...route }));
    expect(JSON.parse(answer.body)).toEqual({ task_id });
  });

  test("a cookie does no harm, whatever it is", async () => {
    const app = appWith(Buffer.from("hello"), "text/plain");
    const given = { rawPath: "/headers", headers: { cookie: "a=💥", "x-a": "b" }, cookies: ["a=💥"] };
    const answer = await app(event(given));
    expect([answer.statusCode, JSON.parse(answer.body)]).toEqual([200, ["b", null]]);
  });

  test("a header above Latin-1 is no printable ASCII, as it was none before", async () => {
    const app = appWith(Buffer.from(""), "text/plain");
    const answer = await app(event({ rawPath: "/headers", headers: { "idempotency-key": "a💥b", "bad name": "x" } }));
    expect(JSON.parse(answer.body)).toEqual([null, "a¿b"]);
  });

  test.each([
    ["GET", "//"],
    ["TRACE", "/file"],
    ["BREW", "/%"],
    ["GET", "/\\@@@:99999"],
  ])("%s %s is answered by a problem", async (method, rawPath) => {
    const answer = await appWith(Buffer.from(""), "text/plain")(event({ rawPath }, method));
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.statusCode).toBeLessThan(500);
    expect(JSON.parse(answer.body)).toHaveProperty("correlation_id");
  });
});
