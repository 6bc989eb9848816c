import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import type { GatewayEvent } from "../../../src/api/http/event.ts";
import { type RouteHandler, Router } from "../../../src/api/http/router.ts";
import { routes } from "../../../src/api/http/routes.ts";
import fc from "../../support/fast-check.ts";

const event = (method: string, rawPath: string, rawQueryString = ""): GatewayEvent => ({
  ...{ rawPath, rawQueryString, isBase64Encoded: false },
  requestContext: { domainName: "api.test", http: { method } },
});

/** A route that was found, with the parameters and the query of the request. */
interface Found {
  route: string;
  params: Record<string, string>;
  query: Record<string, string>;
}

/** The router with the API's routes, each of which answers what it was asked for. */
function ownRouter(answers: RouteHandler = (call) => call.json(null)) {
  const router = new Router({
    answer: async (call, handler) => handler(call),
    missing: (call) => ({ ...call.json(null), status: 404 }),
  });
  for (const { method, path } of routes) {
    router.on(method, path, async (call) => {
      await answers(call);
      return call.json({ route: `${method} ${path}`, params: call.req.params, query: call.req.query } satisfies Found);
    });
  }
  return router;
}

const router = ownRouter();

async function foundByRouter(method: string, path: string, query: string): Promise<Found | undefined> {
  const { status, body } = await router.answer(event(method, path, query));
  return status === 404 ? undefined : (JSON.parse(String(body)) as Found);
}

const judge = new Hono();
/** Hono takes the first route that fits. */
const exactFirst = routes.toSorted((a, b) => a.path.split("{").length - b.path.split("{").length);
for (const { method, path } of exactFirst) {
  judge.on(method, path.replaceAll(/\{(\w+)\}/g, ":$1"), (call) =>
    call.json({ route: `${method} ${path}`, params: call.req.param(), query: call.req.query() } satisfies Found),
  );
}

async function foundByHono(method: string, path: string, query: string): Promise<Found | undefined> {
  const answer = await judge.fetch(new Request(`https://api.test${path}?${query}`, { method }));
  const found = answer.status === 404 ? undefined : ((await answer.json()) as Found);
  // A path that a route of any method names word for word is none of a route with a step in braces.
  return routes.some((route) => route.path === path) && found?.route.includes("{") ? undefined : found;
}

const step = fc.oneof(
  fc.constantFrom(...new Set(routes.flatMap(({ path }) => path.split("/")))).filter((one) => !/[{}]/.test(one)),
  fc.stringMatching(/^[\w~:.@,;=+$&!'()*-]{1,12}$/).filter((one) => !/^\.+$/.test(one)),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 5 }).map(encodeURIComponent),
);
const path = fc.oneof(
  fc.array(step, { maxLength: 5 }).map((steps) => `/${steps.join("/")}`),
  fc
    .tuple(fc.constantFrom(...routes), fc.array(step, { minLength: 6, maxLength: 6 }))
    .map(([route, steps]) => route.path.replaceAll(/\{\w+\}/g, () => steps.pop() ?? "x")),
);
const query = fc
  .array(fc.tuple(fc.stringMatching(/^[a-z_]{1,5}$/), fc.string({ maxLength: 6 })), { maxLength: 4 })
  .map((pairs) => new URLSearchParams(pairs).toString());

test("the router finds the routes, parameters and queries that Hono finds", async () => {
  const request = fc.tuple(fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE"), path, query);
  await fc.assert(
    fc.asyncProperty(request, async ([method, where, asked]) => {
      expect(await foundByRouter(method, where, asked)).toEqual(await foundByHono(method, where, asked));
    }),
    { numRuns: Number(process.env.OFFLOAD_PROPERTY_RUNS ?? 300) },
  );
});

describe("what no client sends", () => {
  test.each(["//", "/tasks//", "/tasks/%", "/tasks/a/../b", "/%2e%2e/tasks", "/\\tasks", "", "tasks", "/TASKS"])(
    "%j is no route",
    async (where) => {
      expect(await foundByRouter("DELETE", where, "")).toBeUndefined();
    },
  );

  test.each([
    ["/tasks/%zz", "%zz"],
    ["/tasks/%25", "%"],
    ["/tasks/a%2Fb", "a/b"],
    ["/tasks/__proto__", "__proto__"],
  ])("%s names the task %s", async (where, task_id) => {
    expect((await foundByRouter("GET", where, ""))?.params).toEqual({ task_id });
  });

  test("a query named as a member of every object is a query like others, and its first value counts", async () => {
    const found = await foundByRouter("GET", "/tasks", "__proto__=1&a=2&a=3&toString=4");
    expect(Object.entries(found?.query ?? {})).toEqual([
      ["__proto__", "1"],
      ["a", "2"],
      ["toString", "4"],
    ]);
  });

  test("a header named as a member of every object is absent unless it was sent", async () => {
    const seen: unknown[] = [];
    const listening = ownRouter((call) => {
      seen.push(call.req.header("constructor"), call.req.header("x-a"));
      return call.json(null);
    });
    await listening.answer({ ...event("GET", "/health"), headers: { "x-a": " b\u0000💥 " } });
    expect(seen).toEqual([undefined, "b¿¿"]);
  });
});
