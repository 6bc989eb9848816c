import { describe, expect, test } from "vitest";
import { createGate } from "../../../src/core/limits/gate.ts";
import { noLimits } from "../../../src/core/limits/limits.ts";
import type { Delivery } from "../../../src/core/ports/webhooks.ts";
import { MemoryDeliveries } from "../../../src/memory/deliveries.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryReceivers } from "../../../src/memory/receivers.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { appsOf, ask, gina, olga, problem, sam, served } from "../../support/served.ts";

const url = "https://shop.example.com/hooks?key=1";

/** The apps, with time that passes while the first receiver is created. */
function setUp() {
  const apps = served();
  const { control, clock } = apps;
  const create = async (json: object = { url }, more: object = {}) => {
    let done = false;
    const asking = ask(control, "/webhooks", { json, ...more }).finally(() => {
      done = true;
    });
    while (!done) await clock.advance(500);
    return asking;
  };
  const created = async (json: object = { url }) => {
    const answer = await create(json);
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.json as { webhook_id: string; secret: string };
  };
  return { ...apps, create, created };
}

describe("POST /webhooks", () => {
  test("creates a receiver of all ends of all types, with a secret that only this answer has", async () => {
    const { create, status } = setUp();
    const { json, headers, ...answer } = await create();
    expect(answer.status).toBe(201);
    const { secret, ...shown } = json;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toEqual({
      webhook_id: expect.any(String),
      url,
      events: ["task.completed", "task.failed", "task.cancelled", "task.expired"],
      types: null,
      description: null,
      enabled: true,
      health: "healthy",
      failing_since: null,
      disabled_at: null,
      created_by: "olga",
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(headers.get("location")).toBe(`/webhooks/${shown.webhook_id}`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect((await ask(status, `/webhooks/${shown.webhook_id}`)).json).toEqual(shown);
    expect((await ask(status, "/webhooks")).json).toEqual({ webhooks: [shown], next_cursor: null });
  });

  test("refuses addresses that are not public, and bodies that are none of a receiver", async () => {
    const { create } = setUp();
    for (const json of [{ url: "https://127.0.0.1/" }, { url: "http://example.com/" }, { url, hue: 1 }, {}]) {
      expect(await create(json)).toMatchObject(problem(422, "invalid_input"));
    }
    expect(await create({ url }, { as: sam })).toMatchObject(problem(403, "forbidden"));
  });
});

describe("a receiver", () => {
  test("is changed field by field, and deleted", async () => {
    const { created, control, status } = setUp();
    const { webhook_id } = await created();
    const change = (json: object) => ask(control, `/webhooks/${webhook_id}`, { method: "PATCH", json });
    expect((await change({ enabled: false, events: ["task.failed"] })).json).toMatchObject({
      ...{ url, enabled: false, events: ["task.failed"], health: "healthy" },
    });
    expect(await change({})).toMatchObject(problem(422, "invalid_input"));
    expect(await change({ url: "https://localhost/" })).toMatchObject(problem(422, "invalid_input"));
    expect((await ask(control, `/webhooks/${webhook_id}`, { method: "DELETE" })).status).toBe(204);
    expect(await ask(status, `/webhooks/${webhook_id}`)).toMatchObject(problem(404, "not_found"));
    expect(await change({ enabled: true })).toMatchObject(problem(404, "not_found"));
  });

  test("a receiver with another URL begins without failures; the same URL, or a disabled receiver, keeps them", async () => {
    const { created, control, ports } = setUp();
    const { webhook_id } = await created();
    const change = async (json: object) => {
      const answer = await ask(control, `/webhooks/${webhook_id}`, { method: "PATCH", json });
      return [answer.json.health, answer.json.failing_since];
    };
    const fail = async (more: object) => {
      const receiver = await ports.receivers.get({ tenant_id: "acme", webhook_id });
      if (receiver === undefined) throw new Error("there is no receiver");
      await ports.receivers.put({ ...receiver, ...more, revision: receiver.revision + 1 }, receiver.revision);
    };
    const failing_since = "2026-12-30T00:00:00.000Z";
    await fail({ failing_since, warned_at: failing_since });
    expect(await change({ url })).toEqual(["failing", failing_since]);
    expect(await change({ url: `${url}/other` })).toEqual(["healthy", null]);
    await fail({ failing_since, enabled: false, disabled_at: failing_since });
    expect(await change({ url })).toEqual(["disabled", failing_since]);
  });

  test("does not exist for another tenant", async () => {
    const { created, control, status } = setUp();
    const path = `/webhooks/${(await created()).webhook_id}`;
    const gone = problem(404, "not_found");
    for (const each of [path, `${path}/deliveries`]) expect(await ask(status, each, { as: gina })).toMatchObject(gone);
    for (const [method, each, json] of [
      ["PATCH", path, { enabled: false }],
      ["DELETE", path, undefined],
      ["POST", `${path}/test`, {}],
      ["POST", `${path}/secret/rotate`, {}],
      ["POST", `${path}/replay`, {}],
    ] as const) {
      expect(await ask(control, each, { method, json, as: gina })).toMatchObject(gone);
    }
    expect((await ask(status, "/webhooks", { as: gina })).json).toEqual({ webhooks: [], next_cursor: null });
    expect(await ask(status, "/webhooks/no-uuid")).toMatchObject(gone);
  });

  test("gets a new secret, beside which the earlier one signs", async () => {
    const { created, control } = setUp();
    const { webhook_id, secret } = await created();
    const rotated = await ask(control, `/webhooks/${webhook_id}/secret/rotate`, { json: {} });
    expect(rotated.json).toEqual({ webhook_id, secret: expect.stringMatching(/^whsec_/), also_signing: 1 });
    expect(rotated.json.secret).not.toBe(secret);
  });

  test("is tested, and its log has the test; what is disabled is not tested", async () => {
    const { created, control, status } = setUp();
    const { webhook_id } = await created();
    const tested = await ask(control, `/webhooks/${webhook_id}/test`, { json: {} });
    expect(tested).toMatchObject({ status: 202, json: { webhook_id, delivery_id: expect.stringMatching(/^msg_/) } });
    const list = (query = "") => ask(status, `/webhooks/${webhook_id}/deliveries${query}`);
    const { json } = await list();
    expect(json).toMatchObject({
      deliveries: [{ delivery_id: tested.json.delivery_id, task_id: null, event: "webhook.test", status: "pending" }],
      next_cursor: null,
    });
    expect((await list("?status=failed")).json).toEqual({ deliveries: [], next_cursor: null });
    await ask(control, `/webhooks/${webhook_id}`, { method: "PATCH", json: { enabled: false } });
    const refused = await ask(control, `/webhooks/${webhook_id}/test`, { json: {} });
    expect(refused).toMatchObject(problem(409, "conflict"));
  });

  test("gets again what was given up, in an operation", async () => {
    const { created, control, status, ports } = setUp();
    const { webhook_id } = await created();
    expect(ports.clock.now()).toBeGreaterThan(0);
    const path = `/webhooks/${webhook_id}/replay`;
    expect((await ask(control, path, { json: { dry_run: true } })).json).toEqual({ matched: 0 });
    const started = await ask(control, path, { json: { after: "2020-01-01", per_second: 10 } });
    expect(started).toMatchObject({ status: 202, json: { operation_id: expect.any(String), matched: 0 } });
    expect((await ask(status, `/operations/${started.json.operation_id}`)).json).toMatchObject({ matched: 0 });
    expect(await ask(control, path, { json: { after: "soon" } })).toMatchObject(problem(422, "invalid_input"));
    expect(await ask(control, path, { json: { status: "pending" } })).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("requests that send webhooks", () => {
  /** The apps of a tenant that may submit once a second, with a receiver and a task that has a webhook. */
  async function limited() {
    const { ports, accepted } = served();
    const { clock, log, records, queues: depths } = ports;
    const stores = { clock, log, records, depths, usage: new MemoryUsage(), limits: new MemoryLimits() };
    const { countRequest } = createGate(stores, { ...noLimits, tenants: { acme: { submits_per_second: 1 } } });
    const [receivers, deliveries] = [new MemoryReceivers(), new MemoryDeliveries()];
    const { control } = appsOf({ ...ports, countRequest, receivers, deliveries });
    const at = new Date(clock.now()).toISOString();
    const webhook_id = "0190a0b0-0000-7000-8000-000000000001";
    const receiver = {
      ...{ tenant_id: "acme", webhook_id, url, events: ["task.failed" as const], types: null, description: null },
      ...{ enabled: true, secret_version: 1, rotated_at: [], revision: 1 },
      ...{ created_by: "olga", created_at: at, updated_at: at },
    };
    await receivers.put(receiver, 0);
    const { task_id } = await accepted();
    const delivery: Delivery = {
      ...{ tenant_id: "acme", task_id, id: "msg_1", type: "test.task", url, body: "{}" },
      ...{ state: "failed", tries: [], series_from: 0, created_at: at, purge_at: 2_000_000_000 },
    };
    await deliveries.put(delivery, -1);
    const post = (path: string, more: object = {}) => ask(control, path, { json: {}, ...more });
    return { post, clock, webhook_id, paths: pathsOf(webhook_id, task_id) };
  }

  const pathsOf = (webhookId: string, taskId: string) => ({
    test: `/webhooks/${webhookId}/test`,
    replay: `/webhooks/${webhookId}/replay`,
    redelivery: `/tasks/${taskId}/deliveries/redeliver`,
  });

  test.each(["test", "replay", "redelivery"] as const)(
    "a %s counts toward the tenant's rate of submits",
    async (what) => {
      const { post, clock, paths } = await limited();
      expect((await post(paths[what], { as: olga })).status).toBe(202);
      for (const path of Object.values(paths)) {
        const refused = await post(path, { as: olga });
        expect(refused).toMatchObject(problem(429, "rate_limited"));
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      }
      await clock.advance(10_000);
      expect((await post(paths[what], { as: olga })).status).toBe(202);
    },
  );

  test("what sends nothing does not count: a dry run, another tenant's receiver", async () => {
    const { post, paths } = await limited();
    for (const _ of [1, 2]) expect((await post(paths.replay, { json: { dry_run: true } })).status).toBe(200);
    expect((await post(paths.test, { as: gina })).status).toBe(404);
    expect((await post(paths.test)).status).toBe(202);
  });
});
