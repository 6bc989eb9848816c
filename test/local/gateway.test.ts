import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve } from "../../src/api/http/serve.ts";
import { startGateway } from "../../src/local/gateway/gateway.ts";
import { Client, expectProblem, expectStatus } from "../support/http-client.ts";
import { sendRaw } from "../support/raw-http.ts";
import { served } from "../support/served.ts";

let gateway: Awaited<ReturnType<typeof startGateway>>;
const lines: string[] = [];
let fails = false;

beforeAll(async () => {
  const app = served();
  const context = { tenant_id: "acme", principal: "olga", role: "operator" };
  gateway = await startGateway({
    port: 0,
    handlers: { submit: serve(app.submit) as never, status: serve(app.status) as never },
    authorizer: async () => {
      if (fails) throw new Error("a bug");
      return { isAuthorized: true, context };
    },
    onRequest: (line) => lines.push(line),
  });
});
afterAll(() => gateway.close());

const client = () => new Client(gateway.url);

const raw = (bytes: string) => sendRaw(gateway.url, bytes);

describe("problems of the gateway", () => {
  test("bytes that are not HTTP get a problem", async () => {
    for (const bytes of ["nonsense\r\n\r\n", "GET /tasks HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n"]) {
      const [head = "", body = ""] = (await raw(bytes)).split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 400 .*content-type: application\/problem\+json.*x-correlation-id: /s);
      expect(JSON.parse(body)).toMatchObject({ code: "malformed_request", status: 400 });
    }
  });

  test("headers that are too long get a problem", async () => {
    const answer = await raw(`GET /tasks HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(20_000)}\r\n\r\n`);
    expect(answer).toContain('"code":"malformed_request"');
  });

  test("a body that API Gateway would refuse gets a problem", async () => {
    const headers = { "content-type": "application/json" };
    const answer = await client().send("POST", "/tasks", { raw: "x".repeat(11 * 1024 * 1024), headers });
    expectProblem(answer, 413, "too_large");
  });

  test("a form of nearly 4 MiB reaches the function, whatever its bytes are", async () => {
    const form = new FormData();
    form.append("task", JSON.stringify({ type: "echo", input: { value: 1 } }));
    form.append("zeros", new File([new Uint8Array(4_190_000)], "zeros"));
    const answer = await fetch(`${gateway.url}/tasks`, { method: "POST", body: form });
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining("/files/zeros")]);
  });

  test("a poll that finds nothing new is not logged", async () => {
    const task = await client().submit("echo", { value: 1 });
    const path = `/tasks/${task.task_id}`;
    const polls = () => lines.filter((line) => line.startsWith(`GET ${path}`)).length;
    const etag = (await client().get(path)).headers.get("etag") ?? "";
    expect(polls()).toBe(1);
    expectStatus(await client().send("GET", path, { headers: { "if-none-match": etag } }), 304);
    expect(polls()).toBe(1);
  });

  test("a function that fails gets a problem without details", async () => {
    fails = true;
    const problem = expectProblem(await client().get("/tasks"), 500, "internal");
    fails = false;
    expect(JSON.stringify(problem)).not.toContain("a bug");
    expect(lines.some((line) => line.includes("a bug"))).toBe(true);
  });

  test.each(["TRACE", "BREW", "OPTIONS"])("the method %s gets a problem", async (method) => {
    if (method === "BREW")
      return expect(await raw("BREW / HTTP/1.1\r\nhost: a\r\n\r\n")).toContain("malformed_request");
    const answer = await client().send(method, "/tasks");
    expectProblem(answer, 405, "method_not_allowed");
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST");
  });
});

test("the body of a GET is ignored", async () => {
  expectStatus(
    await client().send("GET", "/tasks", { raw: "{", headers: { "content-type": "application/json" } }),
    200,
  );
});

test("a foreign host gets a problem, and a line in the log", async () => {
  const answer = await raw("GET /health HTTP/1.1\r\nhost: a b/..\r\nconnection: close\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 403 .*content-type: application\/problem\+json.*x-correlation-id: /s);
  expect(answer).toContain('"code":"forbidden"');
  expect(lines.at(-1)).toMatch(/^GET \/health 403 \d+ ms$/);
});

test("no request can forge a line of the log", async () => {
  await client().get("/tasks?x=%0A%1b[2J");
  expect(lines.at(-1)).toContain("/tasks");
  expect(lines.filter((line) => /\p{Cc}/u.test(line.replaceAll("\n    at", "")))).toEqual([]);
});
