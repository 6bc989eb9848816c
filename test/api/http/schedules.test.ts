import { describe, expect, test } from "vitest";
import type { Router } from "../../../src/api/http/router.ts";
import { type AppSchedule, defineSchedule } from "../../../src/core/schedules/app-schedule.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { type Ask, ada, appsOf, ask, gina, problem, sam } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

const body = { name: "daily-report", cron: "0 2 * * *", task: { type: "echo", input: { value: 1 } } };

/** Both functions over one pipeline, as the gateway calls them. */
function served(apps: readonly AppSchedule[] = []) {
  const pipeline = schedulesPipeline([echo], apps);
  const { status, control } = appsOf(pipeline.ports);
  const read = (path: string, more: Ask = {}) => ask(status, path, more);
  const write = (path: string, more: Ask = {}) => ask(control, path, { method: "POST", ...more });
  const created = async (more: object = {}, as?: Ask["as"]) => {
    const answer = await write("/schedules", { json: { ...body, ...more }, ...(as === undefined ? {} : { as }) });
    expect(answer.status).toBe(201);
    return String(answer.json.schedule_id);
  };
  return { ...pipeline, status, control, read, write, created };
}

/** Every route, with a body that it takes. */
const routes = (id: string): { path: string; ask: Ask; api: "status" | "control" }[] => [
  { path: "/schedules", ask: {}, api: "status" },
  { path: "/schedules/preview", ask: { json: { cron: "0 2 * * *" } }, api: "status" },
  { path: `/schedules/${id}`, ask: {}, api: "status" },
  { path: `/schedules/${id}/next`, ask: {}, api: "status" },
  { path: "/schedules", ask: { json: { ...body, name: "another" } }, api: "control" },
  { path: `/schedules/${id}`, ask: { method: "PATCH", json: { enabled: false } }, api: "control" },
  { path: `/schedules/${id}/pause`, ask: { method: "POST" }, api: "control" },
  { path: `/schedules/${id}/resume`, ask: { method: "POST" }, api: "control" },
  { path: `/schedules/${id}/run`, ask: { method: "POST" }, api: "control" },
  { path: "/schedules/~third", ask: { method: "PUT", json: { ...body, name: "third" } }, api: "control" },
  { path: `/schedules/${id}`, ask: { method: "DELETE" }, api: "control" },
];

describe("callers of schedules", () => {
  test("a request without a token gets 401, and a submitter gets 403", async () => {
    const { created, ...apis } = served();
    const id = await created();
    for (const { path, ask: asked, api } of routes(id)) {
      const call = (as: Ask["as"]) => ask(apis[api] as Router, path, { ...asked, ...(as === undefined ? {} : { as }) });
      expect(await call({})).toMatchObject(problem(401, "unauthenticated"));
      expect(await call(sam)).toMatchObject(problem(403, "forbidden"));
    }
  });

  test("another tenant's schedule looks like one that never existed", async () => {
    const { created, ...apis } = served();
    const id = await created();
    const never = "0f4f0b5e-6c4b-4d0c-9d0e-2f9a8f3f7c55";
    const own = routes(id).filter(({ path }) => path.includes(id));
    for (const { path, ask: asked, api } of own) {
      const foreign = await ask(apis[api] as Router, path, { ...asked, as: gina });
      const none = await ask(apis[api] as Router, path.replace(id, never), { ...asked, as: gina });
      expect(foreign).toMatchObject(problem(404, "not_found"));
      expect({ ...foreign.json, correlation_id: "" }).toEqual({ ...none.json, correlation_id: "" });
    }
    expect((await apis.read("/schedules", { as: gina })).json.schedules).toEqual([]);
    expect((await apis.read(`/schedules/${id}`)).status).toBe(200);
  });

  test("an admin works in any tenant", async () => {
    const { created, read, write } = served();
    const id = await created({}, gina);
    expect((await read(`/schedules/${id}?tenant=globex`, { as: ada })).status).toBe(200);
    expect((await write(`/schedules/${id}?tenant=globex`, { as: ada, method: "DELETE" })).status).toBe(204);
  });

  test.each(["nonsense", "0F4F0B5E-6C4B-4D0C-9D0E-2F9A8F3F7C55", "%00"])("the id %s is not found", async (id) => {
    const { read, write } = served();
    expect(await read(`/schedules/${id}`)).toMatchObject(problem(404, "not_found"));
    expect(await write(`/schedules/${id}`, { method: "DELETE" })).toMatchObject(problem(404, "not_found"));
  });
});

