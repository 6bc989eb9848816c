import { expect, test } from "vitest";
import { createAuthorizer } from "../../../src/api/http/authorizer.ts";
import type { AuthorizerContext } from "../../../src/api/http/event.ts";
import { type HttpFunction, isOpen, otherRequests, routeOf } from "../../../src/api/http/routes.ts";
import { serve } from "../../../src/api/http/serve.ts";
import { problemCodes } from "../../../src/core/model/problem.ts";
import { MemoryKeys } from "../../../src/memory/keys.ts";
import fc, { seedOf } from "../../support/fast-check.ts";
import { allParts } from "../../support/parts/all.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { appsOf } from "../../support/served.ts";
import { echo, typeOf } from "../../support/task-types.ts";
import { filled, type HostileRequest, hostileRequest, localKeys, secretOf, tenantOf } from "./requests.ts";

/** A function, as the gateway calls it. */
type Handler = (event: unknown) => Promise<{
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded?: boolean;
}>;

interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** All functions behind one gateway, in memory, and everything that they ever told each tenant. */
function deployment() {
  const types = [
    echo,
    typeOf(() => Promise.reject(new Error("it failed")), { name: "broken", maxAttempts: 1 }),
    typeOf((input) => ({ input }), { name: "any" }),
  ];
  const pipeline = schedulesPipeline(types, [], [], allParts);
  const { ports } = pipeline;
  const { submit, status, control, console: page } = appsOf({ ...ports, newCorrelationId: ports.newId });
  const functions = {
    submit: serve(submit),
    status: serve(status),
    control: serve(control),
    console: serve(page),
  } as unknown as Record<HttpFunction, Handler>;
  const authorize = createAuthorizer({ clock: ports.clock, log: ports.log, keys: new MemoryKeys(), localKeys });
  /** Ids and cursors by the tenant that was given them, and the ids of what is rare: schedules and operations. */
  const given: Record<string, Set<string>> = { acme: new Set(), globex: new Set() };
  const rare = new Set<string>();
  /** The requests of each tenant. */
  const sent: Record<string, string[]> = { acme: [], globex: [] };

  /** Lets time pass until a request is answered: the answer to a pause takes some seconds. */
  const answered = async <T>(answering: Promise<T>): Promise<T> => {
    let done = false;
    const end = answering.finally(() => {
      done = true;
    });
    end.catch(() => {});
    while (!done) await ports.clock.advance(10);
    return end;
  };

  const send = async (request: HostileRequest): Promise<Answer> => {
    const route = routeOf(request.method, request.path);
    const authorization = request.token === "" ? undefined : `Bearer ${request.token}`;
    const lambda: AuthorizerContext = isOpen(route) ? {} : await authorize(authorization);
    const event = {
      version: "2.0",
      rawPath: request.path,
      rawQueryString: request.query,
      headers: { host: "api.test", ...(authorization === undefined ? {} : { authorization }), ...request.headers },
      body: request.binary ? Buffer.from(request.body).toString("base64") : request.body,
      isBase64Encoded: request.binary,
      requestContext: { domainName: "api.test", http: { method: request.method }, authorizer: { lambda } },
    };
    const result = await answered(functions[route?.functionName ?? otherRequests](event));
    return {
      status: result.statusCode,
      headers: result.headers,
      text: result.isBase64Encoded === true ? Buffer.from(result.body, "base64").toString("latin1") : result.body,
    };
  };

  const remember = (request: HostileRequest, { text }: Answer) => {
    const tenant = tenantOf(request.token) ?? "";
    const own = given[tenant];
    sent[tenant]?.push(JSON.stringify(request));
    for (const [, id = ""] of text.matchAll(/"(?:schedule|operation)_id":"([0-9a-f-]{36})"/g)) rare.add(id);
    for (const [id] of text.matchAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}/g)) own?.add(id);
  };

  /** Lets time pass and work be done. */
  const live = async () => {
    await ports.clock.advance(1_000);
    for (const tier of ["critical", "high", "normal", "low"] as const) await pipeline.work(tier);
  };

  /** The latest of what anybody was given. */
  const latest = () => [...Object.values(given), rare].flatMap((ids) => [...ids].slice(-30));

  return { send, given, sent, latest, remember, live, log: ports.log };
}

/** What the caller must not see: the other tenant's secret, and ids that only the other tenant was given. */
function leakOf(
  request: HostileRequest,
  answer: Answer,
  { given, sent: earlier }: Pick<ReturnType<typeof deployment>, "given" | "sent">,
): string | undefined {
  const own = tenantOf(request.token);
  // The audit has parts of the tenant's own requests, also of refused ones.
  const audited = request.path === "/audit" ? (earlier[own ?? ""] ?? []) : [];
  const sent = [JSON.stringify(request), ...audited].join("\n");
  const got = JSON.stringify(answer);
  for (const tenant of ["acme", "globex"]) {
    if (tenant === own) continue;
    const foreign = [
      secretOf(tenant),
      ...[...(given[tenant] ?? [])].filter((one) => own === undefined || !given[own]?.has(one)),
    ];
    const leaked = foreign.find((one) => got.includes(one) && !sent.includes(one));
    if (leaked !== undefined) return leaked;
  }
  return undefined;
}

function expectGood(request: HostileRequest, answer: Answer): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers["x-correlation-id"]).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
  expect(answer.headers["x-content-type-options"]).toBe("nosniff");
  // Times outside of the years 0000 to 9999 do not compare as text. The audit has requests as they came, also refused ones.
  if (answer.status < 400 && request.path !== "/audit") expect(answer.text).not.toMatch(/"[+-]\d{6}-\d\d-\d\dT/);
  if (answer.status < 400 || request.method === "HEAD") return;
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  const problem = JSON.parse(answer.text) as Record<string, unknown>;
  expect(problemCodes).toHaveProperty(String(problem.code));
  expect(problem).toMatchObject({
    type: `urn:offload:error:${problem.code}`,
    status: answer.status,
    title: expect.any(String),
    detail: expect.any(String),
    correlation_id: answer.headers["x-correlation-id"],
  });
  expect(problemCodes[problem.code as keyof typeof problemCodes].status).toBe(answer.status);
}

/** Sends hostile requests to a deployment of their own. Counts the answers by status. */
async function attack(requests: number, number: number, seen: Map<number, number>): Promise<void> {
  const { send, given, sent, latest, remember, live, log } = deployment();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(hostileRequest, async (generated) => {
      const request = filled(generated, latest());
      const answer = await send(request);
      expectGood(request, answer);
      expect(leakOf(request, answer, { given, sent })).toBeUndefined();
      remember(request, answer);
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
      count += 1;
      if (count % 8 === 0) await live();
    }),
    { numRuns: requests, endOnFailure: true, ...seedOf(number) },
  );
  expect(JSON.stringify(log.lines)).not.toMatch(/secret-of-/);
}

test("whatever two tenants send, nobody gets a 5xx, or a byte of the other, and every refusal is a problem", async () => {
  const seen = new Map<number, number>();
  // Each answer is compared with all ids that its deployment gave: ten deployments need a fifth of the time of one.
  for (let deployments = 0; deployments < 10; deployments++) await attack(300, deployments, seen);
  // The generator is worth nothing if everything is refused at the door.
  for (const status of [200, 201, 202, 400, 401, 403, 404, 405, 413, 415, 422]) {
    expect(seen.get(status) ?? 0, `answers with ${status}`).toBeGreaterThan(0);
  }
});
