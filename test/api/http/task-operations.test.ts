import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createGate } from "../../../src/core/limits/gate.ts";
import { noLimits } from "../../../src/core/limits/limits.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { ada, appsOf, ask, gina, olga, problem, sam } from "../../support/served.ts";

type As = typeof olga;

/** The functions over one pipeline whose workers have Offload's own types. */
function served() {
  const pipeline = operationsPipeline();
  const apps = appsOf(pipeline.ports);
  const post = (path: string, json: unknown = {}, as: As = olga) => ask(apps.control, path, { json, as });
  const get = (path: string, as: As = olga) => ask(apps.status, path, { as });
  const accepted = (count: number, more: object = {}) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => pipeline.accept({ type: "order.ship", input: { n }, ...more })),
    );
  return { ...pipeline, ...apps, post, get, accepted };
}

const statusesOf = async ({ recordOf }: ReturnType<typeof served>, records: readonly { task_id: string }[]) =>
  Promise.all(records.map(async ({ task_id }) => (await recordOf({ tenant_id: "acme", task_id })).status));

describe("POST /tasks/cancel", () => {
  test("tasks are cancelled by filter, and the operation can be followed to its end", async () => {
    const app = served();
    const orders = await app.accepted(3, { tags: { campaign: "spring" } });
    const others = await app.accepted(2);
    const filter = { type: "order.ship", status: "pending", tags: { campaign: "spring" } };
    expect(await app.post("/tasks/cancel", { filter, dry_run: true })).toMatchObject({
      status: 200,
      json: { matched: 3 },
    });
    expect(await statusesOf(app, orders)).toEqual(["pending", "pending", "pending"]);
    const { status, headers, json } = await app.post("/tasks/cancel", { filter });
    expect({ status, json }).toEqual({ status: 202, json: { operation_id: expect.any(String), matched: 3 } });
    const path = `/operations/${json.operation_id}`;
    expect(headers.get("content-location")).toBe(path);
    await app.run();
    expect((await app.get(path)).json).toMatchObject({ status: "completed", matched: 3, done: 3, skipped: 0 });
    expect(await statusesOf(app, orders)).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect(await statusesOf(app, others)).toEqual(["pending", "pending"]);
  });

  test("an empty filter matches all tasks that have not ended, but no operation", async () => {
    const app = served();
    await app.accepted(2);
    await app.post("/dead-letters/discard", { filter: {} });
    expect((await app.post("/tasks/cancel", { filter: {}, dry_run: true })).json).toEqual({ matched: 2 });
  });

  test("ids of others, and of tasks that have ended, count as skipped", async () => {
    const app = served();
    const [ended] = await app.deadLetter(1);
    const [mine] = await app.accepted(1);
    const identity = { tenantId: "globex", principal: "gina", role: "operator" } as const;
    const foreign = await app.accept({ type: "order.ship", input: { n: 1 } }, { identity });
    const task_ids = [mine?.task_id, mine?.task_id, foreign.task_id, ended?.task_id, randomUUID()];
    const { json } = await app.post("/tasks/cancel", { task_ids });
    expect(json.matched).toBe(1);
    await app.run();
    expect((await app.get(`/operations/${json.operation_id}`)).json).toMatchObject({ matched: 1, done: 1, skipped: 3 });
    expect(await app.recordOf(foreign)).toMatchObject({ status: "pending" });
  });
});

describe("POST /tasks/retry", () => {
  test("failed tasks are retried by filter, also discarded ones", async () => {
    const app = served();
    const [kept, discarded] = await app.deadLetter(2);
    await app.deadLetter(1, { type: "mail.send" });
    await app.post("/dead-letters/discard", { task_ids: [discarded?.task_id] });
    await app.run();
    const { json } = await app.post("/tasks/retry", { filter: { type: "order.ship" }, per_second: 10 });
    expect(json.matched).toBe(2);
    await app.run();
    expect((await app.get(`/operations/${json.operation_id}`)).json).toMatchObject({ status: "completed", done: 2 });
    expect(
      await statusesOf(
        app,
        [kept, discarded].map((one) => ({ task_id: one?.task_id ?? "" })),
      ),
    ).toEqual(["pending", "pending"]);
  });
});

