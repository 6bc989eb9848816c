import { describe, expect, test } from "vitest";
import * as z from "zod";
import { apiRoutes, isOpen } from "../../../src/api/http/routes.ts";
import { descriptions } from "../../../src/api/openapi/descriptions.ts";
import { openApiDocument } from "../../../src/api/openapi/document.ts";
import { refOf } from "../../../src/api/openapi/json-schema.ts";
import { problemCodes } from "../../../src/core/model/problem.ts";
import { previewSchema } from "../../../src/core/schedules/definition.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { toCatalog } from "../../../src/core/task/to-catalog.ts";
import { Documented } from "../../support/documented.ts";
import { taskTypes } from "../../support/own-types.ts";
import { ask, caller, served } from "../../support/served.ts";

const types = await taskTypes();
const document = openApiDocument(toCatalog(types), "1.2.3");

interface OperationObject {
  operationId: string;
  description?: string;
  security?: unknown[];
  parameters: { $ref?: string; name?: string; in?: string }[];
  requestBody?: { content: Record<string, { schema: unknown }> };
  responses: Record<string, { $ref?: string; description?: string }>;
}

const all = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    route: `${method.toUpperCase()} ${path}`,
    path,
    operation: operation as unknown as OperationObject,
  })),
);

/** Every object in a JSON value. */
function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inside : [value as Record<string, unknown>, ...inside];
}

/** Resolves a reference to a place in a document. */
const resolve = (root: unknown, ref: string): unknown =>
  ref
    .slice(2)
    .split("/")
    .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/")], root);

const danglingRefs = (root: unknown): unknown[] =>
  objectsIn(root)
    .map(({ $ref }) => $ref)
    .filter((ref) => typeof ref === "string" && resolve(root, ref) === undefined);

describe("the document", () => {
  test("the document has every route of the table that programs call, and no others", () => {
    expect(all.map(({ route }) => route).sort()).toEqual(
      apiRoutes.map(({ method, path }) => `${method} ${path}`).sort(),
    );
  });

  test("the document has the structure of OpenAPI 3.1", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: "1.2.3" });
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).toBe(all.length);
    for (const { path, operation } of all) {
      const inPath = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      const responses = Object.entries(operation.responses);
      expect(responses.every(([status]) => /^[2-5]\d\d$/.test(status))).toBe(true);
      expect(responses.every(([, { $ref, description }]) => $ref !== undefined || description !== undefined)).toBe(
        true,
      );
    }
    for (const part of Object.values(document.components)) {
      expect(Object.keys(part as object).filter((name) => !/^[A-Za-z0-9._-]+$/.test(name))).toEqual([]);
    }
  });

  test("every reference leads to a part of the document", () => {
    expect(objectsIn(document).filter(({ $ref }) => typeof $ref === "string").length).toBeGreaterThan(100);
    expect(danglingRefs(document)).toEqual([]);
  });

  test("the document is plain JSON, and the same each time", () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(JSON.stringify(openApiDocument(toCatalog(types), "1.2.3"))).toBe(JSON.stringify(document));
  });

  test("only open routes need no token", () => {
    const open = all.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
    expect(open).toEqual(apiRoutes.filter(isOpen).map(({ path }) => path));
  });

  test("every code of a problem belongs to at least one route, except those that answer requests without a route", () => {
    const named = Object.keys(document.components.responses as object).flatMap((name) => name.split("_or_"));
    const missing = Object.keys(problemCodes).filter((code) => !named.includes(code) && code !== "conflict");
    expect(missing).toEqual(["method_not_allowed", "request_timeout"]);
  });
});

test("every refusal has one schema, so that generated clients have one class of errors", () => {
  const named = Object.values(document.components.responses as Record<string, Record<string, unknown>>);
  const own = all.flatMap(({ operation }) => Object.entries(operation.responses));
  const contents = [
    ...named,
    ...own.filter(([status, { $ref }]) => Number(status) >= 400 && !$ref).map(([, one]) => one),
  ];
  const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
  expect(contents.length).toBeGreaterThan(10);
  for (const one of contents) expect(one).toMatchObject({ content: problem, "x-codes": expect.any(Array) });
  expect(objectsIn(document.components.responses).filter((object) => "allOf" in object)).toEqual([]);
});

