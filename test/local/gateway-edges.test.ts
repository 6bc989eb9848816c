import { setTimeout as sleep } from "node:timers/promises";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { afterEach, describe, expect, test } from "vitest";
import { serve } from "../../src/api/http/serve.ts";
import { type GatewayOptions, startGateway } from "../../src/local/gateway/gateway.ts";
import { Client, until } from "../support/http-client.ts";
import { openRaw, sendRaw } from "../support/raw-http.ts";
import { served } from "../support/served.ts";

const operator = { tenant_id: "acme", principal: "olga", role: "operator" };
let gateway: Awaited<ReturnType<typeof startGateway>>;
afterEach(() => gateway.close());

/** Starts a gateway whose status function is the given one, or the real one. */
async function start({ handlers, ...options }: Partial<GatewayOptions> = {}) {
  const lines: string[] = [];
  const app = served();
  gateway = await startGateway({
    port: 0,
    handlers: { submit: serve(app.submit) as never, status: serve(app.status) as never, ...handlers },
    authorizer: async (event: APIGatewayProxyEventV2) => ({
      isAuthorized: true,
      context: event.headers.authorization === undefined ? { anonymous: "no bearer token" } : operator,
    }),
    onRequest: (line) => lines.push(line),
    ...options,
  });
  const { host } = new URL(gateway.url);
  return { lines, host, raw: (bytes: string) => sendRaw(gateway.url, bytes) };
}

const submitHead = (host: string, more: string[]) =>
  ["POST /tasks HTTP/1.1", `host: ${host}`, "content-type: application/json", ...more, "", ""].join("\r\n");
const token = "authorization: Bearer x";
const close = "connection: close";

/** Expects a raw answer that is a problem with a correlation id. */
function expectRawProblem(answer: string, status: number | RegExp, code?: string): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head.split("\r\n")[0]).toMatch(new RegExp(`^HTTP/1.1 ${status instanceof RegExp ? status.source : status} `));
  expect(head).toMatch(/^content-type: application\/problem\+json/im);
  expect(head).toMatch(/^x-correlation-id: /im);
  const json = JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)) as Record<string, unknown>;
  expect(json).toMatchObject({ code: code ?? expect.any(String), correlation_id: expect.any(String) });
}

describe("unusual requests", () => {
  test("a request without a Host, or with two, gets a problem", async () => {
    const { raw } = await start();
    expectRawProblem(await raw(`GET /health HTTP/1.1\r\n${close}\r\n\r\n`), /40[03]/);
    expectRawProblem(await raw(`GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n${close}\r\n\r\n`), /40[03]/);
  });

  test("an unknown expectation gets a problem", async () => {
    const { raw, host } = await start();
    const answer = await raw(`GET /tasks HTTP/1.1\r\nhost: ${host}\r\nexpect: banana\r\n${close}\r\n\r\n`);
    expectRawProblem(answer, 400, "malformed_request");
  });

  test("CONNECT gets a problem", async () => {
    const { raw } = await start();
    expectRawProblem(await raw("CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n"), 400);
  });

  test("a client that waits for 100 Continue is asked for the body, but only with a token", async () => {
    const { host } = await start();
    const body = JSON.stringify({ type: "echo", input: { value: 1 } });
    const length = `content-length: ${body.length}`;
    const known = openRaw(gateway.url, submitHead(host, [token, length, "expect: 100-continue", close]));
    await until("the 100", async () => known.text().startsWith("HTTP/1.1 100 ") || undefined);
    known.socket.write(body);
    expect(await known.answer).toContain("HTTP/1.1 202 ");
    const unknown = await sendRaw(gateway.url, submitHead(host, [length, "expect: 100-continue", close]));
    expect(unknown).not.toContain("HTTP/1.1 100 ");
    expectRawProblem(unknown, 401, "unauthenticated");
  });

  test.each([
    ["http://%s/tasks?limit=1&x=%%2F", "/tasks", "limit=1&x=%2F"],
    ["HTTP://%s/tasks/a//b", "/tasks/a//b", ""],
    ["http://%s", "/", ""],
    ["http://%s?limit=1", "/", "limit=1"],
  ])("the request target may be in absolute form: %s", async (target, rawPath, rawQueryString) => {
    const events: APIGatewayProxyEventV2[] = [];
    const status = async (event: never) => {
      events.push(event);
      return { statusCode: 204 };
    };
    const { raw, host } = await start({ handlers: { status } });
    const url = target.replace("%s", host).replace("%%", "%");
    expect(await raw(`GET ${url} HTTP/1.1\r\nhost: localhost\r\n${close}\r\n\r\n`)).toContain("HTTP/1.1 204 ");
    expect(events).toMatchObject([{ rawPath, rawQueryString, headers: { host } }]);
  });
});