describe("POST /operations/{operation_id}/cancel", () => {
  test("an operation that waits is cancelled, which may be repeated", async () => {
    const app = served();
    const orders = await app.accepted(2);
    const { operation_id } = (await app.post("/tasks/cancel", { filter: {} })).json;
    const path = `/operations/${operation_id}/cancel`;
    const expected = { operation_id, status: "cancelled", matched: 2, done: 0, skipped: 0, failed: 0 };
    for (const answer of [await app.post(path), await app.post(path)]) {
      expect(answer).toMatchObject({ status: 202, json: expected });
      expect(answer.headers.get("content-location")).toBe(`/operations/${operation_id}`);
    }
    await app.run();
    expect(await statusesOf(app, orders)).toEqual(["pending", "pending"]);
  });

  test("replays and discards are cancelled, too", async () => {
    const app = served();
    await app.deadLetter(1);
    for (const action of ["replay", "discard"]) {
      const { operation_id } = (await app.post(`/dead-letters/${action}`, { filter: {} })).json;
      expect(await app.post(`/operations/${operation_id}/cancel`)).toMatchObject({
        status: 202,
        json: { status: "cancelled" },
      });
    }
    await app.run();
    expect(await app.deadLetters()).toHaveLength(1);
  });

  test("one that has ended is a conflict, and one of another tenant does not exist", async () => {
    const app = served();
    const { operation_id } = (await app.post("/tasks/cancel", { filter: {} })).json;
    expect(await app.post(`/operations/${operation_id}/cancel`, {}, gina)).toMatchObject(problem(404, "not_found"));
    expect(await app.post(`/operations/${randomUUID()}/cancel`)).toMatchObject(problem(404, "not_found"));
    const [task] = await app.accepted(1);
    expect(await app.post(`/operations/${task?.task_id}/cancel`)).toMatchObject(problem(404, "not_found"));
    await app.run();
    expect(await app.post(`/operations/${operation_id}/cancel`)).toMatchObject(problem(409, "conflict"));
  });
});

