import { describe, expect, test, vi } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { bearerToken, identityOf, parseApiKey } from "../../../src/core/model/keys.ts";
import { iso } from "../../../src/core/model/record.ts";
import { MemoryAuditLog } from "../../../src/memory/audit.ts";
import { MemoryKeys } from "../../../src/memory/keys.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, ada, appsOf, ask, caller, olga, problem, sam } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

type Fields = Record<string, unknown>;

/** The apps with stores that a test can look into. Requests are an admin's of acme. */
function setUp() {
  const [keys, audit] = [new MemoryKeys(), new MemoryAuditLog()];
  const { ports, clock, notices } = memoryPipeline([echo]);
  const { status, control } = appsOf({ ...ports, keys, audit });
  const create = (json: unknown, more: Ask = {}, query = "") =>
    ask(control, `/keys${query}`, { as: ada, json, ...more });
  const revoke = (keyId: string, more: Ask = {}, query = "") =>
    ask(control, `/keys/${keyId}${query}`, { method: "DELETE", as: ada, ...more });
  const list = async (query = "", more: Ask = {}) =>
    (await ask(status, `/keys${query}`, { as: ada, ...more })).json.keys as Fields[];
  const entries = async (tenantId = "acme") => (await audit.list({ tenantId, limit: 100 })).items;
  return { keys, audit, clock, notices, status, control, create, revoke, list, entries };
}

/** A new key, as its creator gets it. */
type Made = {
  key: string;
  key_id: string;
};

describe("a new key", () => {
  test("has the tenant and role of the request, and works", async () => {
    const { keys, clock, create } = setUp();
    const answer = await create({ role: "operator", label: "night shift" });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { key, key_id } = answer.json as Made;
    expect(answer.json).toEqual({
      ...{ key, key_id, tenant_id: "acme", role: "operator", inputs: false, label: "night shift" },
      ...{ created_at: iso(clock.now()), last_used_at: null, expires_at: null, revoked_at: null },
    });
    const { keyId = "", secret = "" } = parseApiKey(bearerToken(`Bearer ${key}`) ?? "") ?? {};
    const stored = await keys.find(keyId);
    expect(stored && identityOf(stored, secret, iso(clock.now()))).toEqual({
      ...{ tenantId: "acme", principal: key_id, role: "operator" },
    });
  });

  test("of a viewer may read inputs and logs where it says so, and no other key has that permission", async () => {
    const { keys, clock, create, list } = setUp();
    const made = (await create({ role: "viewer", inputs: true })).json as Made;
    const plain = (await create({ role: "viewer", inputs: false })).json as Made;
    expect(await list()).toMatchObject([
      { key_id: made.key_id, role: "viewer", inputs: true },
      { key_id: plain.key_id, role: "viewer", inputs: false },
    ]);
    const stored = await keys.find(made.key_id);
    const { secret = "" } = parseApiKey(made.key) ?? {};
    expect(stored && identityOf(stored, secret, iso(clock.now()))).toMatchObject({ role: "viewer", inputs: true });
    for (const role of ["submitter", "operator", "admin"]) {
      const refused = await create({ role, inputs: true });
      expect(refused).toMatchObject(problem(422, "invalid_input"));
      expect(refused.json.errors).toMatchObject([{ path: "/inputs" }]);
    }
  });

  test("is shown once: no list and no audit entry has its secret", async () => {
    const { create, list, entries } = setUp();
    const { key, key_id } = (await create({ role: "submitter" })).json as Made;
    const secret = parseApiKey(key)?.secret ?? "";
    expect(secret).toHaveLength(43);
    expect(await list()).toMatchObject([{ key_id, role: "submitter" }]);
    expect(JSON.stringify(await list())).not.toMatch(/secret|hash/);
    expect(JSON.stringify([await list(), await entries()])).not.toContain(secret);
  });

  test("may expire, in the future only", async () => {
    const { clock, create, list } = setUp();
    for (const expires_at of [iso(clock.now()), "2020-01-01"]) {
      const answer = await create({ role: "operator", expires_at });
      expect(answer).toMatchObject(problem(422, "invalid_input"));
      expect(answer.json.errors).toMatchObject([{ path: "/expires_at" }]);
    }
    expect(await list()).toEqual([]);
    const expires_at = iso(clock.now() + 1_000);
    expect((await create({ role: "operator", expires_at })).json).toMatchObject({ expires_at });
  });

  test.each([
    {},
    { role: "root" },
    { role: "operator", label: "a\nb" },
    { role: "operator", label: "x".repeat(101) },
    { role: "operator", tenant_id: "globex" },
  ])("is not made by a wrong body: %j", async (json) => {
    const { create, list } = setUp();
    expect(await create(json)).toMatchObject(problem(422, "invalid_input"));
    expect(await list()).toEqual([]);
  });

  test("is another one each time", async () => {
    const { create, list } = setUp();
    const made = [await create({ role: "operator" }), await create({ role: "operator" })];
    expect(new Set(made.map(({ json }) => json.key)).size).toBe(2);
    expect(await list()).toHaveLength(2);
  });
});

