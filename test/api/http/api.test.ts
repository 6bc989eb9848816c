import { describe, expect, test, vi } from "vitest";
import { createRouter, identify } from "../../../src/api/http/api.ts";
import { Overtaken, PortUnavailable } from "../../../src/core/model/errors.ts";
import { Problem, type ProblemCode, problemCodes } from "../../../src/core/model/problem.ts";
import { noTracing, type Tracing } from "../../../src/core/ports/tasks.ts";
import { KeptLog } from "../../support/kept.ts";
import { ada, ask, gina, olga, problem, sam } from "../../support/served.ts";

/** An app with a few routes for these tests. */
function newApi() {
  const log = new KeptLog();
  let ids = 0;
  const api = createRouter({ log, tracing: noTracing, newCorrelationId: () => `new-${++ids}` });
  const failing = vi.fn();
  api.on("GET", "/health", (call) => call.json({ status: "ok" }));
  api.on("GET", "/who", (call) => call.json(identify(call)));
  api.on("GET", "/operators", (call) => call.json(identify(call, "operator")));
  api.on("GET", "/admins", (call) => call.json(identify(call, "admin")));
  api.on("GET", "/fails", () => {
    throw failing();
  });
  const fails = (error: unknown, headers = {}) => {
    failing.mockReturnValueOnce(error);
    return ask(api, "/fails", { headers });
  };
  return { api, log, fails };
}

describe("the correlation id", () => {
  test.each(["a", "A-b_9.:", "x".repeat(128)])("the correlation id is the request's own: %s", async (id) => {
    const answer = await ask(newApi().api, "/health", { headers: { "x-correlation-id": id } });
    expect(answer.headers.get("x-correlation-id")).toBe(id);
  });

  test.each(["", "x".repeat(129), "a b", "ä", "a/b", "a,b"])(
    "the correlation id is a new one instead of %j",
    async (id) => {
      const answer = await ask(newApi().api, "/health", { headers: { "x-correlation-id": id } });
      expect(answer.headers.get("x-correlation-id")).toBe("new-1");
    },
  );

  test("each request without a correlation id gets a new one", async () => {
    const { api } = newApi();
    const ids = [await ask(api, "/health"), await ask(api, "/nope")].map(({ headers }) =>
      headers.get("x-correlation-id"),
    );
    expect(ids).toEqual(["new-1", "new-2"]);
  });

  test("the correlation id is also in the problem and in the log", async () => {
    const { fails, log } = newApi();
    const answer = await fails(new Error("oops"), { "x-correlation-id": "mine" });
    expect(answer.headers.get("x-correlation-id")).toBe("mine");
    expect(answer.json.correlation_id).toBe("mine");
    expect(log.lines).toMatchObject([
      { level: "error", fields: { correlation_id: "mine", method: "GET", path: "/fails" } },
    ]);
  });
});

test.each(["/health", "/nope", "/who"])("the answer of %s carries the security headers", async (path) => {
  const { headers } = await ask(newApi().api, path);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
});

