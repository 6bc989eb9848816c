import { describe, expect, test } from "vitest";
import { apiOf, withLazy } from "../../../src/api/http/api.ts";
import type { Call } from "../../../src/api/http/call.ts";
import { Router } from "../../../src/api/http/router.ts";
import {
  type HttpFunction,
  isNamedByOther,
  isOpen,
  type Route,
  routeOf,
  routes,
  routesAt,
  routeTable,
} from "../../../src/api/http/routes.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { appsOf, ask } from "../../support/served.ts";

const some = ({ path }: Route): string => path.replaceAll(/\{\w+\}/g, "some-id");
const names = Object.keys(routeTable) as HttpFunction[];

describe("the table", () => {
  test("has each method and path once", () => {
    const declared = routes.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(declared).size).toBe(declared.length);
  });

  test("has no two routes that fit the same request", () => {
    for (const route of routes) {
      expect(routesAt(some(route)).filter(({ method }) => method === route.method)).toEqual([route]);
    }
  });

  test("opens only the health check, the OpenAPI document, the links of signals and the console", () => {
    const open = routes.filter(isOpen).map(({ path }) => path);
    const links = ["/signals/{token}", "/signals/{token}"];
    expect(open).toEqual(["/health", "/openapi.json", ...links, "/console", "/console/{file}"]);
  });
});

test("a path that another route names word for word is no path of a route with a step in braces", () => {
  for (const { path } of routes.filter(({ path }) => path.includes("{"))) {
    const isOthers = isNamedByOther(path);
    for (const other of routes.map(some)) {
      const isOwn = routesAt(other).some((found) => found.path === path);
      expect(isOthers(other), `${other} of ${path}`).toBe(!isOwn && fitsOpen(path, other));
    }
  }
});

/** True when a path has the steps of a route, whatever its steps in braces are. */
const fitsOpen = (route: string, path: string): boolean =>
  new RegExp(`^${route.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);

describe("the matcher", () => {
  test.each([
    ["/tasks", ["POST submit", "GET status"]],
    ["/tasks/some-id", ["GET status"]],
    ["/tasks/some-id/cancel", ["POST control"]],
    ["/schedules/preview", ["POST status"]],
    ["/tasks/batch", ["POST submit"]],
    ["/tasks/", []],
    ["/tasks//cancel", []],
    ["/health/", []],
    ["/tasks/a/b/c", []],
    ["/TASKS", []],
    ["/%74asks", []],
    ["tasks", []],
    ["/", []],
    ["", []],
  ])("finds the routes of %j", (path, expected) => {
    expect(routesAt(path).map(({ method, functionName }) => `${method} ${functionName}`)).toEqual(expected);
  });

  test("finds the route of a request by its method", () => {
    expect(routeOf("POST", "/tasks")).toMatchObject({ functionName: "submit", notes: [] });
    expect(routeOf("GET", "/tasks")).toMatchObject({ functionName: "status", notes: [] });
    expect(routeOf("GET", "/health")).toMatchObject({ functionName: "status", notes: ["open"] });
    expect(routeOf("HEAD", "/tasks")).toBeUndefined();
    expect(routeOf("get", "/tasks")).toBeUndefined();
  });
});

describe("a function's app", () => {
  test.each(names)("of %s serves the function's own routes, and no others", async (name) => {
    const app = appsOf(memoryPipeline().ports)[name];
    for (const route of routes) {
      const { status, text } = await ask(app, some(route), { method: route.method });
      const served = status !== 405 && !text.includes("No such route.");
      expect(served, `${route.method} ${route.path}`).toBe(route.functionName === name);
    }
  });

  test("does not compile with a handler missing, or with one that has no route", () => {
    const { ports } = memoryPipeline();
    const more = { ...ports, newCorrelationId: () => "c" };
    const submitTask = (call: Call) => call.body("");
    const good = apiOf("submit", more, { submitTask, submitBatch: submitTask, createUpload: submitTask });
    expect(good).toBeInstanceOf(Router);
    const readTask = submitTask;
    const both = { submitTask, submitBatch: submitTask, createUpload: submitTask, readTask };
    const wrong = [
      // @ts-expect-error: submitTask is missing.
      () => apiOf("submit", more, {}),
      // @ts-expect-error: readTask is a route of status.
      () => apiOf("submit", more, { submitTask, readTask }),
      // @ts-expect-error: it is one, however it gets there.
      () => apiOf("submit", more, { ...both }),
      // @ts-expect-error: the other routes of status are missing.
      () => withLazy("status", { readTask }, async () => ({ listTasks: readTask })),
    ];
    expect(wrong).toHaveLength(4);
  });
});

describe("handlers that load later", () => {
  test("load once, with the first request for one of them", async () => {
    const { ports } = memoryPipeline();
    const answer = (text: string) => (call: Call) => call.body(text);
    let loads = 0;
    const now = { readHealth: answer("now") };
    const others = Object.keys(routeTable.status).filter((name) => name !== "readHealth");
    type Later = Record<Exclude<keyof typeof routeTable.status, "readHealth">, ReturnType<typeof answer>>;
    const later = Object.fromEntries(others.map((name) => [name, answer(name)])) as Later;
    const handlers = withLazy("status", now, async () => {
      loads += 1;
      return later;
    });
    const api = apiOf("status", { ...ports, newCorrelationId: () => "c" }, handlers);
    expect((await ask(api, "/health")).text).toBe("now");
    expect((await ask(api, "/nope")).status).toBe(404);
    expect(loads).toBe(0);
    expect((await ask(api, "/dead-letters")).text).toBe("listDeadLetters");
    expect((await ask(api, "/schedules")).text).toBe("listSchedules");
    expect(loads).toBe(1);
  });
});

test("GET /openapi.json answers the deployment's document, without a token", async () => {
  const { status } = appsOf(memoryPipeline().ports);
  const { json } = await ask(status, "/openapi.json", { as: {} as never });
  expect(json).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), info: { version: "1.2.3" } });
});
