import { describe, expect, test } from "vitest";
import { problem, programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({ admin: () => import("../../../src/tools/cli/admin-commands.ts") });

const key = {
  ...{ key_id: "q7mzk2vxw4t9bnsd", tenant_id: "globex", role: "operator", label: "night \u001b[31mshift" },
  ...{ created_at: "2027-01-01T00:00:00.000Z", last_used_at: null, expires_at: null, revoked_at: null },
};

describe("admin tenants", () => {
  test("is a table, and says when there are more", async () => {
    const tenants = [
      { tenant_id: "acme", open: 3, retrying: 1, dead_letters: 0, complete: true, paused_since: null },
      {
        tenant_id: "globex",
        open: 1000,
        retrying: 0,
        dead_letters: 7,
        complete: false,
        paused_since: "2027-01-01T00:00:00.000Z",
      },
    ];
    await using api = await StubApi.start(() => ({ json: { tenants, next_cursor: "c" } }));
    const { code, out, notes } = await offload(api.url, ["admin", "tenants", "--limit", "2", "--utc"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^TENANT +OPEN .*\nacme +3 +1 +0 +-\nglobex +1000 or more +0 or more +7 or more +2027-01-01T00:00:00.000Z\n$/,
    );
    expect(notes).toContain("more than 2");
    expect(api.seen).toMatchObject([{ method: "GET", path: "/tenants", query: { limit: "2" } }]);
  });
});

describe("admin limits", () => {
  const limits = { tenant_id: "acme", limits: { burst: 40 }, in_force: { burst: 40, request_bytes: null } };

  test("shows what is in force, and who has set it", async () => {
    await using api = await StubApi.start(() => ({ json: limits }));
    const { out } = await offload(api.url, ["admin", "limits", "acme"]);
    expect(out).toMatch(/^burst +40 +the tenant$/m);
    expect(out).toMatch(/^request_bytes +none +the deployment$/m);
    expect(api.seen).toMatchObject([{ method: "GET", path: "/tenants/acme/limits" }]);
  });

  test("changes only the given ones", async () => {
    await using api = await StubApi.start(() => ({ json: limits }));
    const change = ["--burst", "40", "--tasks-in-progress", "none", "--request-bytes", "unset"];
    expect(await offload(api.url, ["admin", "limits", "acme", ...change])).toMatchObject({ code: 0 });
    const body = { burst: 40, tasks_in_progress: null, request_bytes: "unset" };
    expect(api.seen).toEqual([expect.objectContaining({ method: "PATCH", path: "/tenants/acme/limits", body })]);
    expect(await offload(api.url, ["admin", "limits", "acme", "--burst", "many"])).toMatchObject({ code: 2 });
    expect(api.seen).toHaveLength(1);
  });
});

describe("admin keys", () => {
  test("are a table without escapes of their labels", async () => {
    await using api = await StubApi.start(() => ({ json: { keys: [key] } }));
    const { code, out } = await offload(api.url, ["admin", "keys", "--tenant", "globex"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^q7mzk2vxw4t9bnsd +operator +night .*shift/m);
    expect(out).not.toContain("\u001b");
    expect(api.seen).toMatchObject([{ path: "/keys", query: { tenant: "globex" } }]);
  });

  test("a new key is the only output, for a pipe", async () => {
    await using api = await StubApi.start(() => ({ status: 201, json: { ...key, key: "ofl_secret" } }));
    const more = ["--role", "operator", "--label", "night shift", "--expires-at", "2028-01-01T00:00:00Z"];
    const { code, out, notes } = await offload(api.url, ["admin", "create-key", ...more]);
    expect({ code, out }).toEqual({ code: 0, out: "ofl_secret\n" });
    expect(notes).toContain("Key q7mzk2vxw4t9bnsd of tenant globex");
    const body = { role: "operator", label: "night shift", expires_at: "2028-01-01T00:00:00Z" };
    expect(api.seen).toEqual([expect.objectContaining({ method: "POST", path: "/keys", body })]);
  });

  test("a viewer's key may read inputs, and the table says so", async () => {
    const viewer = { ...key, role: "viewer", inputs: true };
    await using api = await StubApi.start((request) =>
      request.method === "POST"
        ? { status: 201, json: { ...viewer, key: "ofl_secret" } }
        : { json: { keys: [viewer] } },
    );
    expect((await offload(api.url, ["admin", "create-key", "--role", "viewer", "--inputs"])).out).toBe("ofl_secret\n");
    expect((await offload(api.url, ["admin", "keys"])).out).toMatch(/^q7mzk2vxw4t9bnsd +viewer, inputs /m);
    expect(api.seen[0]).toMatchObject({ path: "/keys", body: { role: "viewer", inputs: true } });
  });

  test("a key is revoked; a refusal is in the API's words", async () => {
    await using api = await StubApi.start((_, index) =>
      index === 0 ? { json: key } : problem(409, "conflict", "This is the key of the request itself."),
    );
    expect((await offload(api.url, ["admin", "revoke-key", key.key_id])).out).toContain("is revoked");
    const again = await offload(api.url, ["admin", "revoke-key", key.key_id]);
    expect(again.code).toBe(1);
    expect(again.notes).toContain("This is the key of the request itself.");
    expect(api.seen).toMatchObject([{ method: "DELETE", path: `/keys/${key.key_id}` }, { method: "DELETE" }]);
  });
});

describe("admin alarms", () => {
  test("are a table, or none", async () => {
    const alarm = { name: "age-high", state: "alarm", since: "2027-01-01T00:00:00.000Z", description: "Too old." };
    await using api = await StubApi.start((_, index) => ({ json: { alarms: index === 0 ? [alarm] : [] } }));
    expect((await offload(api.url, ["admin", "alarms", "--utc"])).out).toMatch(/^age-high +alarm +2027.* Too old\.$/m);
    expect((await offload(api.url, ["admin", "alarms"])).out).toBe("No alarms.\n");
  });
});
