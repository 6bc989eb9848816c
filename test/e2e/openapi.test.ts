import { beforeAll, describe, expect, test } from "vitest";
import type { OpenApiDocument } from "../../src/api/openapi/document.ts";
import { Documented } from "../support/documented.ts";
import { type Answer, expectStatus } from "../support/http-client.ts";
import { admin, anonymous, operator, uniqueTags } from "./callers.ts";

let document: OpenApiDocument;
let documented: Documented;

beforeAll(async () => {
  document = expectStatus(await anonymous.get("/openapi.json"), 200).json<OpenApiDocument>();
  documented = new Documented(document);
});

/** Expects that an answer is as the server's own document says. */
function expectDocumented(method: string, path: string, { status, headers, text }: Answer): void {
  expect(documented.faultOf({ method, path, status, headers, text })).toBeUndefined();
}

describe("the OpenAPI document", () => {
  test("the server answers with the document of its own task types", () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(Object.keys(document.components.schemas)).toContain("probe.echo.submit");
  });

  test("a client that has the document gets 304", async () => {
    const etag = (await anonymous.get("/openapi.json")).headers.get("etag") ?? "";
    expectStatus(await anonymous.get("/openapi.json", { "if-none-match": etag }), 304);
  });

  test("the way of a task is answered as documented", async () => {
    const { tags, query } = uniqueTags();
    const submitted = await operator.post("/tasks", { type: "probe.echo", input: { value: 1 }, tags });
    expectDocumented("POST", "/tasks", submitted);
    const { task_id } = submitted.json<{ task_id: string }>();
    await operator.ended(task_id);
    for (const path of [
      `/tasks/${task_id}`,
      `/tasks/${task_id}/attempts`,
      `/tasks/${task_id}/result`,
      `/tasks?${query}`,
    ]) {
      expectDocumented("GET", path, expectStatus(await operator.get(path), 200));
    }
    const cancel = `/tasks/${task_id}/cancel`;
    expectDocumented("POST", cancel, expectStatus(await operator.post(cancel, {}), 409));
  });

  test.each(["/schedules", "/dead-letters", "/queues", "/health"])("GET %s is answered as documented", async (path) => {
    expectDocumented("GET", path, expectStatus(await admin.get(path), 200));
  });

  test("problems are answered as documented", async () => {
    expectDocumented("GET", "/tasks", expectStatus(await anonymous.get("/tasks"), 401));
    expectDocumented("GET", "/queues", expectStatus(await operator.get("/queues"), 403));
    expectDocumented("POST", "/tasks", expectStatus(await operator.post("/tasks", { type: "nope" }), 422));
  });
});