describe("a revoked key", () => {
  test("opens nothing, and stays in the list; a second time changes nothing", async () => {
    const { keys, clock, create, revoke, list } = setUp();
    const { key, key_id } = (await create({ role: "operator" })).json as Made;
    const revoked_at = iso(clock.now());
    expect(await revoke(key_id)).toMatchObject({ status: 200, json: { key_id, revoked_at } });
    await clock.advance(60_000);
    expect(await revoke(key_id)).toMatchObject({ status: 200, json: { key_id, revoked_at } });
    expect(await list()).toMatchObject([{ key_id, revoked_at }]);
    const stored = await keys.find(key_id);
    expect(stored && identityOf(stored, parseApiKey(key)?.secret ?? "", revoked_at)).toBeUndefined();
  });

  test("has its connections closed at once, and again within the minute in which it stops working", async () => {
    const { notices, clock, create, revoke } = setUp();
    const { key_id } = (await create({ role: "operator" })).json as Made;
    await revoke(key_id);
    const notice = { kind: "key_revoked", tenant_id: "acme", key_id };
    expect(notices.take()).toEqual([notice]);
    await clock.advance(29_000);
    expect(notices.take()).toEqual([]);
    await clock.advance(1_000);
    expect(notices.take()).toEqual([notice]);
  });

  test("is revoked although its connections cannot be closed now; the request is repeated for them", async () => {
    const { keys, notices, create, revoke } = setUp();
    const { key_id } = (await create({ role: "operator" })).json as Made;
    const send = vi.spyOn(notices, "send").mockRejectedValueOnce(new PortUnavailable("the notify queue"));
    expect((await revoke(key_id)).status).toBe(503);
    expect((await keys.find(key_id))?.revoked_at).toBeDefined();
    expect((await revoke(key_id)).status).toBe(200);
    expect(send).toHaveBeenCalledTimes(3);
  });

  test("cannot be the one of the request", async () => {
    const { keys, create, revoke } = setUp();
    const { key_id } = (await create({ role: "admin" })).json as Made;
    expect(await revoke(key_id, { as: caller("acme", key_id, "admin") })).toMatchObject(problem(409, "conflict"));
    expect((await keys.find(key_id))?.revoked_at).toBeUndefined();
  });

  test.each(["abcdefgh23456789", "x", "a%2Fb", "%2e%2e"])("must exist: %s", async (keyId) => {
    expect(await setUp().revoke(keyId)).toMatchObject(problem(404, "not_found"));
  });
});

describe("keys of tenants", () => {
  test("never meet; an admin may name a tenant", async () => {
    const { keys, create, revoke, list } = setUp();
    const { key_id } = (await create({ role: "operator" }, {}, "?tenant=globex")).json as Made;
    expect(await list()).toEqual([]);
    expect(await list("?tenant=globex")).toMatchObject([{ key_id, tenant_id: "globex" }]);
    expect(await revoke(key_id)).toMatchObject(problem(404, "not_found"));
    expect((await keys.find(key_id))?.revoked_at).toBeUndefined();
    expect((await revoke(key_id, {}, "?tenant=globex")).status).toBe(200);
  });

  test.each([
    [401, "unauthenticated", {}],
    [403, "forbidden", sam],
    [403, "forbidden", olga],
  ])("are for admins only: %i", async (status, code, as) => {
    const apps = setUp();
    const answers = [
      await ask(apps.status, "/keys", { as }),
      await apps.create({ role: "admin" }, { as }),
      await apps.revoke("abcdefgh23456789", { as }),
    ];
    for (const answer of answers) expect(answer).toMatchObject(problem(status, code));
    expect(await apps.list()).toEqual([]);
  });
});

describe("the audit of keys", () => {
  test("says which key was made and revoked, and its role", async () => {
    const { clock, create, revoke, entries } = setUp();
    const { key_id } = (await create({ role: "submitter", label: "shop" })).json as Made;
    await clock.advance(1);
    await revoke(key_id);
    const target = { key_id, role: "submitter" };
    expect(await entries()).toMatchObject([
      { action: "revokeKey", actor: "ada", target, status: 200 },
      { action: "createKey", actor: "ada", target, status: 201, request: { role: "submitter", label: "shop" } },
    ]);
  });

  test("names a key before it is made: without that, none is", async () => {
    const { audit, create, revoke, list, entries } = setUp();
    const { key_id } = (await create({ role: "operator" })).json as Made;
    const add = audit.add.bind(audit);
    vi.spyOn(audit, "add").mockImplementation((entry) =>
      entry.target.role === undefined ? add(entry) : Promise.reject(new PortUnavailable("the table")),
    );
    expect(await create({ role: "operator" })).toMatchObject(problem(503, "unavailable"));
    expect(await revoke(key_id)).toMatchObject(problem(503, "unavailable"));
    expect(await list()).toMatchObject([{ key_id, revoked_at: null }]);
    expect((await entries()).map(({ status }) => status).sort()).toEqual([201, 503, 503]);
  });

  test("says nothing about the key of another tenant", async () => {
    const { create, revoke, entries } = setUp();
    const { key_id } = (await create({ role: "operator" }, {}, "?tenant=globex")).json as Made;
    await revoke(key_id);
    expect(await entries()).toMatchObject([{ action: "revokeKey", target: { key_id }, status: 404 }]);
    expect((await entries())[0]?.target).not.toHaveProperty("role");
  });

  test("has no secret of a key that stands where none belongs", async () => {
    const { clock, create, revoke, entries } = setUp();
    const token = `ofl_abcdefgh23456789_${"x".repeat(43)}`;
    expect(await revoke(token)).toMatchObject(problem(404, "not_found"));
    await clock.advance(1);
    expect(await create({ role: token, nested: [{ [token]: token }] })).toMatchObject(problem(422, "invalid_input"));
    const cut = "ofl_abcdefgh23456789_…";
    expect(await entries()).toMatchObject([
      { action: "createKey", status: 422, request: { role: cut, nested: [{ [cut]: cut }] } },
      { action: "revokeKey", status: 404, target: { key_id: cut } },
    ]);
    expect(JSON.stringify(await entries())).not.toContain("xx");
  });
});
