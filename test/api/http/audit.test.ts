import { describe, expect, test, vi } from "vitest";
import { routes } from "../../../src/api/http/routes.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { MemoryAuditLog } from "../../../src/memory/audit.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { type Ask, appsOf, ask, problem, served } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

const as = (tenant_id: string, principal: string, role: string): Ask => ({ as: { tenant_id, principal, role } });
const admin = as("platform", "root", "admin");

type Entry = Record<string, unknown>;
type Served = Pick<ReturnType<typeof served>, "status">;

const entries = async ({ status }: Served, query = "", more: Ask = {}): Promise<Entry[]> => {
  const answer = await ask(status, `/audit${query}`, more);
  expect(answer.status).toBe(200);
  return answer.json.entries as Entry[];
};

describe("an act of an operator", () => {
  test("has an entry with its actor, its target and its answer", async () => {
    const apps = served();
    const { task_id } = await apps.accepted({ delay_seconds: 60 });
    const headers = { "x-correlation-id": "night-shift-1" };
    await ask(apps.control, `/tasks/${task_id}/cancel`, { method: "POST", headers });
    expect(await entries(apps)).toEqual([
      {
        ...{ audit_id: expect.any(String), at: new Date(apps.clock.now()).toISOString() },
        ...{ actor: "olga", role: "operator", action: "cancelTask", target: { task_id } },
        ...{ status: 200, request: null, correlation_id: "night-shift-1" },
      },
    ]);
  });

  test("that is refused has one, too", async () => {
    const apps = served();
    const { task_id } = await apps.accepted();
    await ask(apps.control, `/tasks/${task_id}/retry`, { method: "POST" });
    await apps.clock.advance(1);
    await ask(apps.control, "/tasks/none/cancel", { method: "POST" });
    await apps.clock.advance(1);
    await ask(apps.control, "/queues/low/pause", { method: "POST" });
    expect((await entries(apps)).map(({ action, status, target }) => [action, status, target])).toEqual([
      ["pauseQueue", 403, { tier: "low" }],
      ["cancelTask", 404, { task_id: "none" }],
      ["retryTask", 409, { task_id }],
    ]);
  });

  test("that reads the secret of webhooks has one, too", async () => {
    const apps = served();
    await ask(apps.control, "/webhooks/secret");
    expect(await entries(apps)).toMatchObject([{ actor: "olga", action: "readWebhookSecret", status: 200 }]);
  });

  test("has the request, but no input of a task", async () => {
    const apps = served();
    const filter = { type: "mail.send", error_kind: "unavailable" };
    await ask(apps.control, "/dead-letters/replay", { json: { filter, per_second: 5 } });
    await apps.clock.advance(1);
    const task = { type: echo.name, input: { value: "secret" } };
    await ask(apps.control, "/schedules", { json: { name: "daily", cron: "0 2 * * *", task } });
    const [schedule, replay] = await entries(apps);
    expect(replay).toMatchObject({ action: "replayDeadLetters", request: { filter, per_second: 5 } });
    expect(replay?.target).toMatchObject({ matched: "0", operation_id: expect.any(String) });
    expect(schedule).toMatchObject({ action: "createSchedule", request: null, status: 201 });
  });

  test.each(["no json", "[1]", `{"a":${"[".repeat(100)}${"]".repeat(100)}}`, `{"a":"${"x".repeat(9_000)}"}`])(
    "whose body cannot be kept has an entry without it: %.20s",
    async (raw) => {
      const apps = served();
      await ask(apps.control, "/dead-letters/discard", { raw, headers: { "content-type": "application/json" } });
      expect(await entries(apps)).toMatchObject([{ action: "discardDeadLetters", request: null }]);
    },
  );

  const recorded = routes
    .filter(({ functionName, method }) => functionName === "control" && method !== "GET")
    .filter(({ name }) => !["openChannel", "acknowledgeTask", "signalTask", "sendSignalByLink"].includes(name));

  test.each(recorded)("of every kind has an entry: $name", async ({ name: action, method, path }) => {
    const apps = served();
    const asked = ask(apps.control, path.replaceAll(/\{\w+\}/g, "x"), { method, ...admin });
    let answered = false;
    asked.finally(() => {
      answered = true;
    });
    // A pause waits until every worker knows it.
    for (let seconds = 0; !answered && seconds < 60; seconds++) await apps.clock.advance(1_000);
    const answer = await asked;
    const lists = ["", "?scope=deployment", "?tenant=x"].map((query) => entries(apps, query, admin));
    const found = (await Promise.all(lists)).flat();
    expect(found).toMatchObject([{ action, status: answer.status, actor: "root" }]);
  });

  test("is not done when its entry cannot be stored", async () => {
    const audit = new MemoryAuditLog();
    const pipeline = memoryPipeline([echo]);
    const apps = appsOf({ ...pipeline.ports, audit });
    const { task_id, tenant_id } = await pipeline.accept({ input: { value: 1 }, delay_seconds: 60 });
    vi.spyOn(audit, "add").mockRejectedValue(new PortUnavailable("the table"));
    const answer = await ask(apps.control, `/tasks/${task_id}/cancel`, { method: "POST" });
    expect(answer).toMatchObject(problem(503, "unavailable"));
    expect((await pipeline.recordOf({ tenant_id, task_id })).status).toBe("pending");
  });

  test("is answered although its answer cannot be stored; the entry says that nobody knows", async () => {
    const audit = new MemoryAuditLog();
    const pipeline = memoryPipeline([echo]);
    const apps = appsOf({ ...pipeline.ports, audit });
    const { task_id } = await pipeline.accept({ input: { value: 1 }, delay_seconds: 60 });
    vi.spyOn(audit, "answered").mockRejectedValue(new PortUnavailable("the table"));
    expect((await ask(apps.control, `/tasks/${task_id}/cancel`, { method: "POST" })).status).toBe(200);
    expect(await entries(apps)).toMatchObject([{ action: "cancelTask", status: null }]);
  });
});

