import { describe, expect, test } from "vitest";
import type { Delivery } from "../../../src/core/ports/webhooks.ts";
import { MemoryDeliveries } from "../../../src/memory/deliveries.ts";
import { appsOf, ask, gina, problem, sam, served, sue } from "../../support/served.ts";

const at = "2027-01-01T12:00:00.000Z";

/** The apps with a task of sam's, and its webhook after two tries. */
async function setUp(more: Partial<Delivery> = {}) {
  const pipeline = served();
  const deliveries = new MemoryDeliveries();
  const apps = appsOf({ ...pipeline.ports, deliveries });
  const { task_id, type } = await pipeline.accepted({}, { as: sam });
  const tries = [
    { at, duration_ms: 10_000, error: "the receiver did not answer in time" },
    { at, duration_ms: 12, status: 500 },
  ];
  const delivery: Delivery = {
    ...{ tenant_id: "acme", task_id, type, id: `end-of-${task_id}`, url: "https://example.com/hook", body: "{}" },
    ...{ state: "failed", tries, series_from: 0, created_at: at, purge_at: 4_000_000_000 },
    ...more,
  };
  await deliveries.put(delivery, -1);
  return { ...apps, deliveries, delivery, task_id };
}

describe("GET /tasks/{task_id}/deliveries", () => {
  test("shows each try to those who see the task, and hides the task from others", async () => {
    const { status, task_id, delivery } = await setUp();
    const answer = await ask(status, `/tasks/${task_id}/deliveries`, { as: sam });
    expect(answer.json).toEqual({
      state: "failed",
      next_try_at: null,
      deliveries: [
        { webhook_id: delivery.id, number: 1, at, status: null, error: delivery.tries[0]?.error, duration_ms: 10_000 },
        { webhook_id: delivery.id, number: 2, at, status: 500, error: null, duration_ms: 12 },
      ],
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    for (const as of [sue, gina]) {
      expect(await ask(status, `/tasks/${task_id}/deliveries`, { as })).toMatchObject(problem(404, "not_found"));
    }
  });

  test("of a task without a webhook is empty", async () => {
    const apps = served();
    const { task_id } = await apps.accepted();
    const { json } = await ask(apps.status, `/tasks/${task_id}/deliveries`);
    expect(json).toEqual({ state: null, next_try_at: null, deliveries: [] });
  });
});

describe("GET /deliveries", () => {
  test("lists the tenant's webhooks that were given up, for operators", async () => {
    const { status, task_id, delivery } = await setUp();
    const { json } = await ask(status, "/deliveries?status=failed");
    expect(json).toEqual({
      deliveries: [
        {
          ...{ task_id, webhook_id: delivery.id, type: delivery.type, url: delivery.url, status: "failed", tries: 2 },
          ...{ last_try_at: at, last_status: 500, last_error: null },
        },
      ],
      next_cursor: null,
    });
    expect((await ask(status, "/deliveries?status=failed", { as: gina })).json.deliveries).toEqual([]);
    expect(await ask(status, "/deliveries?status=failed", { as: sam })).toMatchObject(problem(403, "forbidden"));
    expect(await ask(status, "/deliveries?status=pending")).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("POST /tasks/{task_id}/deliveries/redeliver", () => {
  test("starts a new series of tries of the same webhook", async () => {
    const { control, deliveries, delivery, task_id } = await setUp();
    const answer = await ask(control, `/tasks/${task_id}/deliveries/redeliver`, { json: {}, as: sam });
    expect(answer).toMatchObject({ status: 202, json: { task_id, webhook_id: delivery.id } });
    expect(await deliveries.get(delivery, delivery.id)).toMatchObject({ state: "pending", series_from: 2 });
  });

  test("refuses a task without a webhook, and a webhook with the most tries", async () => {
    const apps = served();
    const none = `/tasks/${(await apps.accepted()).task_id}/deliveries/redeliver`;
    expect(await ask(apps.control, none, { json: {} })).toMatchObject(problem(409, "conflict"));
    const tried = await setUp({ tries: Array.from({ length: 50 }, () => ({ at, duration_ms: 1 })) });
    const path = `/tasks/${tried.task_id}/deliveries/redeliver`;
    const answer = await ask(tried.control, path, { json: {} });
    expect(answer).toMatchObject(problem(409, "conflict"));
    expect(answer.json.detail).toContain("50 times");
  });

  test("refuses a webhook whose receiver is gone", async () => {
    const { control, deliveries, delivery, task_id } = await setUp({ receiver_id: "gone" });
    const answer = await ask(control, `/tasks/${task_id}/deliveries/redeliver`, { json: {} });
    expect(answer).toMatchObject({
      ...problem(409, "conflict"),
      json: { detail: "The webhook cannot be sent again: the receiver was deleted." },
    });
    expect(await deliveries.get(delivery, delivery.id)).toEqual(delivery);
  });
});