describe("PUT /schedules/~name", () => {
  const name = "report of/7 ä";
  const path = `/schedules/~${encodeURIComponent(name)}`;
  const { name: _, ...definition } = body;

  test("it is 201, then 200 with the whole body in place; the name finds it in every path", async () => {
    const { read, write } = served();
    const first = await write(path, { method: "PUT", json: { ...definition, overlap: "skip" } });
    expect(first).toMatchObject({ status: 201, json: { name, overlap: "skip", cron: body.cron } });
    expect(first.headers.get("location")).toBe(`/schedules/${first.json.schedule_id}`);
    const second = await write(path, { method: "PUT", json: { ...definition, name, cron: "5 * * * *" } });
    expect(second).toMatchObject({
      status: 200,
      json: { schedule_id: first.json.schedule_id, overlap: "allow", cron: "5 * * * *" },
    });
    expect((await read(path)).json).toEqual(second.json);
    expect((await write(`${path}/pause`)).json).toMatchObject({ enabled: false });
    expect((await write(`${path}/run`)).status).toBe(202);
    expect((await read(`${path}?tenant=globex`, { as: ada })).status).toBe(404);
    expect((await write(path, { method: "DELETE" })).status).toBe(204);
    expect(await read(path)).toMatchObject(problem(404, "not_found"));
  });

  test("another name in the body, a wrong name and a wrong body are refused", async () => {
    const { write } = served();
    const put = (at: string, json: object) => write(at, { method: "PUT", json });
    const refused = problem(422, "invalid_input");
    expect(await put(path, { ...definition, name: "other" })).toMatchObject(refused);
    expect(await put("/schedules/~", definition)).toMatchObject(refused);
    expect(await put(`/schedules/~${"n".repeat(129)}`, definition)).toMatchObject(refused);
    expect(await put(path, { task: definition.task })).toMatchObject(refused);
    expect(await put(path, { ...definition, colour: "red" })).toMatchObject(refused);
  });

  test("the conflict of a create names the schedule that has the name", async () => {
    const { created, write } = served();
    const schedule_id = await created();
    const refused = await write("/schedules", { json: { ...body, overlap: "skip" } });
    expect(refused).toMatchObject(problem(409, "conflict"));
    expect(refused.json.schedule_id).toBe(schedule_id);
  });
});

describe("POST /schedules", () => {
  test("a create is answered by 201 with Location and the schedule, then by 200 with the same", async () => {
    const { write, read } = served();
    const first = await write("/schedules", { json: body });
    expect(first.status).toBe(201);
    expect(first.headers.get("location")).toBe(`/schedules/${first.json.schedule_id}`);
    expect(first.json).toEqual({
      schedule_id: expect.any(String),
      ...body,
      source: "api",
      for_each_tenant: false,
      paused_since: null,
      paused_by: null,
      every_seconds: null,
      timezone: "UTC",
      enabled: true,
      starts_at: null,
      ends_at: null,
      overlap: "allow",
      alarm: false,
      next_run_at: "2027-01-01T02:00:00.000Z",
      last_run_at: null,
      last_task_id: null,
      skipped: 0,
      last_skipped_at: null,
      last_skip_reason: null,
      last_error: null,
      last_error_at: null,
      created_by: "olga",
      created_at: "2027-01-01T00:00:00.000Z",
      updated_at: "2027-01-01T00:00:00.000Z",
    });
    const second = await write("/schedules", { json: body });
    expect([second.status, second.json]).toEqual([200, first.json]);
    expect((await read(`/schedules/${first.json.schedule_id}`)).json).toEqual(first.json);
  });

  test("another body under the same name is answered by 409", async () => {
    const { write, created } = served();
    await created();
    expect(await write("/schedules", { json: { ...body, cron: "0 3 * * *" } })).toMatchObject(problem(409, "conflict"));
  });

  test("an invalid schedule is answered by 422 with the reason", async () => {
    const { write } = served();
    const answer = await write("/schedules", { json: { ...body, cron: "0 0 1 * MON" } });
    expect(answer).toMatchObject(problem(422, "invalid_input"));
    expect(answer.json.detail).toContain("cron: day-of-month and day-of-week are both restricted");
  });

  test("a name with half a character is refused: two such names would be one schedule", async () => {
    const { write, read } = served();
    for (const name of ["order-\ud800", "order-\udc00"]) {
      const refused = await write("/schedules", { json: { ...body, name } });
      expect(refused).toMatchObject(problem(422, "invalid_input"));
      expect(refused.json.errors).toMatchObject([
        { path: "/name", message: expect.stringContaining("half a character") },
      ]);
    }
    expect((await read("/schedules")).json.schedules).toEqual([]);
    expect((await write("/schedules", { json: { ...body, name: "order-😀" } })).status).toBe(201);
  });

  test("a create can be answered by 415, 400 and 503", async () => {
    const { write, rules, created, read } = served();
    expect(await write("/schedules", { raw: "{}" })).toMatchObject(problem(415, "unsupported_media_type"));
    const headers = { "content-type": "application/json" };
    expect(await write("/schedules", { raw: "[1]", headers })).toMatchObject(problem(400, "malformed_request"));
    rules.down = "after";
    const down = await write("/schedules", { json: body });
    expect(down).toMatchObject(problem(503, "unavailable"));
    expect(down.headers.get("retry-after")).toBe("5");
    expect((await read("/schedules")).json.schedules).toEqual([]);
    rules.down = "no";
    await created();
  });
});

