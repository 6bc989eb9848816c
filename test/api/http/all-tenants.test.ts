import { describe, expect, test } from "vitest";
import { pauseName } from "../../../src/core/model/wait-queue.ts";
import type { Delivery } from "../../../src/core/ports/webhooks.ts";
import { MemoryDeliveries } from "../../../src/memory/deliveries.ts";
import { MemoryFlowSettings } from "../../../src/memory/flow-settings.ts";
import { MemoryReceivers } from "../../../src/memory/receivers.ts";
import { MemoryTenants } from "../../../src/memory/schedules.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { ada, appsOf, ask, gina, olga, problem, sam } from "../../support/served.ts";

const acme = { tenantId: "acme", principal: "olga", role: "operator" } as const;
const globex = { tenantId: "globex", principal: "gina", role: "operator" } as const;

type As = typeof ada;

/** A deployment of three tenants, of which one has nothing. */
async function served() {
  const pipeline = operationsPipeline();
  const tenants = new MemoryTenants();
  for (const id of ["acme", "globex", "hooli"]) await tenants.note(id);
  const deliveries = new MemoryDeliveries();
  const flowSettings = new MemoryFlowSettings();
  const receivers = new MemoryReceivers();
  const apps = appsOf({ ...pipeline.ports, tenants, deliveries, flowSettings, receivers });
  const get = (path: string, as: As = ada) => ask(apps.status, path, { as });
  const post = (path: string, json: unknown = {}, as: As = ada) => ask(apps.control, path, { json, as });
  return { ...pipeline, ...apps, deliveries, flowSettings, receivers, get, post };
}

interface Listed {
  task_id: string;
  tenant_id: string;
}

const tenantsOf = (json: Record<string, unknown>, name: string) => (json[name] as Listed[]).map((one) => one.tenant_id);

async function everyPage(get: (path: string) => ReturnType<typeof ask>, path: string, name: string) {
  const all: Listed[] = [];
  let cursor = "";
  for (let pages = 0; pages < 50; pages++) {
    const { json } = await get(`${path}${cursor}`);
    all.push(...(json[name] as Listed[]));
    if (json.next_cursor === null) return all;
    cursor = `&cursor=${json.next_cursor}`;
  }
  throw new Error("the list has no end");
}