describe("a problem", () => {
  test.each(Object.entries(problemCodes))("%s has its own status and title", async (code, { status, title }) => {
    const answer = await newApi().fails(new Problem(code as ProblemCode, "what is wrong"));
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.json).toEqual({
      type: `urn:offload:error:${code}`,
      code,
      title,
      status,
      detail: "what is wrong",
      correlation_id: "new-1",
    });
  });

  test("a problem names its fields, and carries further members and headers", async () => {
    const errors = [{ path: "/a", message: "no" }];
    const extra = { error: "closed" };
    const answer = await newApi().fails(
      new Problem("conflict", "x", { errors, extra, retryAfterSeconds: 7, allow: ["GET", "PUT"] }),
    );
    expect(answer.json).toMatchObject({ errors, ...extra });
    expect(answer.headers.get("retry-after")).toBe("7");
    expect(answer.headers.get("allow")).toBe("GET, PUT");
  });

  test("a problem keeps its correlation id, whatever is added to it", async () => {
    const answer = await newApi().fails(new Problem("conflict", "x", { extra: { correlation_id: "forged" } }));
    expect(answer.json.correlation_id).toBe("new-1");
  });

  test("an unauthenticated problem has a WWW-Authenticate header", async () => {
    const answer = await newApi().fails(new Problem("unauthenticated", "x"));
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("a bug", () => {
  test("a bug shows nothing internal to the client, and the log has it with its cause", async () => {
    const { fails, log } = newApi();
    const answer = await fails(new Error("secret detail", { cause: new Error("secret cause") }));
    expect(answer).toMatchObject(problem(500, "internal"));
    expect(answer.text).not.toContain("secret");
    expect(log.lines[0]?.fields).toMatchObject({
      error: expect.stringContaining("secret detail"),
      cause: "Error: secret cause",
    });
  });

  test("the log and the span have a path without the secret of a key", async () => {
    const log = new KeptLog();
    const spans: string[] = [];
    const tracing: Tracing = {
      ...noTracing,
      span: (start, work) => {
        spans.push(JSON.stringify(start));
        return noTracing.span(start, work);
      },
    };
    const api = createRouter({ log, tracing, newCorrelationId: () => "new" });
    for (const path of ["/keys/{key_id}", "/{step}"]) {
      api.on("GET", path, () => {
        throw new Error("oops");
      });
    }
    const secret = "x".repeat(43);
    for (const path of [`/keys/ofl_abcdefgh_${secret}`, `/ofl_abcdefgh_${secret}`]) await ask(api, path);
    expect(JSON.stringify([log.lines.map(({ fields }) => fields.path), spans])).not.toContain("xx");
    expect(log.lines[0]?.fields.path).toBe("/keys/ofl_abcdefgh_…");
    expect(spans[0]).toContain('"url.path":"/keys/ofl_abcdefgh_…"');
  });

  test("a port that cannot answer now is a 503, not a bug", async () => {
    const answer = await newApi().fails(new PortUnavailable("the table"));
    expect(answer).toMatchObject(problem(503, "unavailable"));
    expect(answer.headers.get("retry-after")).toBe("5");
    expect(answer.text).not.toContain("table");
  });

  test("a request that others overtook each time is a 409 that may be repeated, and no bug", async () => {
    const { fails, log } = newApi();
    const answer = await fails(new Overtaken("task"));
    expect(answer).toMatchObject(problem(409, "conflict"));
    expect(answer.text).toContain("this one changed nothing: repeat it");
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(log.lines).toEqual([]);
  });

  test("a problem is not logged, as it is the caller's fault", async () => {
    const { fails, log } = newApi();
    await fails(new Problem("not_found", "x"));
    expect(log.lines).toEqual([]);
  });
});

describe("a route", () => {
  test.each(["/", "/nope", "/tasks/a/b/c", "/TASKS", "/tasks/"])("%s does not exist and gets 404", async (path) => {
    expect(await ask(newApi().api, path)).toMatchObject(problem(404, "not_found"));
  });

  test.each([
    ["PUT", "/tasks", "GET, HEAD, POST"],
    ["DELETE", "/tasks/some-id", "GET, HEAD"],
    ["GET", "/tasks/some-id/cancel", "POST"],
    ["POST", "/tasks/some-id/result", "GET, HEAD"],
    ["PATCH", "/health", "GET, HEAD"],
    ["GET", "/tasks/batch", "POST"],
    ["DELETE", "/schedules/preview", "POST"],
    ["PATCH", "/schedules/preview", "POST"],
    ["GET", "/tasks/cancel", "POST"],
    ["POST", "/types", "GET"],
  ])("%s %s gets 405, with the allowed methods", async (method, path, allow) => {
    const answer = await ask(newApi().api, path, { method });
    expect(answer).toMatchObject(problem(405, "method_not_allowed"));
    expect(answer.headers.get("allow")).toBe(allow);
  });
});

describe("the caller", () => {
  test("the caller is the one that the authorizer names", async () => {
    const answer = await ask(newApi().api, "/who", { as: sam });
    expect(answer.json).toEqual({ tenantId: "acme", principal: "sam", role: "submitter" });
  });

  test.each([
    ["a caller without any context", {}],
    ["a caller without a token", { anonymous: "no bearer token" }],
    ["a caller without a tenant", { principal: "sam", role: "operator" }],
    ["a caller without a name", { tenant_id: "acme", role: "operator" }],
    ["a caller without a role", { tenant_id: "acme", principal: "sam" }],
    ["a caller with an unknown role", { tenant_id: "acme", principal: "sam", role: "root" }],
  ])("%s is unauthenticated", async (_, as) => {
    const answer = await ask(newApi().api, "/who", { as });
    expect(answer).toMatchObject(problem(401, "unauthenticated"));
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(answer.text).not.toContain("acme");
  });

  test("a caller is unauthenticated when there is no authorizer", async () => {
    const { api } = newApi();
    const event = { rawPath: "/who", rawQueryString: "", isBase64Encoded: false };
    const requestContext = { domainName: "api.test", http: { method: "GET" } };
    expect((await api.answer({ ...event, requestContext })).status).toBe(401);
  });

  test("a caller whose token could not be checked is asked to come again", async () => {
    const answer = await ask(newApi().api, "/who", { as: { unavailable: "down" } as never });
    expect(answer).toMatchObject(problem(503, "unavailable"));
    expect(answer.headers.get("retry-after")).toBe("5");
  });

  test.each([
    ["/who", 200, 200, 200],
    ["/operators", 403, 200, 200],
    ["/admins", 403, 403, 200],
  ])("%s is open to some roles only", async (path, ...expected) => {
    const { api } = newApi();
    const answers = [
      await ask(api, path, { as: sam }),
      await ask(api, path, { as: olga }),
      await ask(api, path, { as: ada }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(expected);
    for (const answer of answers.filter(({ status }) => status === 403))
      expect(answer).toMatchObject(problem(403, "forbidden"));
  });
});

describe("another tenant", () => {
  test("an admin can name another tenant, and no other role can", async () => {
    const { api } = newApi();
    expect((await ask(api, "/who?tenant=globex", { as: ada })).json).toMatchObject({
      tenantId: "globex",
      principal: "ada",
    });
    expect(await ask(api, "/who?tenant=globex", { as: olga })).toMatchObject(problem(403, "forbidden"));
    expect(await ask(api, "/who?tenant=globex", { as: sam })).toMatchObject(problem(403, "forbidden"));
  });

  test("every role can name its own tenant", async () => {
    const { api } = newApi();
    expect((await ask(api, "/who?tenant=acme", { as: sam })).status).toBe(200);
    expect((await ask(api, "/who?tenant=globex", { as: gina })).status).toBe(200);
  });

  test.each(["", "a b", "a%23b", "x".repeat(65), "%2e%2e"])("a tenant cannot be %j", async (tenant) => {
    expect(await ask(newApi().api, `/who?tenant=${tenant}`, { as: ada })).toMatchObject(problem(422, "invalid_input"));
  });
});
