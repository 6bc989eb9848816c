import { describe, expect, test } from "vitest";
import { createGate } from "../../../src/core/limits/gate.ts";
import { noLimits } from "../../../src/core/limits/limits.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { type Ask, appsOf, ask, gina, problem, sam, served, sue } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const waiting = () =>
  served([typeOf(async (_, task) => ({ got: (await task.waitFor("approved", { timeoutSeconds: 86_400 })) ?? null }))]);

const send = ({ control }: ReturnType<typeof served>, id: string, name: string, more: Ask = {}) =>
  ask(control, `/tasks/${id}/signals/${name}`, { method: "POST", ...more });

describe("POST /tasks/{task_id}/signals/{name}", () => {
  test("the status of a task that waits says for what, and its attempt has started", async () => {
    const app = waiting();
    const { task_id } = await app.accepted();
    await app.work();
    const { json } = await ask(app.status, `/tasks/${task_id}`);
    expect(json).toMatchObject({ status: "pending", attempts: 1, next_attempt_at: null });
    expect(json.waiting_for).toEqual({ kind: "signal", signals: ["approved"], until: "2027-01-02T00:00:00.000Z" });
  });

  test.each([[{ by: "ada" }], [7], ["text"], [null], [[1, { a: [] }]], [false]])(
    "the signal %j is answered by 202 with the task, which goes on with it",
    async (body) => {
      const app = waiting();
      const { task_id } = await app.accepted();
      await app.work();
      const answer = await send(app, task_id, "approved", { json: body });
      expect(answer.status).toBe(202);
      expect(answer.json).toMatchObject({ task_id, status: "pending", waiting_for: null });
      expect(answer.headers.get("content-location")).toBe(`/tasks/${task_id}`);
      await app.drain();
      expect((await ask(app.status, `/tasks/${task_id}`)).json).toMatchObject({
        status: "completed",
        attempts: 1,
        result: { got: body },
      });
    },
  );

  test("signals count toward the tenant's rate of submits, those of another tenant do not", async () => {
    const { ports, ...app } = waiting();
    const { task_id } = await app.accepted();
    const { clock, log, records, queues: depths } = ports;
    const stores = { clock, log, records, depths, usage: new MemoryUsage(), limits: new MemoryLimits() };
    const { countRequest } = createGate(stores, {
      ...noLimits,
      tenants: { acme: { submits_per_second: 2, burst: 2 } },
    });
    const { control } = appsOf({ ...ports, countRequest });
    const at = (name: string) => ask(control, `/tasks/${task_id}/signals/${name}`, { method: "POST" });
    expect([(await at("a")).status, (await at("b")).status]).toEqual([202, 202]);
    expect(await at("c")).toMatchObject(problem(429, "rate_limited"));
    // Nobody learns of another tenant's task, and it costs that tenant nothing.
    expect((await ask(control, `/tasks/${task_id}/signals/d`, { method: "POST", as: gina })).status).toBe(404);
    await clock.advance(1_000);
    expect((await at("c")).status).toBe(202);
  });

  test("a signal without a body is null", async () => {
    const app = waiting();
    const { task_id } = await app.accepted();
    expect((await send(app, task_id, "approved")).status).toBe(202);
    await app.drain();
    expect((await ask(app.status, `/tasks/${task_id}`)).json.result).toEqual({ got: null });
  });

  test("a repeated signal is answered as the first one, and another one of its name by 409", async () => {
    const app = waiting();
    const { task_id } = await app.accepted();
    for (const _ of [1, 2]) expect((await send(app, task_id, "approved", { json: 1 })).status).toBe(202);
    expect(await send(app, task_id, "approved", { json: 2 })).toMatchObject(problem(409, "conflict"));
    await app.drain();
    expect(await send(app, task_id, "approved", { json: 1 })).toMatchObject(problem(409, "conflict"));
  });

  test.each(["a%2Fb", "%00", "x".repeat(65), ".hidden", "%F0%9F%98%80"])("the name %s is refused", async (name) => {
    const app = waiting();
    const { task_id } = await app.accepted();
    expect(await send(app, task_id, name, { json: 1 })).toMatchObject(problem(422, "invalid_input"));
  });

  test("a body that is not JSON is 400, and one of more than 256 KiB is 413", async () => {
    const app = waiting();
    const { task_id } = await app.accepted();
    const raw = await send(app, task_id, "approved", { raw: "{", headers: { "content-type": "application/json" } });
    expect(raw.status).toBe(400);
    const large = await send(app, task_id, "approved", { json: "x".repeat(262_143) });
    expect(large.status).toBe(413);
  });

  test("a task of another tenant, or of another submitter, is not found", async () => {
    const app = waiting();
    const { task_id } = await app.accepted({}, { as: sam } as never);
    expect(await send(app, task_id, "approved", { as: gina, json: 1 })).toMatchObject(problem(404, "not_found"));
    void sue;
  });
});