describe("requests with one of two fields", () => {
  const schemas = document.components.schemas;
  /** True when exactly one form of a request fits a body. */
  const accepts = (name: string, body: object) => {
    const forms = schemas[name]?.oneOf as { $ref: string }[];
    const fits = ({ $ref }: { $ref: string }) =>
      z.fromJSONSchema(resolve(document, $ref) as z.core.JSONSchema.JSONSchema).safeParse(body).success;
    return forms.filter(fits).length === 1;
  };
  const task_ids = ["0198f0c2-0000-7000-8000-000000000000"];

  test.each(["cancelTasks", "retryTasks", "runTasksNow", "replayDeadLetters", "discardDeadLetters"] as const)(
    "%s takes task_ids or a filter, in the document as on the server",
    (route) => {
      const body = descriptions[route].body as z.ZodType;
      const name = refOf(body).$ref as string;
      const bodies = [{ task_ids }, { filter: {} }, { dry_run: true, filter: { type: "a" } }];
      const wrong = [
        {},
        { dry_run: true },
        { task_ids, filter: {} },
        { task_ids: null, filter: {} },
        { task_ids, more: 1 },
      ];
      const verdicts = (isAccepted: (one: object) => boolean) => [...bodies, ...wrong].map(isAccepted);
      const expected = [...bodies.map(() => true), ...wrong.map(() => false)];
      expect(verdicts((one) => body.safeParse(one).success)).toEqual(expected);
      expect(verdicts((one) => accepts(name.split("/").at(-1) ?? "", one))).toEqual(expected);
    },
  );

  test.each([
    [{ cron: "0 2 * * *" }, true],
    [{ every_seconds: 60 }, true],
    [{ cron: "0 2 * * *", every_seconds: null }, true],
    [{ cron: null, every_seconds: 60, starts_at: null }, true],
    [{ cron: "0 2 * * *", every_seconds: 60 }, false],
    [{ cron: null, every_seconds: null }, false],
    [{ timezone: "UTC" }, false],
  ])("a schedule has a cron or an interval, in the document as on the server: %j", (body, expected) => {
    expect(previewSchema.safeParse(body).success).toBe(expected);
    expect(accepts("SchedulePreview", body)).toBe(expected);
  });

  test("the most tags of a task, and that no event is named twice, are in the document, too", () => {
    const { Submit, NewReceiver } = openApiDocument([], "1").components.schemas;
    expect(Submit).toMatchObject({ properties: { tags: { maxProperties: 10 } } });
    expect(NewReceiver).toMatchObject({ properties: { events: { uniqueItems: true } } });
  });

  test("each form is a whole schema with a name: generators make nothing of alternatives beside fields", () => {
    const choices = objectsIn(schemas).filter((schema) => "oneOf" in schema);
    expect(choices.filter((schema) => "properties" in schema)).toEqual([]);
    expect(schemas.CancelTasks).toEqual({
      oneOf: ["ByIds", "ByFilter"].map((form) => ({ $ref: `#/components/schemas/CancelTasks${form}` })),
    });
  });
});

describe("roles", () => {
  const below = { viewer: "submitter", operator: "viewer", admin: "operator" } as const;
  const needed = apiRoutes.filter((route) => !isOpen(route));

  test.each(needed)(
    "$method $path accepts the role that the document names, and refuses a lower one",
    async (route) => {
      const { role = "submitter" } = descriptions[route.name];
      const app = served()[route.functionName];
      const path = route.path.replaceAll(/\{\w+\}/g, "0198f0c2-0000-7000-8000-000000000000");
      const askAs = (as: typeof role) =>
        ask(app, path, { method: route.method, as: { ...caller("acme", "olga", as), inputs: "true" } });
      expect((await askAs(role)).status).not.toBe(403);
      if (role !== "submitter") expect((await askAs(below[role])).status).toBe(403);
    },
  );
});