describe("tenant=* in lists", () => {
  test("an admin sees the tasks of all tenants, newest first, with their tenants", async () => {
    const app = await served();
    const records = [];
    for (const identity of [acme, globex, acme, globex]) {
      records.push(await app.accept({ type: "order.ship", input: { n: 1 } }, { identity }));
      await app.clock.advance(1);
    }
    const { status, json } = await app.get("/tasks?tenant=*");
    expect(status).toBe(200);
    expect(tenantsOf(json, "tasks")).toEqual(["globex", "acme", "globex", "acme"]);
    const paged = await everyPage(app.get, "/tasks?tenant=*&limit=1", "tasks");
    expect(paged.map(({ task_id }) => task_id)).toEqual(records.map(({ task_id }) => task_id).reverse());
    expect((await app.get("/tasks?tenant=acme")).json.tasks).not.toHaveProperty("0.tenant_id");
    expect(await app.get("/tasks?tenant=*&type=mail.send")).toMatchObject({ json: { tasks: [], next_cursor: null } });
  });

  test("a search finds tasks of all tenants", async () => {
    const app = await served();
    for (const identity of [acme, globex])
      await app.accept({ type: "order.ship", input: { n: 1 }, tags: { order: "4711" } }, { identity });
    const found = await everyPage(app.get, "/tasks?tenant=*&q=order%3D4711", "tasks");
    expect(found.map(({ tenant_id }) => tenant_id).sort()).toEqual(["acme", "globex"]);
  });

  test("dead letters and their groups have all tenants", async () => {
    const app = await served();
    await app.deadLetter(2);
    await app.deadLetter(3, { identity: globex });
    expect(tenantsOf((await app.get("/dead-letters?tenant=*")).json, "dead_letters")).toEqual([
      ...["globex", "globex", "globex", "acme", "acme"],
    ]);
    expect(await everyPage(app.get, "/dead-letters?tenant=*&limit=2", "dead_letters")).toHaveLength(5);
    expect((await app.get("/dead-letters/groups?tenant=*")).json).toMatchObject({
      groups: [{ type: "order.ship", count: 5, by_tenant: { acme: 2, globex: 3 } }],
      complete: true,
    });
    expect((await app.get("/dead-letters/groups")).json).toMatchObject({ groups: [{ count: 2 }] });
  });

  test("webhooks that were given up and schedules have all tenants", async () => {
    const app = await served();
    for (const [at, tenant_id] of ["acme", "globex"].entries()) {
      const task_id = `0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b1${at}`;
      const delivery: Partial<Delivery> = {
        tenant_id,
        task_id,
        id: `wh-${at}`,
        type: "task.failed",
        url: "https://example.com",
      };
      const created_at = "2027-01-01T00:00:00.000Z";
      await app.deliveries.put({ ...delivery, state: "failed", tries: [], created_at } as unknown as Delivery, -1);
    }
    const { json } = await app.get("/deliveries?status=failed&tenant=*");
    expect(tenantsOf(json, "deliveries").sort()).toEqual(["acme", "globex"]);
    const task = { type: "order.ship", input: { n: 1 } };
    for (const as of [olga, gina])
      expect(await app.post("/schedules", { name: "daily", cron: "0 2 * * *", task }, as)).toMatchObject({
        status: 201,
      });
    expect(tenantsOf((await app.get("/schedules?tenant=*")).json, "schedules")).toEqual(["acme", "globex"]);
    expect(await everyPage(app.get, "/schedules?tenant=*&limit=1", "schedules")).toHaveLength(2);
  });

  test("receivers of webhooks have all tenants, each tenant's oldest first", async () => {
    const app = await served();
    const common = { url: "https://a.example/", events: [], types: null, description: null, enabled: true };
    const made = {
      secret_version: 1,
      rotated_at: [],
      revision: 1,
      created_by: "olga",
      updated_at: "2027-01-01T00:00:00.000Z",
    };
    const ids = ["2", "1", "3"].map((digit) => `0f4e7a52-3c1d-4b5e-8a6f-11223344556${digit}`);
    for (const [index, tenant_id] of ["globex", "acme", "acme"].entries()) {
      const own = { tenant_id, webhook_id: ids[index] ?? "", created_at: `2027-01-01T00:00:0${3 - index}.000Z` };
      await app.receivers.put({ ...common, ...made, ...own }, 0);
    }
    const paged = await everyPage(app.get, "/webhooks?tenant=*&limit=1", "webhooks");
    expect(paged).toMatchObject([
      { tenant_id: "acme", webhook_id: ids[2] },
      { tenant_id: "acme", webhook_id: ids[1] },
      { tenant_id: "globex", webhook_id: ids[0] },
    ]);
    expect((await app.get("/webhooks?tenant=*")).json).toMatchObject({ webhooks: [{}, {}, {}], next_cursor: null });
    expect((await app.get("/webhooks?tenant=acme")).json.webhooks).not.toHaveProperty("0.tenant_id");
  });

  test("the types say for which tenants they are stopped", async () => {
    const app = await served();
    const name = pauseName({ scope: "type", type: "order.ship", tenantId: "globex" });
    await app.flowSettings.put({ kind: "pause", name, since: "2027-01-01T00:00:00.000Z", by: "gina" });
    const { json } = await ask(app.control, "/types?tenant=*", { as: ada });
    const [shipping, mail] = json.types as { stopped_tenants: unknown[] }[];
    expect(shipping?.stopped_tenants).toEqual([
      { tenant_id: "globex", paused_since: expect.any(String), breaker_open_until: null, breaker_open_since: null },
    ]);
    expect(mail?.stopped_tenants).toEqual([]);
  });

  test.for(["/tasks", "/dead-letters", "/dead-letters/groups", "/deliveries?status=failed", "/schedules", "/webhooks"])(
    "%s refuses all tenants to everybody but admins",
    async (path) => {
      const app = await served();
      for (const as of [olga, sam]) {
        const all = `${path}${path.includes("?") ? "&" : "?"}tenant=*`;
        expect(await app.get(all, as)).toMatchObject(problem(403, "forbidden"));
      }
    },
  );

  test("a cursor for all tenants is good for nobody else", async () => {
    const app = await served();
    for (const identity of [acme, globex]) await app.accept({ type: "order.ship", input: { n: 1 } }, { identity });
    const { next_cursor } = (await app.get("/tasks?tenant=*&limit=1")).json;
    for (const as of [ada, olga])
      expect(await app.get(`/tasks?limit=1&cursor=${next_cursor}`, as)).toMatchObject(
        problem(400, "malformed_request"),
      );
  });

  test("what concerns one tenant takes no star", async () => {
    const app = await served();
    for (const path of ["/tasks/0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b10?tenant=*", "/keys?tenant=*"])
      expect(await app.get(path)).toMatchObject(problem(422, "invalid_input"));
    const body = { type: "order.ship", input: { n: 1 } };
    expect(await ask(app.submit, "/tasks?tenant=*", { json: body, as: ada })).toMatchObject(
      problem(422, "invalid_input"),
    );
  });
});

