import { describe, expect, test } from "vitest";
import { noLimits } from "../../../src/core/limits/limits.ts";
import { MemoryKeys } from "../../../src/memory/keys.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryTenants } from "../../../src/memory/schedules.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, ada, appsOf, ask, olga, problem, sam } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

function setUp(configured = {}) {
  const [limits, tenants] = [new MemoryLimits(), new MemoryTenants()];
  const { ports } = memoryPipeline([echo]);
  const configuredLimits = { ...noLimits, ...configured };
  const { status, control } = appsOf({ ...ports, keys: new MemoryKeys(), limits, tenants, configuredLimits });
  const read = (tenantId: string, more: Ask = {}) => ask(control, `/tenants/${tenantId}/limits`, { as: ada, ...more });
  const change = (tenantId: string, json: unknown, more: Ask = {}) =>
    read(tenantId, { method: "PATCH", json, ...more });
  return { limits, tenants, status, control, read, change };
}

const strangers = [
  [401, "unauthenticated", {}],
  [403, "forbidden", sam],
  [403, "forbidden", olga],
] as const;

describe("the list of tenants", () => {
  test("is read page by page, each tenant once", async () => {
    const { status, tenants } = setUp();
    const ids = ["acme", "globex", "hooli", "initech", "umbrella"];
    for (const id of ids) await tenants.note(id);
    const found: unknown[] = [];
    let cursor = "";
    for (let pages = 0; pages < 3; pages++) {
      const { json } = await ask(status, `/tenants?limit=2${cursor}`, { as: ada });
      found.push(...(json.tenants as { tenant_id: string }[]).map(({ tenant_id }) => tenant_id));
      cursor = `&cursor=${json.next_cursor}`;
      if (json.next_cursor === null) break;
    }
    expect(found).toEqual(ids);
    expect(cursor).toBe("&cursor=null");
  });

  test("says since when a tenant is paused", async () => {
    const { status, tenants } = setUp();
    await tenants.note("acme");
    const answer = await ask(status, "/tenants", { as: ada });
    const counts = { open: 0, retrying: 0, dead_letters: 0, complete: true };
    expect(answer.json).toEqual({
      tenants: [{ tenant_id: "acme", paused_since: null, ...counts }],
      next_cursor: null,
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("takes no cursor of another tenant's admin or of another list", async () => {
    const { status, tenants } = setUp();
    for (const id of ["acme", "globex"]) await tenants.note(id);
    const { json } = await ask(status, "/tenants?limit=1", { as: ada });
    const other = { as: { ...ada, tenant_id: "globex" } };
    for (const [path, more] of [["/tenants", other] as const, ["/audit", { as: ada }] as const])
      expect(await ask(status, `${path}?cursor=${json.next_cursor}`, more)).toMatchObject(
        problem(400, "malformed_request"),
      );
    expect(await ask(status, "/tenants?limit=0", { as: ada })).toMatchObject(problem(422, "invalid_input"));
  });

  test.each(strangers)("is for admins only: %i", async (code, name, as) => {
    expect(await ask(setUp().status, "/tenants", { as })).toMatchObject(problem(code, name));
  });
});

describe("the limits of a tenant", () => {
  test("are changed one by one: a number, null for none, unset for the default", async () => {
    const { change, read } = setUp({ default: { tasks_in_progress: 100 } });
    expect((await read("acme")).json).toEqual({
      ...{ tenant_id: "acme", limits: {} },
      in_force: {
        submits_per_second: null,
        burst: null,
        tasks_in_progress: 100,
        request_bytes: null,
        schedules: 100,
        open_upload_bytes: 107374182400,
      },
    });
    await change("acme", { tasks_in_progress: 5, submits_per_second: 2.5 });
    expect((await change("acme", { request_bytes: 1_000 })).json).toMatchObject({
      limits: { tasks_in_progress: 5, submits_per_second: 2.5, request_bytes: 1_000 },
    });
    expect((await change("acme", { tasks_in_progress: null })).json).toMatchObject({
      ...{ limits: { tasks_in_progress: null }, in_force: { tasks_in_progress: null } },
    });
    const last = await change("acme", { tasks_in_progress: "unset", submits_per_second: "unset" });
    expect(last.json).toEqual({
      ...{ tenant_id: "acme", limits: { request_bytes: 1_000 } },
      in_force: {
        submits_per_second: null,
        burst: null,
        tasks_in_progress: 100,
        request_bytes: 1_000,
        schedules: 100,
        open_upload_bytes: 107374182400,
      },
    });
    expect((await read("acme")).json).toEqual(last.json);
    expect((await read("globex")).json).toMatchObject({ tenant_id: "globex", limits: {} });
  });

  test("are all kept when two change at the same time", async () => {
    const { change, read } = setUp();
    await Promise.all([change("acme", { burst: 1 }), change("acme", { request_bytes: 2 })]);
    expect((await read("acme")).json).toMatchObject({ limits: { burst: 1, request_bytes: 2 } });
  });

  test("come before those of the deployment", async () => {
    const { change, read, limits } = setUp({ default: { burst: 1 }, tenants: { acme: { request_bytes: 2 } } });
    await limits.setDefault({ tasks_in_progress: 3, request_bytes: 3 });
    expect((await read("acme")).json.in_force).toMatchObject({ tasks_in_progress: 3, request_bytes: 2 });
    await change("acme", { request_bytes: 4 });
    expect((await read("acme")).json.in_force).toMatchObject({ tasks_in_progress: 3, request_bytes: 4 });
  });

  test.each([{}, { burst: 0 }, { burst: 1.5 }, { burst: "some" }, { request_bytes: 9e9 }, { depth: 1 }])(
    "are not changed by a wrong body: %j",
    async (json) => {
      const { change, limits } = setUp();
      expect(await change("acme", json)).toMatchObject(problem(422, "invalid_input"));
      expect(await limits.ofTenant("acme")).toBeUndefined();
    },
  );

  test("are those of a possible tenant", async () => {
    const { read, change } = setUp();
    for (const id of ["a%23b", "x".repeat(65)]) {
      expect(await read(id)).toMatchObject(problem(404, "not_found"));
      expect(await change(id, { burst: 1 })).toMatchObject(problem(404, "not_found"));
    }
  });

  test.each(strangers)("are for admins only: %i", async (code, name, as) => {
    const { read, change, limits } = setUp();
    expect(await read("acme", { as })).toMatchObject(problem(code, name));
    expect(await change("acme", { burst: 1 }, { as })).toMatchObject(problem(code, name));
    expect(await limits.ofTenant("acme")).toBeUndefined();
  });
});
