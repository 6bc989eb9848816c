import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refusalOf } from "../../src/local/net/guard.ts";
import { importsOf, sources } from "../structure/sources.ts";
import { type LocalPorts, openPorts, portNames, secret, sendRaw } from "../support/local-ports.ts";

const port = 3000;

const refusal = (headers: { host?: string[]; origin?: string[] }, url = "/tasks", own: number | undefined = port) =>
  refusalOf({ headersDistinct: { host: ["127.0.0.1:3000"], ...headers }, url }, own);

const foreignHosts = [
  "evil.example",
  "evil.example:3000",
  "localhost.",
  "localhost.:3000",
  "localhost.evil.example",
  "evil.localhost",
  "LOCALHOST.",
  "127.0.0.1.evil.example",
  "127.0.0.1.",
  "127.1",
  "2130706433",
  "0.0.0.0:3000",
  "[::]:3000",
  "::1",
  "[::1",
  "[::ffff:127.0.0.1]",
  "localhost:3000@evil.example",
  "evil.example/localhost",
  "localhost:",
  "localhost:abc",
  "localhost, evil.example",
  "",
];

const foreignOrigins = [
  "http://evil.example",
  "http://evil.example:3000",
  "null",
  "",
  "http://127.0.0.1",
  "http://127.0.0.1:3001",
  "http://localhost:30000",
  "https://127.0.0.1:3000",
  "http://localhost.:3000",
  "http://LOCALHOST.:3000",
  "http://localhost.evil.example:3000",
  "http://localhost:3000.evil.example",
  "http://localhost:3000@evil.example",
  "http://localhost:3000/",
  "http://localhost:3000 http://evil.example",
  "localhost:3000",
  "file://",
  "chrome-extension://abcdefghijklmnop",
];

describe("the guard", () => {
  test.each(["127.0.0.1", "127.0.0.1:3000", "localhost:1", "LocalHost:3000", "[::1]", "[::1]:3000"])(
    "the host %s is allowed",
    (host) => expect(refusal({ host: [host] })).toBeUndefined(),
  );

  test.each(foreignHosts)("the host %j is refused", (host) => expect(refusal({ host: [host] })).toMatch(/Host header/));

  test("a request without Host, or with two, is refused", () => {
    expect(refusalOf({ headersDistinct: {}, url: "/" }, port)).toMatch(/Host header/);
    expect(refusal({ host: ["localhost", "localhost"] })).toMatch(/Host header/);
    expect(refusal({ host: ["localhost", "evil.example"] })).toMatch(/Host header/);
  });

  test("the host of an absolute request target counts, too", () => {
    expect(refusal({}, "http://localhost:3000/tasks")).toBeUndefined();
    expect(refusal({}, "http://evil.example/tasks")).toMatch(/hosts/);
    expect(refusal({}, "HTTP://localhost@evil.example/")).toMatch(/hosts/);
    expect(refusal({}, "http://")).toMatch(/hosts/);
  });

  test.each(["http://127.0.0.1:3000", "http://localhost:3000", "http://[::1]:3000"])(
    "the origin %s of the same port is allowed",
    (origin) => expect(refusal({ origin: [origin] })).toBeUndefined(),
  );

  test("the origin of port 80 has no port", () => {
    expect(refusal({ origin: ["http://localhost"] }, "/", 80)).toBeUndefined();
    expect(refusal({ origin: ["http://localhost:80"] }, "/", 80)).toMatch(/other origins/);
  });

  test.each(foreignOrigins)("the origin %j is refused", (origin) =>
    expect(refusal({ origin: [origin] })).toMatch(/other origins/),
  );

  test("a second, foreign origin is refused", () => {
    expect(refusal({ origin: ["http://localhost:3000", "http://evil.example"] })).toMatch(/other origins/);
  });
});

describe("every port", () => {
  let local: LocalPorts;
  beforeAll(async () => {
    local = await openPorts();
  });
  afterAll(() => local.close());

  const foreignHeaders = (own: number): [string, string][][] => [
    ...["evil.example", `evil.example:${own}`, `localhost.:${own}`].map((host): [string, string][] => [["Host", host]]),
    ...["http://evil.example", `http://evil.example:${own}`, "null", "http://127.0.0.1:1"].map(
      (origin): [string, string][] => [
        ["Host", `127.0.0.1:${own}`],
        ["Origin", origin],
      ],
    ),
    [
      ["Host", `localhost:${own}`],
      ["Host", "evil.example"],
    ],
  ];

  test.each(portNames)("%s refuses foreign hosts and origins, and changes nothing", async (name) => {
    const before = await local.data();
    const preflight = { method: "OPTIONS", path: "/", headers: { "access-control-request-method": "POST" } };
    for (const attempt of [...local.attempts[name], preflight]) {
      for (const headers of foreignHeaders(local.ports[name])) {
        const answer = await sendRaw(local.ports[name], attempt, headers);
        expect(answer, JSON.stringify(headers)).toMatch(/^HTTP\/1\.1 403 /);
        expect(answer).not.toMatch(/access-control-|evil/i);
        expect(answer).not.toContain(secret);
        if (name === "api") expectProblem(answer);
        else expect(answer).toContain('{"__type":"AccessDeniedException","message":"This server ');
      }
    }
    expect(await local.data()).toEqual(before);
  });

  test.each(portNames)("%s allows local hosts and its own origin, without CORS headers", async (name) => {
    const own = local.ports[name];
    const [attempt] = local.attempts[name];
    if (attempt === undefined) throw new Error("no attempt");
    const preflight = { method: "OPTIONS", path: "/", headers: { "access-control-request-method": "POST" } };
    for (const host of [`127.0.0.1:${own}`, `localhost:${own}`, `[::1]:${own}`, "localhost"]) {
      for (const origin of [undefined, `http://127.0.0.1:${own}`, `http://localhost:${own}`]) {
        const headers: [string, string][] = [
          ["Host", host],
          ...(origin ? [["Origin", origin] as [string, string]] : []),
        ];
        const answer = await sendRaw(own, attempt, headers);
        expect(answer).toMatch(/^HTTP\/1\.1 200 /);
        expect(answer).not.toMatch(/access-control-/i);
        const refused = await sendRaw(own, preflight, headers);
        expect(refused).not.toMatch(/^HTTP\/1\.1 (2|403)|access-control-/i);
      }
    }
  });

  test("a refused body is not read before the answer", async () => {
    const [, , submit] = local.attempts.api;
    const headers = { ...submit?.headers, "content-length": "1000000" };
    const attempt = { method: "POST", path: "/tasks", headers, body: "" };
    expect(await sendRaw(local.ports.api, attempt, [["Host", "evil.example"]])).toMatch(/^HTTP\/1\.1 403 /);
  });
});

test("every server of src/local is opened behind the guard", () => {
  const local = sources().filter(({ path }) => path.startsWith("src/local/"));
  const listening = local.filter(({ text }) => /\bserver\.listen\(/i.test(text)).map(({ path }) => path);
  expect(listening).toEqual(["src/local/net/listen.ts"]);
  const importers = local.filter((source) => importsOf(source).includes("src/local/net/listen.ts"));
  expect(importers.map(({ path }) => path)).toEqual(["src/local/net/endpoint.ts"]);
});

function expectProblem(answer: string): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toMatch(/content-type: application\/problem\+json/i);
  const id = /x-correlation-id: (\S+)/i.exec(head)?.[1];
  if (body !== "") expect(JSON.parse(body)).toMatchObject({ code: "forbidden", status: 403, correlation_id: id });
}