describe("GET /schedules", () => {
  test("a page of schedules with large inputs ends before its answer is too large, and the rest follows", async () => {
    const { created, read } = served();
    const value = Array.from({ length: 7_400 }, () => '"a');
    const ids = new Set<string>();
    for (let count = 0; count < 100; count++)
      ids.add(await created({ name: `s-${count}`, task: { type: "echo", input: { value } } }));
    const found: string[] = [];
    let cursor: unknown;
    do {
      const { status, text, json } = await read(
        `/schedules?limit=100${cursor === undefined ? "" : `&cursor=${cursor}`}`,
      );
      expect(status).toBe(200);
      expect(Buffer.byteLength(JSON.stringify({ statusCode: 200, headers: {}, body: text }))).toBeLessThan(5_100_000);
      found.push(...(json.schedules as { schedule_id: string }[]).map(({ schedule_id }) => schedule_id));
      cursor = json.next_cursor;
    } while (cursor !== null);
    expect(found).toHaveLength(100);
    expect(new Set(found)).toEqual(ids);
  });

  test("the list has every schedule once, page by page, and its cursors are for this caller only", async () => {
    const { created, read } = served();
    const ids = new Set<string>();
    for (let n = 0; n < 7; n++) ids.add(await created({ name: `schedule-${n}` }));
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await read(`/schedules?limit=3${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`);
      expect(page.status).toBe(200);
      found.push(...(page.json.schedules as { schedule_id: string }[]).map(({ schedule_id }) => schedule_id));
      cursor = page.json.next_cursor as string | null;
      if (cursor !== null) {
        expect(await read(`/schedules?cursor=${encodeURIComponent(cursor)}`, { as: gina })).toMatchObject(
          problem(400, "malformed_request"),
        );
      }
    } while (cursor !== null);
    expect(found).toHaveLength(7);
    expect(new Set(found)).toEqual(ids);
  });

  test("a schedule that is being deleted is not shown", async () => {
    const { created, read, ports, stored } = served();
    const id = await created();
    const schedule = await stored({ tenant_id: "acme", schedule_id: id });
    await ports.schedules.replace({ ...schedule, state: "deleting" }, schedule.revision);
    expect((await read("/schedules")).json).toEqual({ schedules: [], next_cursor: null });
    expect(await read(`/schedules/${id}`)).toMatchObject(problem(404, "not_found"));
  });

  test.each([
    ["limit=0", 422, "invalid_input"],
    ["limit=101", 422, "invalid_input"],
    ["limit=x", 422, "invalid_input"],
    ["cursor=forged", 400, "malformed_request"],
  ])("?%s is refused", async (query, status, code) => {
    const { read } = served();
    expect(await read(`/schedules?${query}`)).toMatchObject(problem(status, code));
  });
});

