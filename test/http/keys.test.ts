import { describe, expect, test } from "vitest";
import { ada, ask, olga, problem, sam, served } from "../support/served.ts";

const asAda = { as: ada };

describe("keys", () => {
  test("are for admins", async () => {
    const { status, control } = served();
    for (const as of [olga, sam]) {
      expect(await ask(status, "/keys", { as })).toMatchObject(problem(403, "forbidden"));
      expect(await ask(control, "/keys", { as, json: { role: "operator" } })).toMatchObject(problem(403, "forbidden"));
      expect(await ask(control, "/keys/abcdefgh", { as, method: "DELETE" })).toMatchObject(problem(403, "forbidden"));
    }
  });

  test("a key is shown once, listed without its secret, and revoked", async () => {
    const { status, control } = served();
    const made = await ask(control, "/keys", { ...asAda, json: { role: "operator", label: "night shift" } });
    expect(made).toMatchObject({ status: 201, json: { tenant_id: "acme", role: "operator", label: "night shift" } });
    expect(made.headers.get("cache-control")).toBe("no-store");
    const secret = String(made.json.key).split("_").slice(2).join("_");
    const listed = await ask(status, "/keys", asAda);
    expect(listed.text).toContain(String(made.json.key_id));
    expect(listed.text).not.toContain(secret);
    const path = `/keys/${made.json.key_id}`;
    const revoked = await ask(control, path, { ...asAda, method: "DELETE" });
    expect(revoked.json.revoked_at).toEqual(expect.any(String));
    expect((await ask(control, path, { ...asAda, method: "DELETE" })).json.revoked_at).toBe(revoked.json.revoked_at);
    expect((await ask(status, "/audit", asAda)).text).not.toContain(secret);
  });

  test("a key of another tenant does not exist, and nobody revokes the key of the request", async () => {
    const { control } = served();
    const { json } = await ask(control, "/keys?tenant=globex", { ...asAda, json: { role: "submitter" } });
    expect(json.tenant_id).toBe("globex");
    const path = `/keys/${json.key_id}`;
    expect(await ask(control, path, { ...asAda, method: "DELETE" })).toMatchObject(problem(404, "not_found"));
    expect((await ask(control, `${path}?tenant=globex`, { ...asAda, method: "DELETE" })).status).toBe(200);
    const own = await ask(control, "/keys/ada", { ...asAda, method: "DELETE" });
    expect(own).toMatchObject(problem(409, "conflict"));
  });

  test.each([
    { role: "root" },
    { role: "operator", expires_at: "2020-01-01T00:00:00Z" },
    { role: "admin", label: "a\nb" },
  ])("%j is refused", async (json) => {
    const { control } = served();
    expect(await ask(control, "/keys", { ...asAda, json })).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("tenants", () => {
  test("limits are merged, removed and unset, for admins", async () => {
    const { control } = served();
    const change = (json: object) => ask(control, "/tenants/globex/limits", { ...asAda, method: "PATCH", json });
    await change({ submits_per_second: 20, burst: 40 });
    expect((await change({ burst: null, tasks_in_progress: 5 })).json).toEqual({
      tenant_id: "globex",
      limits: { submits_per_second: 20, burst: null, tasks_in_progress: 5 },
      in_force: { submits_per_second: 20, burst: null, tasks_in_progress: 5, request_bytes: null },
    });
    expect((await change({ submits_per_second: "unset" })).json.limits).toEqual({ burst: null, tasks_in_progress: 5 });
    expect(await change({})).toMatchObject(problem(422, "invalid_input"));
    expect(await change({ burst: -1 })).toMatchObject(problem(422, "invalid_input"));
    const answer = await ask(control, "/tenants/globex/limits", { as: olga });
    expect(answer).toMatchObject(problem(403, "forbidden"));
  });

  test("are listed for admins", async () => {
    const { status } = served();
    expect(await ask(status, "/tenants", { as: olga })).toMatchObject(problem(403, "forbidden"));
    expect((await ask(status, "/tenants?limit=1", asAda)).json).toEqual({ tenants: [], next_cursor: null });
  });
});

test("GET /identity tells the caller, and the tenant that an admin names", async () => {
  const { status } = served();
  expect((await ask(status, "/identity", { as: sam })).json).toEqual({
    tenant_id: "acme",
    principal: "sam",
    role: "submitter",
  });
  expect((await ask(status, "/identity?tenant=globex", asAda)).json).toMatchObject({
    tenant_id: "globex",
    role: "admin",
  });
  expect(await ask(status, "/identity", { as: {} })).toMatchObject(problem(401, "unauthenticated"));
});

test("GET /metrics is for admins, and has its bounds", async () => {
  const { control } = served();
  expect(await ask(control, "/metrics", { as: olga })).toMatchObject(problem(403, "forbidden"));
  const { json } = await ask(control, "/metrics?hours=24", asAda);
  expect(json).toMatchObject({ period_seconds: 1_200, series: [] });
  expect(Date.parse(String(json.to)) - Date.parse(String(json.from))).toBe(24 * 3_600_000);
  for (const hours of ["0", "25", "x"]) {
    expect(await ask(control, `/metrics?hours=${hours}`, asAda)).toMatchObject(problem(422, "invalid_input"));
  }
  expect((await ask(control, "/alarms", asAda)).json).toEqual({ alarms: [] });
});