describe("requests that arrive slowly", () => {
  test("headers that do not arrive in time get 408", async () => {
    const { raw, lines } = await start({ limits: { requestMs: 200 } });
    expectRawProblem(await raw("GET /health HTTP/1.1\r\nhost: "), 408, "request_timeout");
    expect(lines.join("\n")).toContain("request_timeout");
  });

  test("a body that trickles gets 408, and is no failure of a function", async () => {
    const { lines, host } = await start({ limits: { requestMs: 300 } });
    const { socket, answer } = openRaw(gateway.url, submitHead(host, [token, "content-length: 1000"]));
    const trickle = setInterval(() => socket.write(" "), 20);
    expectRawProblem(await answer, 408, "request_timeout");
    clearInterval(trickle);
    socket.destroy();
    await until("the line of the request", async () => lines.find((line) => line.startsWith("POST /tasks")));
    expect(lines.join("\n")).not.toMatch(/failed|500/);
  });

  test("a client that disconnects in the middle of its body is no failure of a function", async () => {
    const { lines, host } = await start();
    const { socket } = openRaw(gateway.url, `${submitHead(host, [token, "content-length: 1000"])}{"type"`);
    await sleep(100);
    socket.destroy();
    const line = await until("the line of the request", async () => lines.find((one) => one.startsWith("POST /tasks")));
    expect(line).toContain("the client disconnected");
    expect(lines.join("\n")).not.toMatch(/failed|500/);
  });

  test("a large body without a token is answered with 401 before it is read", async () => {
    const { host } = await start();
    const { socket, text } = openRaw(gateway.url, submitHead(host, ["content-length: 10485760"]));
    await until("the answer", async () => text().includes("\r\n\r\n{") || undefined);
    expectRawProblem(text(), 401, "unauthenticated");
    socket.write("x".repeat(10_485_760));
    socket.write(`GET /health HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    await until("the answer to the next request", async () => text().includes("HTTP/1.1 200 OK") || undefined);
    socket.destroy();
  });

  test("a body that is declared larger than 10 MiB is answered before it is read", async () => {
    const { host } = await start();
    const { socket, text } = openRaw(gateway.url, submitHead(host, [token, "content-length: 10485761"]));
    await until("the answer", async () => text().includes("\r\n\r\n{") || undefined);
    expectRawProblem(text(), 413, "too_large");
    socket.destroy();
  });

  test("a client that does not send the rest of an answered request is disconnected", async () => {
    const { host } = await start({ limits: { requestMs: 200 } });
    const answer = await sendRaw(gateway.url, submitHead(host, ["content-length: 1000"]));
    expect(answer).toContain("HTTP/1.1 401 ");
    expect(answer).not.toContain("HTTP/1.1 408");
  });
});

describe("limits of AWS", () => {
  const client = () => new Client(gateway.url, { token: "x", tenant: "acme", role: "operator" });
  /** The same time-out for each function. */
  const ofEach = (ms: number) => ({ submit: ms, status: ms, control: ms, console: ms, authorizer: ms });
  /** A function that never answers. */
  const silent = () => new Promise<never>(() => {});

  test("a function that exceeds its time-out gets 500, as from API Gateway", async () => {
    const { lines } = await start({ handlers: { status: silent }, limits: { functionMs: ofEach(100) } });
    const answer = await client().get("/tasks");
    expect([answer.status, answer.json().code]).toEqual([500, "internal"]);
    expect(lines[0]).toBe("The function status did not end within its time-out of 0.1 s. API Gateway answers 500.");
  });

  test("an authorizer that exceeds its time-out gets 500, as from API Gateway", async () => {
    await start({ authorizer: silent, limits: { functionMs: ofEach(100) } });
    expect((await client().get("/tasks")).status).toBe(500);
  });

  test("a function that API Gateway does not wait for gets 503", async () => {
    const { lines } = await start({
      handlers: { status: silent },
      limits: { functionMs: ofEach(60_000), integrationMs: 100 },
    });
    // The tests' client would ask again.
    const answer = await fetch(`${gateway.url}/tasks`, { headers: { authorization: "Bearer x" } });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
    expect(lines[0]).toContain("the 0.1 s that API Gateway waits");
  });

  test("a function knows how much time is left: of 25 s in status, where requests wait, and of 15 s in others", async () => {
    const left: number[] = [];
    const timed: GatewayOptions["handlers"]["status"] = async (_, context) => {
      left.push(Math.ceil(context.getRemainingTimeInMillis() / 1000));
      return { statusCode: 204 };
    };
    await start({ handlers: { submit: timed, status: timed, control: timed } });
    await client().get("/tasks");
    await client().post("/tasks", {});
    await client().get("/queues");
    expect(left).toEqual([25, 15, 15]);
  });

  test("the time-out of one function is not that of another", async () => {
    await start({
      handlers: { status: silent, control: silent },
      limits: { functionMs: { ...ofEach(60_000), control: 50 } },
    });
    expect((await client().get("/queues")).status).toBe(500);
  });

  test("an answer may have 6 MB, and a larger one gets 500, as from API Gateway", async () => {
    let body = "x".repeat(6_291_556 - JSON.stringify({ statusCode: 200, body: "" }).length);
    const { lines } = await start({ handlers: { status: async () => ({ statusCode: 200, body }) } });
    expect((await client().get("/tasks")).status).toBe(200);
    body += "x";
    const answer = await client().get("/tasks");
    expect([answer.status, answer.json().code]).toEqual([500, "internal"]);
    expect(lines.join("\n")).toContain("6291557 bytes; Lambda accepts at most 6291556");
  });

  test("a request whose event is larger than 6 MB is refused", async () => {
    let invoked = 0;
    const submit = async () => {
      invoked += 1;
      return { statusCode: 204 };
    };
    await start({ handlers: { submit } });
    const headers = { "content-type": "application/json" };
    expect((await client().send("POST", "/tasks", { raw: "x".repeat(6_000_000), headers })).status).toBe(204);
    expect((await client().send("POST", "/tasks", { raw: '"'.repeat(3_200_000), headers })).status).toBe(413);
    expect(invoked).toBe(1);
  });
});