describe("tenant=* in operations", () => {
  test("a dry run counts by tenant, and the operation acts on all of them", async () => {
    const app = await served();
    const letters = [...(await app.deadLetter(2)), ...(await app.deadLetter(3, { identity: globex }))];
    app.broken.mended = true;
    const filter = { type: "order.ship" };
    expect((await app.post("/dead-letters/replay?tenant=*", { filter, dry_run: true })).json).toEqual({
      ...{ matched: 5, by_tenant: { acme: 2, globex: 3 } },
    });
    const { status, json } = await app.post("/dead-letters/replay?tenant=*", { filter });
    expect({ status, json }).toEqual({ status: 202, json: { operation_id: expect.any(String), matched: 5 } });
    await app.run();
    await app.run("normal");
    for (const path of [`/operations/${json.operation_id}`, `/operations/${json.operation_id}?tenant=*`])
      expect((await app.get(path)).json).toMatchObject({ status: "completed", matched: 5, done: 5, failed: 0 });
    for (const letter of letters) expect(await app.recordOf(letter)).toMatchObject({ status: "completed" });
    expect(app.deadLettered()).toEqual([]);
  });

  test("no operator sees, follows or cancels it", async () => {
    const app = await served();
    await app.deadLetter(1);
    const { operation_id } = (await app.post("/dead-letters/discard?tenant=*", { filter: {} })).json;
    expect(await app.get(`/operations/${operation_id}`, olga)).toMatchObject(problem(404, "not_found"));
    expect(await app.post(`/operations/${operation_id}/cancel`, {}, olga)).toMatchObject(problem(404, "not_found"));
    expect((await app.get("/tasks", olga)).json.tasks).toHaveLength(1);
    expect(await app.post(`/operations/${operation_id}/cancel`)).toMatchObject({ json: { status: "cancelled" } });
  });

  test.for([
    ["cancel", { retrying: false }],
    ["retry", {}],
    ["run-now", {}],
  ] as const)("POST /tasks/%s", async ([action, filter]) => {
    const app = await served();
    for (const identity of [acme, globex])
      await app.accept({ type: "order.ship", input: { n: 1 }, delay_seconds: 3_600 }, { identity });
    const expected =
      action === "retry" ? { matched: 0, by_tenant: {} } : { matched: 2, by_tenant: { acme: 1, globex: 1 } };
    expect((await app.post(`/tasks/${action}?tenant=*`, { filter, dry_run: true })).json).toEqual(expected);
  });

  test("ids are looked for in all tenants", async () => {
    const app = await served();
    const [mine] = await app.deadLetter(1);
    const [theirs] = await app.deadLetter(1, { identity: globex });
    const task_ids = [mine?.task_id, theirs?.task_id, "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b10"];
    const { json } = await app.post("/dead-letters/discard?tenant=*", { task_ids });
    expect(json.matched).toBe(2);
    await app.run();
    expect((await app.get(`/operations/${json.operation_id}`)).json).toMatchObject({ done: 2, skipped: 1 });
  });

  test("an operator may not act on all", async () => {
    const app = await served();
    expect(await app.post("/dead-letters/replay?tenant=*", { filter: {} }, olga)).toMatchObject(
      problem(403, "forbidden"),
    );
  });
});

test("GET /tenants counts what each has", async () => {
  const app = await served();
  await app.deadLetter(2);
  await app.accept({ type: "order.ship", input: { n: 1 } }, { identity: globex });
  const none = { paused_since: null, open: 0, retrying: 0, dead_letters: 0, complete: true };
  expect((await app.get("/tenants")).json).toEqual({
    tenants: [
      { ...none, tenant_id: "acme", dead_letters: 2 },
      { ...none, tenant_id: "globex", open: 1 },
      { ...none, tenant_id: "hooli" },
    ],
    next_cursor: null,
  });
  expect(await app.get("/tenants?tenant=*")).toMatchObject({ status: 200 });
});