describe("callers", () => {
  test("a submitter is refused, and an admin may name a tenant", async () => {
    const app = served();
    await app.accepted(1);
    for (const path of ["/tasks/cancel", "/tasks/retry"]) {
      expect(await app.post(path, { filter: {} }, sam)).toMatchObject(problem(403, "forbidden"));
    }
    expect(await app.post(`/operations/${randomUUID()}/cancel`, {}, sam)).toMatchObject(problem(403, "forbidden"));
    const admin = { ...ada, tenant_id: "platform" };
    const answer = await app.post("/tasks/cancel?tenant=acme", { filter: {}, dry_run: true }, admin);
    expect(answer.json).toEqual({ matched: 1 });
  });

  test("the audit has the selection", async () => {
    const app = served();
    await app.post("/tasks/cancel", { filter: { type: "order.ship" } });
    await app.clock.advance(1);
    await app.post("/tasks/retry", { filter: {}, per_second: 3 });
    expect((await app.get("/audit")).json.entries).toMatchObject([
      { action: "retryTasks", request: { filter: {}, per_second: 3 }, status: 202 },
      { action: "cancelTasks", request: { filter: { type: "order.ship" } }, status: 202 },
    ]);
  });

  test("a cancel now reaches the attempts of all selected tasks", async () => {
    const app = served();
    const [order] = await app.accepted(1);
    if (order === undefined) throw new Error("no task");
    await app.records.change(order, { when: {}, set: { status: "processing", attempts_total: 1, attempts: 1 } });
    expect((await app.post("/tasks/cancel", { filter: { type: "order.ship" }, now: true })).status).toBe(202);
    await app.drain();
    expect(await app.records.get(order)).toMatchObject({ status: "cancelled", cancel_now: true });
  });

  test.for<[string, object]>([
    ["cancel", {}],
    ["cancel", { task_ids: [randomUUID()], filter: {} }],
    ["cancel", { task_ids: [] }],
    ["cancel", { task_ids: Array.from({ length: 101 }, () => randomUUID()) }],
    ["cancel", { filter: { colour: "red" } }],
    ["cancel", { filter: { status: "done" } }],
    ["cancel", { filter: { tags: { "A B": "x" } } }],
    ["cancel", { filter: {}, per_second: 5 }],
    ["retry", { filter: {}, per_second: 0 }],
    ["retry", { filter: { created_after: "yesterday" } }],
  ])("a %s of %j is refused", async ([action, body]) => {
    expect(await served().post(`/tasks/${action}`, body)).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("PATCH /operations/{operation_id}", () => {
  const patch = (app: ReturnType<typeof served>, id: unknown, json: unknown, as: As = olga) =>
    ask(appsOf(app.ports).control, `/operations/${id}`, { method: "PATCH", json, as });

  test("the rate of a replay is changed, and the replay keeps it", async () => {
    const app = served();
    await app.deadLetter(30);
    const { operation_id: id } = (await app.post("/dead-letters/replay", { filter: {} })).json;
    const { status, json } = await patch(app, id, { per_second: 1 });
    expect({ status, json }).toMatchObject({ status: 200, json: { operation_id: id, status: "pending", matched: 30 } });
    const begun = app.clock.now();
    await app.run();
    expect((await app.get(`/operations/${id}`)).json).toMatchObject({ status: "completed", done: 30 });
    expect(app.clock.now() - begun).toBeGreaterThan(28_000);
  });

  test("only of the caller's tenant, by an operator, between 1 and 100, and not of a cancel", async () => {
    const app = served();
    await app.deadLetter(1);
    const { operation_id: id } = (await app.post("/dead-letters/replay", { filter: {} })).json;
    const { operation_id: cancel } = (await app.post("/tasks/cancel", { filter: {} })).json;
    expect(await patch(app, id, { per_second: 5 }, gina)).toMatchObject(problem(404, "not_found"));
    expect(await patch(app, id, { per_second: 5 }, sam)).toMatchObject(problem(403, "forbidden"));
    expect(await patch(app, id, { per_second: 0 })).toMatchObject(problem(422, "invalid_input"));
    expect(await patch(app, cancel, { per_second: 5 })).toMatchObject(problem(409, "conflict"));
  });
});

describe("an operation is refused as documented", () => {
  test("when it starts work again, and its tenant's rate is reached", async () => {
    const { ports } = operationsPipeline();
    const { clock, log, records, queues: depths } = ports;
    const stores = { clock, log, records, depths, usage: new MemoryUsage(), limits: new MemoryLimits() };
    const { control } = appsOf({
      ...ports,
      countRequest: createGate(stores, { ...noLimits, default: { submits_per_second: 1 } }).countRequest,
    });
    const post = (path: string, more: object = {}) =>
      ask(control, path, { json: { task_ids: [randomUUID()], ...more } });
    expect((await post("/tasks/retry", { dry_run: true })).status).toBe(200);
    expect((await post("/tasks/retry")).status).toBe(202);
    for (const path of ["/tasks/retry", "/dead-letters/replay"])
      expect(await post(path)).toMatchObject(problem(429, "rate_limited"));
    // They end work, or do not add to it.
    for (const path of ["/tasks/cancel", "/tasks/run-now", "/dead-letters/discard"])
      expect((await post(path)).status).toBe(202);
  });

  test("when its change is no JSON", async () => {
    const app = served();
    await app.accepted(1);
    const { json } = await app.post("/tasks/run-now", { filter: {} });
    const more = { method: "PATCH", raw: "per_second=1", headers: { "content-type": "text/plain" } };
    const refused = await ask(app.control, `/operations/${json.operation_id}`, more);
    expect(refused).toMatchObject(problem(415, "unsupported_media_type"));
  });
});
