import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { parseCatalog } from "../../../src/core/task/catalog.ts";
import { knownTypes } from "../../../src/core/task/known-types.ts";
import { toCatalog } from "../../../src/core/task/to-catalog.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, ada, appsOf, ask, olga, otto, problem, sam, served } from "../../support/served.ts";
import { echo, typeOf } from "../../support/task-types.ts";

const body = { type: "echo", input: { value: 1 } };

/** Posts a task. */
const post = ({ submit }: ReturnType<typeof served>, more: Ask = {}) => ask(submit, "/tasks", { json: body, ...more });

describe("POST /tasks", () => {
  test("a submit is answered by 202 with where to poll", async () => {
    const app = served();
    const answer = await post(app);
    const [record] = app.records.all();
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({
      task_id: record?.task_id,
      status: "pending",
      poll_url: `/tasks/${record?.task_id}`,
      created_at: record?.created_at,
    });
    expect(answer.headers.get("content-location")).toBe(`/tasks/${record?.task_id}`);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.headers.has("idempotent-replayed")).toBe(false);
  });

  const some = z.strictObject({ a: z.int() });
  test.each([
    ["optional", some.optional()],
    ["undefined as one of several", some.or(z.undefined())],
  ])("an input that may be left out: %s", async (_, input) => {
    const type = typeOf((given) => ({ given }), { input });
    const pipeline = memoryPipeline([type]);
    // Submit knows the types by the catalogue's file.
    const types = knownTypes(parseCatalog(JSON.stringify(toCatalog([type]))));
    const { submit } = appsOf({ ...pipeline.ports, types });
    const answer = await ask(submit, "/tasks", { json: { type: type.name } });
    expect(answer.status).toBe(202);
    await pipeline.drain();
    const record = await pipeline.recordOf({ tenant_id: "acme", task_id: String(answer.json.task_id) });
    expect(record.error).toBeUndefined();
    expect(record).toMatchObject({ status: "completed", attempts: 1, result: {} });
    expect((await ask(submit, "/tasks", { json: { type: type.name, input: { a: "1" } } })).status).toBe(422);
  });

  test("a delayed task is answered as scheduled", async () => {
    const answer = await post(served(), { json: { ...body, delay_seconds: 60 } });
    expect(answer.json.status).toBe("scheduled");
  });

  test("a task has the caller's name and the request's correlation id", async () => {
    const app = served();
    await post(app, { as: sam, headers: { "x-correlation-id": "mine" } });
    expect(app.records.all()).toMatchObject([
      { tenant_id: "acme", requested_by: "sam", own_list: true, correlation_id: "mine" },
    ]);
  });

  test("an admin can submit for another tenant", async () => {
    const app = served();
    const answer = await ask(app.submit, "/tasks?tenant=globex", { json: body, as: ada });
    expect(answer.status).toBe(202);
    expect(app.records.all()).toMatchObject([{ tenant_id: "globex", requested_by: "ada" }]);
  });

  test("a token is checked before the body", async () => {
    const app = served();
    expect(await post(app, { as: {}, raw: "{" })).toMatchObject(problem(401, "unauthenticated"));
    expect(app.records.all()).toEqual([]);
  });

  test("an invalid request is answered by 422, with a pointer to the field", async () => {
    const answer = await post(served(), { json: { ...body, max_attempts: 0 } });
    expect(answer).toMatchObject(problem(422, "invalid_input"));
    expect(answer.json).toMatchObject({
      detail: "max_attempts: expected number to be >=1, got 0",
      errors: [{ path: "/max_attempts", message: "expected number to be >=1" }],
    });
  });

  test("an unknown type is answered by 422", async () => {
    expect(await post(served(), { json: { ...body, type: "nope" } })).toMatchObject(problem(422, "unknown_task_type"));
  });

  test("an input that no message can carry is taken, and its task gets it", async () => {
    const app = served();
    const answer = await post(app, { json: { ...body, input: { value: "x".repeat(60_000) } } });
    expect(answer.status).toBe(202);
    await app.drain();
    const record = await app.recordOf({ tenant_id: "acme", task_id: String(answer.json.task_id) });
    expect(record).toMatchObject({ status: "completed", result_ref: { bytes: 60_002 } });
  });

  test("a port that is down is answered by 503 with Retry-After", async () => {
    const app = served();
    vi.spyOn(app.queues, "send").mockRejectedValueOnce(new PortUnavailable("the queue"));
    const answer = await post(app);
    expect(answer).toMatchObject(problem(503, "unavailable"));
    expect(answer.headers.get("retry-after")).toBe("5");
  });
});

describe("Idempotency-Key", () => {
  const key = { "idempotency-key": "key-1" };

  test("a repeat finds the same task with its present status, and says so", async () => {
    const app = served();
    const first = await post(app, { headers: key });
    await app.drain();
    const second = await post(app, { headers: key });
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.json).toEqual({ ...first.json, status: "completed" });
    expect(first.headers.has("idempotent-replayed")).toBe(false);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
  });

  test("a key with another request is refused", async () => {
    const app = served();
    await post(app, { headers: key });
    const answer = await post(app, { headers: key, json: { ...body, priority: "low" } });
    expect(answer).toMatchObject(problem(422, "idempotency_key_reused"));
  });

  test("a key of another principal makes another task", async () => {
    const app = served();
    const ids = [await post(app, { headers: key, as: olga }), await post(app, { headers: key, as: otto })];
    expect(new Set(ids.map(({ json }) => json.task_id)).size).toBe(2);
  });

  test.each(["x", "x".repeat(255), "a b c", "~!@#"])("a key may be %s", async (name) => {
    expect((await post(served(), { headers: { "idempotency-key": name } })).status).toBe(202);
  });

  test.each(["", "x".repeat(256), "ä", "a\tb"])("a key cannot be %j", async (name) => {
    const app = served();
    expect(await post(app, { headers: { "idempotency-key": name } })).toMatchObject(problem(400, "malformed_request"));
    expect(app.records.all()).toEqual([]);
  });
});

describe("traceparent", () => {
  const good = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

  test("a traceparent is carried to the worker", async () => {
    let seen: string | undefined;
    const app = served([typeOf((_input, task) => (seen = task.traceparent), { name: "echo", input: echo.input })]);
    await post(app, { headers: { traceparent: good } });
    await app.drain();
    expect(seen).toBe(good);
  });

  test.each([
    [good, good],
    [` ${good} `, good],
    [`cc${good.slice(2)}`, `cc${good.slice(2)}`],
    ["", undefined],
    [`ff${good.slice(2)}`, undefined],
    [good.toUpperCase(), undefined],
    [`00-${"0".repeat(32)}-${"b".repeat(16)}-01`, undefined],
    [`00-${"a".repeat(32)}-${"0".repeat(16)}-01`, undefined],
    [`${good}-extra`, undefined],
    [good.slice(0, -1), undefined],
  ])("the traceparent %j is read as %j", async (header, taken) => {
    const app = served();
    await post(app, { headers: { traceparent: header } });
    expect(app.records.all()[0]?.traceparent).toBe(taken);
  });

  test("a wrong traceparent refuses no request", async () => {
    const app = served();
    expect((await post(app, { headers: { traceparent: "nonsense" } })).status).toBe(202);
    expect(app.records.all()[0]).not.toHaveProperty("traceparent");
  });
});