describe("the audit", () => {
  test("has what concerns all tenants apart, for admins only", async () => {
    const apps = served();
    const types = (path: string, json: object, more: Ask) =>
      ask(apps.control, `/types/${echo.name}/${path}`, { json, ...more });
    await types("resume", { all: true }, admin);
    await apps.clock.advance(1);
    await types("resume", { all: true }, {});
    await ask(apps.control, "/queues/low/resume", { method: "POST", ...admin });
    const forAll = await entries(apps, "?scope=deployment", admin);
    expect(forAll.map(({ action, request }) => [action, request])).toEqual([
      ["resumeQueue", null],
      ["resumeType", { all: true }],
    ]);
    expect(await entries(apps)).toMatchObject([{ action: "resumeType", status: 403 }]);
    expect(await ask(apps.status, "/audit?scope=deployment")).toMatchObject(problem(403, "forbidden"));
  });

  test("is each tenant's own; an admin's act is in the tenant that it names", async () => {
    const apps = served();
    const { task_id } = await apps.accepted({ delay_seconds: 60 });
    await ask(apps.control, `/tasks/${task_id}/cancel?tenant=acme`, { method: "POST", ...admin });
    expect(await entries(apps)).toMatchObject([{ actor: "root", role: "admin", status: 200 }]);
    expect(await entries(apps, "", admin)).toEqual([]);
    expect(await entries(apps, "?tenant=acme", admin)).toHaveLength(1);
    expect(await entries(apps, "", as("globex", "olga", "operator"))).toEqual([]);
  });

  test("has an admin's pause of a tenant in that tenant", async () => {
    const apps = served();
    await ask(apps.control, "/tenants/acme/resume", { method: "POST", ...admin });
    expect(await entries(apps)).toMatchObject([
      { action: "resumeTenant", actor: "root", target: { tenant_id: "acme" } },
    ]);
    expect(await entries(apps, "", admin)).toEqual([]);
  });

  test("is read by operators, and has no acts of submitters on their own tasks", async () => {
    const apps = served();
    const submitter = as("acme", "ann", "submitter");
    const { task_id } = await apps.accepted({ delay_seconds: 60 }, submitter);
    expect((await ask(apps.control, `/tasks/${task_id}/cancel`, { method: "POST", ...submitter })).status).toBe(200);
    expect(await entries(apps)).toEqual([]);
    expect(await ask(apps.status, "/audit", submitter)).toMatchObject(problem(403, "forbidden"));
  });

  test("is listed in pages, by filters", async () => {
    const apps = served();
    const { task_id } = await apps.accepted({ delay_seconds: 60 });
    for (const priority of ["high", "low", "critical"]) {
      await ask(apps.control, `/tasks/${task_id}/priority`, { json: { priority } });
      await apps.clock.advance(1_000);
    }
    await ask(apps.control, `/tasks/${task_id}/cancel`, { method: "POST" });
    const first = await ask(apps.status, "/audit?limit=3&action=changeTaskPriority&actor=olga");
    expect((first.json.entries as Entry[]).map(({ request }) => request)).toEqual([
      { priority: "critical" },
      { priority: "low" },
      { priority: "high" },
    ]);
    const pages = await ask(apps.status, "/audit?limit=3");
    const rest = await ask(apps.status, `/audit?limit=3&cursor=${pages.json.next_cursor}`);
    expect([pages.json.entries, rest.json.entries]).toMatchObject([{ length: 3 }, { length: 1 }]);
    expect(rest.json.next_cursor).toBeNull();
    expect(await entries(apps, `?task_id=${task_id}`)).toHaveLength(4);
    expect(await entries(apps, "?task_id=other")).toEqual([]);
    expect(await entries(apps, "?before=2020-01-01")).toEqual([]);
    expect(await ask(apps.status, "/audit?after=soon")).toMatchObject(problem(422, "invalid_input"));
    expect(await ask(apps.status, `/audit?actor=root&cursor=${pages.json.next_cursor}`)).toMatchObject(
      problem(400, "malformed_request"),
    );
  });
});

test("a key in a path or in a body is stored without its secret", async () => {
  const apps = served();
  const key = `ofl_q7mzk2vxw4t9bnsd_${"s".repeat(43)}`;
  await ask(apps.control, `/keys/${key}`, { method: "DELETE", ...admin });
  await apps.clock.advance(1);
  await ask(apps.control, "/keys", { json: { role: "operator", label: key }, ...admin });
  const stored = JSON.stringify(await entries(apps, "", admin));
  expect(stored).toContain("ofl_q7mzk2vxw4t9bnsd_…");
  expect(stored).not.toContain("sssss");
});
