import { describe, expect, test } from "vitest";
import { createGate } from "../../../src/core/limits/gate.ts";
import { noLimits } from "../../../src/core/limits/limits.ts";
import { refusedSince } from "../../../src/core/limits/refusals.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, appsOf, ask, gina, served, sue } from "../../support/served.ts";

const echo = (value: unknown, more: object = {}) => ({ type: "echo", input: { value }, ...more });
const post = (app: ReturnType<typeof served>, tasks: unknown, more: Ask = {}) =>
  ask(app.submit, "/tasks/batch", { json: { tasks }, ...more });

type Entry = { task_id?: string; replayed?: boolean; problem?: { code: string; status: number; detail: string } };
const entriesOf = (answer: { json: Record<string, unknown> }) => answer.json.tasks as Entry[];
const ids = (answer: { json: Record<string, unknown> }) => entriesOf(answer).map(({ task_id }) => task_id);

describe("POST /tasks/batch", () => {
  test("accepts every entry, in the request's order, and each task is done", async () => {
    const app = served();
    const answer = await post(
      app,
      Array.from({ length: 500 }, (_, index) => echo(index)),
    );
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({ accepted: 500, refused: 0 });
    expect(new Set(ids(answer)).size).toBe(500);
    await app.drain();
    for (const [index, id] of ids(answer).entries()) {
      const record = await app.recordOf({ tenant_id: "acme", task_id: id ?? "" });
      expect(record).toMatchObject({ status: "completed", result: index });
    }
  });

  test("a bad entry is refused by itself, with its problem", async () => {
    const app = served();
    const answer = await post(app, [echo(1), { type: "ecko" }, 5, echo(2, { priority: "urgent" }), echo(3)]);
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({ accepted: 2, refused: 3 });
    const [, unknown, number, tier] = entriesOf(answer);
    expect(unknown?.problem).toMatchObject({ code: "unknown_task_type", status: 422 });
    expect(unknown?.problem?.detail).toContain('Did you mean "echo"?');
    expect(number?.problem).toMatchObject({ code: "invalid_input", status: 422 });
    expect(tier?.problem).toMatchObject({ code: "invalid_input", errors: [{ path: "/priority" }] });
    expect(entriesOf(answer)[4]).toMatchObject({ status: "pending", replayed: false });
  });

  test.each([
    ["a number that would change", '{"type":"echo","input":{"value":12345678901234567890}}', "invalid_input"],
    ["a number that no double holds", '{"type":"echo","input":{"value":1e999}}', "invalid_input"],
    ["a field named __proto__", '{"type":"echo","input":{"__proto__":1}}', "malformed_request"],
    ["65 levels", `{"type":"echo","input":${"[".repeat(64)}${"]".repeat(64)}}`, "malformed_request"],
  ])("an entry with %s refuses no other entry", async (_, bad, code) => {
    const app = served();
    const headers = { "content-type": "application/json" };
    const good = JSON.stringify(echo(1));
    const answer = await ask(app.submit, "/tasks/batch", { headers, raw: `{"tasks":[${good},${bad},${good}]}` });
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({ accepted: 2, refused: 1 });
    expect(entriesOf(answer)[1]?.problem).toMatchObject({ code });
    const single = await ask(app.submit, "/tasks", { headers, raw: bad });
    expect(entriesOf(answer)[1]?.problem).toMatchObject({ code: single.json.code });
  });

  test("a repeated batch creates nothing twice; an entry's own key works over batches and submits", async () => {
    const app = served();
    const headers = { "idempotency-key": "import-7" };
    const tasks = [echo(1), echo(2, { idempotency_key: "mine" }), echo(3)];
    const first = await post(app, tasks, { headers });
    const again = await post(app, tasks, { headers });
    expect(ids(again)).toEqual(ids(first));
    expect(entriesOf(again).map(({ replayed }) => replayed)).toEqual([true, true, true]);
    const single = await ask(app.submit, "/tasks", { json: echo(2), headers: { "idempotency-key": "mine" } });
    expect(single.json.task_id).toBe(ids(first)[1]);
    const other = await post(app, [echo(9), ...tasks.slice(1)], { headers });
    expect(entriesOf(other)[0]?.problem).toMatchObject({ code: "idempotency_key_reused" });
    expect(other.json).toMatchObject({ accepted: 2, refused: 1 });
  });

  test("a batch's key is of its tenant and principal, and no single submit's", async () => {
    const app = served();
    const headers = { "idempotency-key": "k" };
    const [mine] = ids(await post(app, [echo(1)], { headers }));
    const [hers] = ids(await post(app, [echo(1)], { headers, as: sue }));
    const [elsewhere] = ids(await post(app, [echo(1)], { headers, as: gina }));
    const single = await ask(app.submit, "/tasks", { json: echo(1), headers });
    expect(new Set([mine, hers, elsewhere, single.json.task_id]).size).toBe(4);
  });

  test.each([
    [{}, "tasks"],
    [{ tasks: [] }, "tasks"],
    [{ tasks: Array.from({ length: 501 }, () => echo(1)) }, "tasks"],
    [{ tasks: [echo(1)], more: 1 }, "more"],
  ])("a body that is not a list of 1 to 500 entries is refused: %#", async (json, field) => {
    const app = served();
    const answer = await ask(app.submit, "/tasks/batch", { json });
    expect(answer).toMatchObject({ status: 422, json: { code: "invalid_input", errors: [{ path: `/${field}` }] } });
    expect(app.queues.waiting("normal")).toEqual([]);
  });

  test("each entry counts toward the limits of its tenant", async () => {
    const pipeline = memoryPipeline();
    const { clock, log, records, queues } = pipeline;
    const gate = createGate(
      { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues },
      { ...noLimits, default: { submits_per_second: 1, burst: 7 } },
    );
    const { submit } = appsOf({ ...pipeline.ports, gate });
    const answer = await ask(submit, "/tasks/batch", {
      json: { tasks: Array.from({ length: 20 }, (_, n) => echo(n)) },
    });
    expect(answer.json).toMatchObject({ accepted: 7, refused: 13 });
    const refused = entriesOf(answer).filter(({ problem }) => problem !== undefined);
    for (const { problem } of refused) {
      expect(problem).toMatchObject({ code: "rate_limited", status: 429, retry_after_seconds: expect.any(Number) });
    }
  });

  test("a batch of which a full tier accepts no task counts as refused, and the tier says since when", async () => {
    const pipeline = memoryPipeline();
    const { clock, log, records, queues, metrics } = pipeline;
    const limits = { ...noLimits, depth: { normal: 2 } };
    const gate = createGate(
      { clock, log, records, usage: new MemoryUsage(), limits: new MemoryLimits(), depths: queues },
      limits,
    );
    const { submit } = appsOf({ ...pipeline.ports, gate });
    const counts = async (...tasks: object[]) => (await ask(submit, "/tasks/batch", { json: { tasks } })).json;
    expect(await counts(echo(1), echo(2), echo(3))).toMatchObject({ accepted: 2, refused: 1 });
    expect(metrics.sum("batch_refused")).toBe(0);
    expect(await counts(echo(4), echo(5))).toMatchObject({ accepted: 0, refused: 2 });
    expect(metrics.sum("batch_refused")).toBe(1);
    // The client's own fault.
    expect(await counts({ type: "none" })).toMatchObject({ accepted: 0, refused: 1 });
    expect(metrics.sum("batch_refused")).toBe(1);
    expect(await refusedSince({ records, clock }, "normal")).toBe(new Date(clock.now()).toISOString());
  });

  test("an entry whose message cannot be sent is refused as unavailable; the batch sent again completes it", async () => {
    const pipeline = memoryPipeline();
    let sends = 0;
    const { queues } = pipeline.ports;
    const send: typeof queues.send = async (message) => {
      sends += 1;
      if (sends === 3) throw new PortUnavailable("the queue");
      return queues.send(message);
    };
    const flaky = new Proxy(queues, { get: (target, name) => (name === "send" ? send : Reflect.get(target, name)) });
    const { submit } = appsOf({ ...pipeline.ports, queues: flaky });
    const request = { json: { tasks: [1, 2, 3, 4].map((value) => echo(value)) }, headers: { "idempotency-key": "b" } };
    const first = await ask(submit, "/tasks/batch", request);
    expect(first.json).toMatchObject({ accepted: 3, refused: 1 });
    expect(entriesOf(first).find(({ problem }) => problem)?.problem).toMatchObject({
      code: "unavailable",
      status: 503,
    });
    const again = await ask(submit, "/tasks/batch", request);
    expect(again.json).toMatchObject({ accepted: 4, refused: 0 });
    await pipeline.drain();
    for (const id of ids(again)) {
      expect(await pipeline.recordOf({ tenant_id: "acme", task_id: id ?? "" })).toMatchObject({ status: "completed" });
    }
  });
});