describe("task types", () => {
  const submit = document.paths["/tasks"]?.post as unknown as OperationObject;
  const schemas = document.components.schemas;

  test("the body of a submit has one schema for each type, by the value of its field type", () => {
    const body = submit.requestBody?.content["application/json"]?.schema;
    const names = types.map(({ name }) => name);
    expect(body).toEqual({
      oneOf: names.map((name) => ({ $ref: `#/components/schemas/${name}.submit` })),
      discriminator: {
        propertyName: "type",
        mapping: Object.fromEntries(names.map((name) => [name, `#/components/schemas/${name}.submit`])),
      },
    });
    expect(schemas["probe.sleep.submit"]).toMatchObject({
      required: ["type", "input"],
      properties: { type: { const: "probe.sleep" }, input: { $ref: "#/components/schemas/probe.sleep.input" } },
    });
    expect(schemas["probe.sleep.input"]).toMatchObject({ required: ["ms"], additionalProperties: false });
  });

  test("a type without a required input may be submitted without one, as the API accepts it", () => {
    const free = defineTask({ name: "free", input: z.unknown(), handler: () => null });
    const made = openApiDocument(toCatalog([free]), "1").components.schemas["free.submit"];
    expect(made).toMatchObject({ required: ["type"] });
  });

  test("a type that declares its result has a schema of it", () => {
    const counts = defineTask({ name: "a.count", input: z.string(), output: z.int(), handler: () => 1 });
    const made = openApiDocument(toCatalog([counts]), "1");
    expect(made.components.schemas["a.count.result"]).toMatchObject({ type: "integer" });
    expect(JSON.stringify(made.paths["/tasks/{task_id}/result"])).toContain("#/components/schemas/a.count.result");
    expect(schemas["probe.sleep.result"]).toBeUndefined();
  });

  test("definitions inside an input stay reachable", () => {
    const Node: z.ZodType = z.object({
      name: z.string(),
      get children() {
        return z.array(Node);
      },
    });
    const inner = defineTask({ name: "tree.inner", input: z.object({ root: Node }), handler: () => null });
    const outer = defineTask({ name: "tree.outer", input: Node, handler: () => null });
    const made = openApiDocument(toCatalog([inner, outer]), "1");
    expect(JSON.stringify(made)).toContain('"#/components/schemas/tree.inner.input/$defs/');
    expect(JSON.stringify(made)).toContain('"#/components/schemas/tree.outer.input"');
    expect(danglingRefs(made)).toEqual([]);
  });

  test("a deployment without task types has a document, too", () => {
    const made = openApiDocument([], "1");
    expect(danglingRefs(made)).toEqual([]);
    expect(made.components.schemas.Submit).toMatchObject({ type: "object" });
  });
});

describe("GET /openapi.json", () => {
  test("the document is answered without a token, and may be cached", async () => {
    const { status } = served();
    const answer = await ask(status, "/openapi.json", { as: {} });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "public, max-age=300"]);
    expect(answer.json).toEqual(openApiDocument([], "1.2.3"));
    const headers = { "if-none-match": answer.headers.get("etag") ?? "" };
    const again = await ask(status, "/openapi.json", { as: {}, headers });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});

describe("the comparison of answers with the document", () => {
  const documented = new Documented(document);
  const headers = {
    "content-type": "application/json",
    "x-correlation-id": "c",
    "cache-control": "no-store",
    "content-location": "/tasks/1",
    "retry-after": "1",
  };
  const body = {
    task_id: "0198f0c2-0000-7000-8000-000000000000",
    status: "pending",
    poll_url: "/tasks/1",
    created_at: "2027-01-01T00:00:00.000Z",
  };
  const faultOf = (status: number, answer: unknown, more: Record<string, string> = {}, without?: string) => {
    const given = new Headers({ ...headers, ...more });
    if (without !== undefined) given.delete(without);
    return documented.faultOf({ method: "POST", path: "/tasks", status, headers: given, text: JSON.stringify(answer) });
  };

  test("an answer as documented has no fault", () => {
    expect(faultOf(202, body)).toBeUndefined();
  });

  test.each([
    ["another status", () => faultOf(200, body), "status 200"],
    ["another content type", () => faultOf(202, body, { "content-type": "text/plain" }), "content type text/plain"],
    ["a missing header", () => faultOf(202, body, {}, "retry-after"), "header Retry-After"],
    ["a missing field", () => faultOf(202, { ...body, poll_url: undefined }), "poll_url"],
    ["a field that is not documented", () => faultOf(202, { ...body, more: 1 }), "more"],
    ["a value of another form", () => faultOf(202, { ...body, created_at: "today" }), "created_at"],
  ])("%s is a fault", (_, fault, expected) => {
    expect(fault()).toContain(expected);
  });

  test("a code that the route cannot answer with is a fault", () => {
    const problem = (code: string) => ({
      ...{ type: `urn:offload:error:${code}`, code, title: "", status: 422, detail: "", correlation_id: "c" },
    });
    const media = { "content-type": "application/problem+json" };
    expect(faultOf(422, problem("unknown_task_type"), media)).toBeUndefined();
    expect(faultOf(422, problem("gone"), media)).toContain("code");
  });
});