describe("PATCH and DELETE", () => {
  test("a change is answered by 200 with the schedule, and a delete by 204", async () => {
    const { created, write, read } = served();
    const path = `/schedules/${await created()}`;
    const paused = await write(path, { method: "PATCH", json: { enabled: false } });
    expect([paused.status, paused.json]).toMatchObject([200, { enabled: false, next_run_at: null, cron: body.cron }]);
    expect((await read(`${path}/next`)).json).toEqual({ next: [] });
    const changed = await write(path, { method: "PATCH", json: { enabled: true, every_seconds: 3600 } });
    expect(changed.json).toMatchObject({ cron: null, every_seconds: 3600, next_run_at: "2027-01-01T01:00:00.000Z" });
    const gone = await write(path, { method: "DELETE" });
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect(await read(path)).toMatchObject(problem(404, "not_found"));
    expect(await write(path, { method: "DELETE" })).toMatchObject(problem(404, "not_found"));
  });

  test("a name cannot be changed", async () => {
    const { created, write } = served();
    const answer = await write(`/schedules/${await created()}`, { method: "PATCH", json: { name: "other" } });
    expect(answer).toMatchObject(problem(422, "invalid_input"));
  });

  test("other methods are answered by 405", async () => {
    const { created, write } = served();
    const answer = await write(`/schedules/${await created()}`, { method: "POST", json: body });
    expect(answer).toMatchObject(problem(405, "method_not_allowed"));
    expect(answer.headers.get("allow")).toBe("DELETE, GET, HEAD, PATCH, PUT");
  });
});

describe("POST /schedules/{id}/run", () => {
  test("a run is answered by 202 with a task of the schedule, in the caller's name", async () => {
    const { created, write, recordOf, tasksOf } = served();
    const id = await created();
    const headers = { "idempotency-key": "once", "x-correlation-id": "corr-7" };
    const answer = await write(`/schedules/${id}/run`, { headers });
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({
      task_id: expect.any(String),
      status: "pending",
      poll_url: `/tasks/${answer.json.task_id}`,
      created_at: "2027-01-01T00:00:00.000Z",
    });
    const record = await recordOf({ tenant_id: "acme", task_id: String(answer.json.task_id) });
    expect(record).toMatchObject({ schedule_id: id, requested_by: "olga", correlation_id: "corr-7" });
    const again = await write(`/schedules/${id}/run`, { headers });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(tasksOf({ schedule_id: id })).toHaveLength(1);
  });

  test("a run accepts no body", async () => {
    const { created, write } = served();
    const answer = await write(`/schedules/${await created()}/run`, { json: { now: true } });
    expect(answer).toMatchObject(problem(422, "invalid_input"));
  });
});

describe("next and preview", () => {
  test("next returns the given number of times, five by default", async () => {
    const { created, read } = served();
    const id = await created({ cron: "0 0 29 2 *" });
    expect((await read(`/schedules/${id}/next`)).json.next).toHaveLength(5);
    expect((await read(`/schedules/${id}/next?count=1`)).json).toEqual({ next: ["2028-02-29T00:00:00.000Z"] });
    expect((await read(`/schedules/${id}/next?count=40`)).json.next).toHaveLength(40);
    for (const count of ["0", "101", "x", "", "-1", "1.5"]) {
      expect(await read(`/schedules/${id}/next?count=${count}`)).toMatchObject(problem(422, "invalid_input"));
    }
  });

  test("preview accepts a count in the query or the body, and a moment to start from", async () => {
    const { read } = served();
    const rule = { cron: "30 2 * * *", timezone: "Europe/Berlin", from: "2027-03-26T12:00:00Z" };
    const expected = ["2027-03-27T01:30:00.000Z", "2027-03-29T00:30:00.000Z", "2027-03-30T00:30:00.000Z"];
    expect((await read("/schedules/preview?count=3", { json: rule })).json).toEqual({ next: expected });
    expect((await read("/schedules/preview", { json: { ...rule, count: 3 } })).json).toEqual({ next: expected });
    expect((await read("/schedules/preview", { json: rule })).json.next).toHaveLength(5);
  });

  test("preview of a rate counts from the given moment, from a creation, or from its start", async () => {
    const { read } = served();
    const preview = async (more: object) =>
      (await read("/schedules/preview?count=2", { json: { every_seconds: 120, ...more } })).json.next;
    expect(await preview({})).toEqual(["2027-01-01T00:02:00.000Z", "2027-01-01T00:04:00.000Z"]);
    expect(await preview({ from: "2027-02-01T00:00:30Z" })).toEqual([
      "2027-02-01T00:02:00.000Z",
      "2027-02-01T00:04:00.000Z",
    ]);
    expect(await preview({ from: "2027-02-01T00:00:30Z", created_at: "2027-01-31T23:59:00Z" })).toEqual([
      "2027-02-01T00:01:00.000Z",
      "2027-02-01T00:03:00.000Z",
    ]);
    expect(await preview({ starts_at: "2027-03-01T00:00:00Z" })).toEqual([
      "2027-03-01T00:00:00.000Z",
      "2027-03-01T00:02:00.000Z",
    ]);
  });

  test("preview of a rule that is over is empty", async () => {
    const { read } = served();
    const json = { cron: "0 2 * * *", ends_at: "2026-01-01T00:00:00Z" };
    expect((await read("/schedules/preview", { json })).json).toEqual({ next: [] });
  });

  test.each([{ cron: "0 12 * * 5L" }, { cron: "@daily" }, { cron: "" }, {}, { cron: "* * * * *", every_seconds: 60 }])(
    "preview refuses %j with the reason",
    async (json) => {
      const { read } = served();
      const answer = await read("/schedules/preview", { json });
      expect(answer).toMatchObject(problem(422, "invalid_input"));
      expect(answer.json.detail).toContain("cron");
    },
  );

  test.each([{ name: "x" }, { count: 0 }, { from: "later" }, { timezone: "here" }])(
    "preview refuses %j",
    async (more) => {
      const { read } = served();
      const answer = await read("/schedules/preview", { json: { cron: "* * * * *", ...more } });
      expect(answer).toMatchObject(problem(422, "invalid_input"));
    },
  );
});

