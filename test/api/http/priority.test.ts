import { describe, expect, test, vi } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { gate } from "../../support/gate.ts";
import { type Ask, ask, gina, problem, sam, served, sue } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const move = ({ control }: ReturnType<typeof served>, taskId: string, more: Ask = {}) =>
  ask(control, `/tasks/${taskId}/priority`, { method: "POST", json: { priority: "high" }, ...more });

describe("POST /tasks/{task_id}/priority", () => {
  test("a waiting task is answered by 200 with its new tier, as often as the client asks", async () => {
    const app = served();
    const { task_id } = await app.accepted({ priority: "low", tags: { order: "7" } });
    for (const _ of [1, 2]) {
      const answer = await move(app, task_id);
      expect(answer.status).toBe(200);
      expect(answer.json).toMatchObject({ task_id, status: "pending", priority: "high", tags: { order: "7" } });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.text).not.toContain("kept_input");
    }
    await app.drain();
    const { json } = await ask(app.status, `/tasks/${task_id}`);
    expect(json).toMatchObject({ status: "completed", attempts: 1, priority: "high" });
  });

  test("a scheduled task moves too, and lists find it in its new tier only", async () => {
    const app = served();
    const { task_id } = await app.accepted({ delay_seconds: 3_600 });
    expect(await move(app, task_id)).toMatchObject({ status: 200, json: { status: "scheduled", priority: "high" } });
    const list = async (tier: string) => (await ask(app.status, `/tasks?priority=${tier}`)).json.tasks;
    expect(await list("normal")).toEqual([]);
    expect(await list("high")).toMatchObject([{ task_id, priority: "high" }]);
  });

  test("a running or ended task is answered by 409", async () => {
    const open = gate();
    const app = served([typeOf(() => open.opened)]);
    const { task_id } = await app.accepted();
    const working = app.work();
    await app.clock.advance(0);
    expect(await move(app, task_id)).toMatchObject(problem(409, "conflict"));
    open.open();
    await working;
    expect(await move(app, task_id)).toMatchObject(problem(409, "conflict"));
  });

  test("a submitter moves its own tasks; those of others do not exist for it, nor those of another tenant", async () => {
    const app = served();
    const own = await app.accepted({}, { as: sam });
    const { task_id } = await app.accepted();
    expect(await move(app, own.task_id, { as: sam })).toMatchObject({ status: 200 });
    expect(await move(app, own.task_id)).toMatchObject({ status: 200 });
    for (const as of [sam, sue, gina])
      expect(await move(app, task_id, { as })).toMatchObject(problem(404, "not_found"));
    expect(await app.recordOf({ tenant_id: "acme", task_id })).toMatchObject({ priority: "normal" });
  });

  test.each([{}, { priority: "urgent" }, { priority: null }, { priority: "high", more: 1 }, { priority: ["high"] }])(
    "%j is refused",
    async (json) => {
      const app = served();
      const { task_id } = await app.accepted();
      expect(await move(app, task_id, { json })).toMatchObject(problem(422, "invalid_input"));
    },
  );

  test("the body is required", async () => {
    const app = served();
    const { task_id } = await app.accepted();
    const answer = await ask(app.control, `/tasks/${task_id}/priority`, { method: "POST" });
    expect(answer).toMatchObject(problem(415, "unsupported_media_type"));
  });

  test("while the queue is down it is answered by 503, and the repeat sends the message", async () => {
    const app = served();
    const { task_id } = await app.accepted({ priority: "low" });
    vi.spyOn(app.queues, "send").mockRejectedValueOnce(new PortUnavailable("the queue"));
    expect(await move(app, task_id)).toMatchObject(problem(503, "unavailable"));
    expect(app.queues.waiting("high")).toEqual([]);
    expect(await move(app, task_id)).toMatchObject({ status: 200 });
    expect(app.queues.waiting("high")).toHaveLength(1);
  });
});