describe("schedules of the code", () => {
  const common = { cron: "0 3 * * *", type: echo, input: { value: "all" } } as const;
  const forEach = defineSchedule({ ...common, name: "clean-up", forEachTenant: true });
  const forAcme = defineSchedule({ ...common, name: "acme-only", tenantId: "acme" });
  const forOther = defineSchedule({ ...common, name: "other-only", tenantId: "globex" });
  const apps = [forEach, forAcme, forOther];
  const namesIn = ({ json }: { json: Record<string, unknown> }) =>
    (json.schedules as { name: string }[]).map(({ name }) => name).sort();

  test("a tenant's list has its own and those for each tenant, before those of clients, on pages of any size", async () => {
    const { created, read } = served(apps);
    for (let index = 0; index < 3; index++) await created({ name: `daily-${index}` });
    const all = ["acme-only", "clean-up", "daily-0", "daily-1", "daily-2"];
    for (const limit of [1, 2, 3, 5, 100]) {
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await read(`/schedules?limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`);
        expect(page.status).toBe(200);
        expect((page.json.schedules as unknown[]).length).toBeLessThanOrEqual(limit);
        names.push(...namesIn(page));
        cursor = (page.json.next_cursor as string | null) ?? undefined;
      } while (cursor !== undefined);
      expect(names.toSorted()).toEqual(all);
      expect(names.slice(0, 2).toSorted()).toEqual(all.slice(0, 2));
    }
    expect(namesIn(await read("/schedules", { as: gina }))).toEqual(["clean-up", "other-only"]);
  });

  test("one is shown with its source, its next times and its last task, to which the task's record leads", async () => {
    const { read, write, ports } = served(apps);
    const path = `/schedules/${forAcme.schedule_id}`;
    expect((await read(path)).json).toMatchObject({
      ...{ schedule_id: forAcme.schedule_id, name: "acme-only", source: "code", for_each_tenant: false, enabled: true },
      ...{ cron: "0 3 * * *", timezone: "UTC", next_run_at: "2027-01-01T03:00:00.000Z", last_run_at: null, skipped: 0 },
      ...{ created_by: "schedule:acme-only", created_at: null, task: { type: "echo", input: { value: "all" } } },
    });
    expect((await read(`${path}/next?count=2`)).json.next).toEqual([
      "2027-01-01T03:00:00.000Z",
      "2027-01-02T03:00:00.000Z",
    ]);
    const ran = await write(`${path}/run`);
    expect(ran.status).toBe(202);
    const record = ports.records.all().find(({ task_id }) => task_id === ran.json.task_id);
    expect(record).toMatchObject({ tenant_id: "acme", requested_by: "olga", schedule_id: forAcme.schedule_id });
    expect((await read(path)).json).toMatchObject({ last_task_id: ran.json.task_id, last_run_at: expect.any(String) });
    expect(await read(path, { as: gina })).toMatchObject(problem(404, "not_found"));
  });

  test("it is paused and resumed, and names who did so; its rule is changed in the code only", async () => {
    const { read, write } = served(apps);
    const path = `/schedules/${forEach.schedule_id}`;
    expect((await write(`${path}/pause`)).json).toMatchObject({
      ...{ enabled: false, paused_since: "2027-01-01T00:00:00.000Z", paused_by: "olga", next_run_at: null },
    });
    expect((await read(`${path}/next`)).json.next).toEqual([]);
    expect((await read(path, { as: gina })).json).toMatchObject({ enabled: true });
    expect((await write(`${path}/resume`)).json).toMatchObject({ enabled: true, paused_since: null, paused_by: null });
    const refused = problem(409, "defined_in_code");
    expect(await write(path, { method: "PATCH", json: { enabled: false } })).toMatchObject(refused);
    expect(await write(path, { method: "DELETE" })).toMatchObject(refused);
  });

  test("`~name` means the code's schedule, and no request makes another one of its name", async () => {
    const { read, write, created } = served(apps);
    const path = `/schedules/~${forEach.name}`;
    expect((await read(path)).json).toMatchObject({ schedule_id: forEach.schedule_id, source: "code" });
    expect((await read(`${path}/next?count=1`)).json.next).toEqual(["2027-01-01T03:00:00.000Z"]);
    expect((await write(`${path}/pause`)).json).toMatchObject({ schedule_id: forEach.schedule_id, enabled: false });
    expect((await write(`${path}/resume`)).json).toMatchObject({ enabled: true });
    expect((await write(`${path}/run`)).status).toBe(202);
    const { schedule_id } = forEach;
    const refused = { ...problem(409, "defined_in_code"), json: expect.objectContaining({ schedule_id }) };
    const rule = { cron: "0 2 * * *", task: { type: "echo", input: { value: "b" } } };
    expect(await write(path, { method: "PUT", json: rule })).toMatchObject(refused);
    expect(await write("/schedules", { json: { ...rule, name: forEach.name } })).toMatchObject(refused);
    expect(await write(path, { method: "PATCH", json: { enabled: false } })).toMatchObject(
      problem(409, "defined_in_code"),
    );
    expect(await write(path, { method: "DELETE" })).toMatchObject(problem(409, "defined_in_code"));
    // A schedule of another tenant's does not stand in the way, and is not seen.
    const own = await created({ name: forOther.name });
    expect((await read(`/schedules/~${forOther.name}`)).json).toMatchObject({ schedule_id: own, source: "api" });
    expect((await read(`/schedules/~${forOther.name}`, { as: gina })).json).toMatchObject({ source: "code" });
  });

  test("an admin sees all of them at once, and pauses one for all tenants", async () => {
    const { read, write } = served(apps);
    const list = await read("/schedules?tenant=*", { as: ada });
    expect(namesIn(list)).toEqual(["acme-only", "clean-up", "other-only"]);
    expect((list.json.schedules as { tenant_id: string }[]).map(({ tenant_id }) => tenant_id).sort()).toEqual(
      ["*", "acme", "globex"].sort(),
    );
    const path = `/schedules/${forEach.schedule_id}`;
    expect((await write(`${path}/pause?tenant=*`, { as: ada })).json).toMatchObject({ enabled: false });
    expect(await write(`${path}/pause?tenant=*`)).toMatchObject(problem(403, "forbidden"));
    expect((await read(path, { as: gina })).json).toMatchObject({ enabled: false, paused_by: "ada" });
    expect(await write(`${path}/resume`)).toMatchObject(problem(409, "conflict"));
    expect((await write(`${path}/resume?tenant=*`, { as: ada })).json).toMatchObject({ enabled: true });
  });

  test("a client's schedule is paused and resumed by the same routes", async () => {
    const { created, write } = served(apps);
    const path = `/schedules/${await created()}`;
    expect((await write(`${path}/pause`)).json).toMatchObject({ enabled: false, paused_by: "olga" });
    expect((await write(`${path}/resume`)).json).toMatchObject({ enabled: true, paused_by: null });
  });
});
