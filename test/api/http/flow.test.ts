import { describe, expect, test } from "vitest";
import { PortUnavailable, Unavailable } from "../../../src/core/model/errors.ts";
import { pauseName } from "../../../src/core/model/wait-queue.ts";
import { gate } from "../../support/gate.ts";
import { type Ask, ada, ask, caller, gina, olga, problem, sam, served } from "../../support/served.ts";
import { typeOf } from "../../support/task-types.ts";

const root = caller("globex", "root", "admin");

const keyed = typeOf(() => null, {
  name: "mail.send",
  concurrency: { key: (input: never) => String(input), limit: 3 },
  rateLimit: { limit: 100, perSeconds: 60, scope: "deployment" },
  breaker: { failures: 2, coolDownSeconds: 60 },
});
const strict = typeOf(() => null, {
  name: "ledger.post",
  concurrency: { key: (input: never) => String(input), limit: 1, order: "strict" },
});
const free = typeOf(() => null, { name: "report.daily" });

/** Waits for an answer that needs time to pass. */
async function answered<T>({ clock }: ReturnType<typeof served>, answering: Promise<T>): Promise<T> {
  let done = false;
  const end = answering.finally(() => {
    done = true;
  });
  end.catch(() => {});
  while (!done) await clock.advance(100);
  return end;
}

function setUp(types = [keyed, free]) {
  const app = served(types);
  const post = (path: string, more: Ask = {}) => answered(app, ask(app.control, path, { method: "POST", ...more }));
  const change = (type: string, json: unknown, as = ada) =>
    ask(app.control, `/types/${type}/limits`, { method: "PATCH", json, as });
  const types_ = async (as = olga, query = "") => (await ask(app.control, `/types${query}`, { as })).json;
  const type = async (name: string, as = olga) =>
    ((await types_(as)).types as Record<string, unknown>[]).find((one) => one.name === name) ?? {};
  return { ...app, post, change, type, list: types_ };
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

describe("POST /queues/{tier}/pause|resume", () => {
  test("pauses and resumes a tier, each as often as it is sent; GET /queues says since when", async () => {
    const { post, control } = setUp();
    const first = await post("/queues/low/pause", { as: ada });
    expect(first).toMatchObject({ status: 200, json: { tier: "low", paused: true, since: time } });
    expect(first.headers.get("cache-control")).toBe("no-store");
    expect((await post("/queues/low/pause", { as: root })).json).toEqual(first.json);
    const queues = async () => (await ask(control, "/queues", { as: ada })).json.queues;
    expect(await queues()).toMatchObject({
      low: { paused: true, paused_since: first.json.since },
      normal: { paused: false, paused_since: null },
    });
    for (const _ of [1, 2]) {
      expect((await post("/queues/low/resume", { as: ada })).json).toEqual({ tier: "low", paused: false, since: null });
    }
    expect(await queues()).toMatchObject({ low: { paused: false, paused_since: null } });
  });

  test("is for admins, and 404 for any other name", async () => {
    const { post } = setUp();
    expect(await post("/queues/low/pause")).toMatchObject(problem(403, "forbidden"));
    expect(await post("/queues/urgent/pause", { as: ada })).toMatchObject(problem(404, "not_found"));
    expect(await post("/queues/low/resume", { as: ada, json: { all: true } })).toMatchObject(
      problem(422, "invalid_input"),
    );
  });

  test("the answer to a pause comes when no worker starts another task, and running attempts finish", async () => {
    const open = gate();
    const app = setUp([typeOf(() => open.opened)]);
    const running = await app.accepted();
    const working = app.work();
    await app.clock.advance(0);
    expect((await app.post("/queues/normal/pause", { as: ada })).status).toBe(200);
    const waiting = await app.accepted();
    await app.work();
    open.open();
    await working;
    const statusOf = async ({ task_id }: { task_id: string }) => (await ask(app.status, `/tasks/${task_id}`)).json;
    expect(await statusOf(running)).toMatchObject({ status: "completed", waiting_for: null });
    expect(await statusOf(waiting)).toMatchObject({
      status: "pending",
      waiting_for: { kind: "pause", of: "tier", place: 1 },
    });
    await app.post("/queues/normal/resume", { as: ada });
    await app.drain();
    expect(await statusOf(waiting)).toMatchObject({ status: "completed" });
  });
});

describe("POST /types/{type}/pause|resume", () => {
  test("an operator pauses a type for its own tenant, and nobody else's view of it changes", async () => {
    const { post, type } = setUp();
    const answer = await post("/types/mail.send/pause");
    expect(answer).toMatchObject({ status: 200, json: { type: "mail.send", paused: { all: null, tenant: time } } });
    expect((await type("mail.send")).paused).toEqual(answer.json.paused);
    expect((await type("mail.send", gina)).paused).toBeNull();
    expect((await type("report.daily")).paused).toBeNull();
    expect((await post("/types/mail.send/resume", { as: gina })).json).toEqual({ type: "mail.send", paused: null });
    expect((await type("mail.send")).paused).toEqual(answer.json.paused);
    expect((await post("/types/mail.send/resume")).json).toEqual({ type: "mail.send", paused: null });
    expect((await type("mail.send")).paused).toBeNull();
  });

  test("a tenant's pause that the type made by itself says why; a resume for all ends it", async () => {
    const { flowSettings, post, type, list } = setUp();
    const name = pauseName({ scope: "type", type: "mail.send", tenantId: "acme" });
    const [since, reason] = ["2027-01-01T00:00:00.000Z", "20 attempts in a row failed"];
    await flowSettings.put({ kind: "pause", name, since, by: "offload", reason });
    expect((await type("mail.send")).paused).toEqual({ all: null, tenant: since, reason });
    const ofAll = (await list(ada, "?tenant=*")).types as { name: string; stopped_tenants: unknown }[];
    expect(ofAll.find((one) => one.name === "mail.send")?.stopped_tenants).toMatchObject([
      { tenant_id: "acme", paused_since: since, paused_reason: reason },
    ]);
    expect((await post("/types/mail.send/resume", { as: ada, json: { all: true } })).status).toBe(200);
    expect((await type("mail.send")).paused).toBeNull();
  });

  test("an admin pauses it for all tenants; the two pauses are independent", async () => {
    const { post, type } = setUp();
    await post("/types/mail.send/pause", { as: ada, json: { all: true } });
    expect((await type("mail.send", gina)).paused).toEqual({ all: time, tenant: null });
    const both = await post("/types/mail.send/pause", { as: gina });
    expect(both.json.paused).toEqual({ all: time, tenant: time });
    expect((await post("/types/mail.send/resume", { as: root, json: { all: true } })).json.paused).toEqual({
      all: null,
      tenant: time,
    });
    // Without `all`, an admin acts for a tenant: its own, or that of `?tenant=`.
    expect((await post("/types/mail.send/resume?tenant=globex", { as: ada })).json.paused).toBeNull();
  });

  test.each(["pause", "resume"])("%s for all tenants is forbidden to operators", async (what) => {
    const { post, type } = setUp();
    expect(await post(`/types/mail.send/${what}`, { json: { all: true } })).toMatchObject(problem(403, "forbidden"));
    expect((await type("mail.send")).paused).toBeNull();
    expect((await post(`/types/mail.send/${what}`, { json: { all: false } })).status).toBe(200);
  });

  test("is not for submitters, and 404 for unknown types and for Offload's own", async () => {
    const { post } = setUp();
    expect(await post("/types/mail.send/pause", { as: sam })).toMatchObject(problem(403, "forbidden"));
    for (const name of ["mail.sent", "offload.replay", "__proto__", "%2e%2e"]) {
      expect(await post(`/types/${name}/pause`, { as: ada })).toMatchObject(problem(404, "not_found"));
    }
  });

  test("a body of another form is refused with the expected one", async () => {
    const { post } = setUp();
    const unknown = await post("/types/mail.send/pause", { as: ada, json: { al: true } });
    expect(unknown).toMatchObject(problem(422, "invalid_input"));
    expect(unknown.json.detail).toContain("expected { all?: boolean }");
  });

  test("tasks of a paused type are accepted and wait, with their place in line", async () => {
    const app = setUp();
    await app.post("/types/report.daily/pause");
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      ids.push((await app.accepted({ type: "report.daily" })).task_id);
      await app.clock.advance(10);
    }
    await app.work();
    const places = async () =>
      Promise.all(ids.map(async (id) => (await ask(app.status, `/tasks/${id}`)).json.waiting_for));
    const of = (place: number) => ({ kind: "pause", of: "type", place });
    expect(await places()).toEqual([of(1), of(2), of(3)]);
    const listed = (await ask(app.status, "/tasks")).json.tasks as { waiting_for: unknown }[];
    expect(listed.map((task) => task.waiting_for)).toEqual(ids.map(() => ({ kind: "pause", of: "type" })));
    await ask(app.control, `/tasks/${ids[0]}/cancel`, { method: "POST" });
    await app.post("/types/report.daily/resume");
    await app.drain();
    const ends = await Promise.all(ids.map(async (id) => (await ask(app.status, `/tasks/${id}`)).json.status));
    expect(ends).toEqual(["cancelled", "completed", "completed"]);
  });
});

describe("POST /tenants/{tenant_id}/pause|resume", () => {
  test("an operator pauses its own tenant", async () => {
    const { post, list } = setUp();
    const answer = await post("/tenants/acme/pause");
    expect(answer).toMatchObject({ status: 200, json: { tenant_id: "acme", paused: true, since: time } });
    expect((await list()).tenant_paused_since).toBe(answer.json.since);
    expect((await list(gina)).tenant_paused_since).toBeNull();
    const after = { tenant_id: "acme", paused: false, since: null };
    expect((await post("/tenants/acme/resume")).json).toEqual(after);
    expect((await list()).tenant_paused_since).toBeNull();
  });

  test("an admin may pause any tenant; for an operator, another tenant is as one that cannot be", async () => {
    const { post } = setUp();
    expect((await post("/tenants/globex/pause", { as: ada })).json).toMatchObject({ paused: true });
    const foreign = await post("/tenants/globex/resume");
    const impossible = await post("/tenants/%24offload/resume", { as: ada });
    expect(foreign).toMatchObject(problem(404, "not_found"));
    expect(impossible).toMatchObject(problem(404, "not_found"));
    expect(impossible.json.detail).toBe(foreign.json.detail);
    expect(await post("/tenants/acme/pause", { as: sam })).toMatchObject(problem(403, "forbidden"));
    expect((await post("/tenants/globex/resume", { as: ada })).json).toMatchObject({ paused: false });
  });
});

describe("PATCH /types/{type}/limits", () => {
  const concurrency = { limit: 3, keyed: true, scope: "tenant" };
  const rate_limit = { limit: 100, per_seconds: 60, keyed: false, scope: "deployment" };

  test("a type in strict order has one place for each key, and no operator gives it another one", async () => {
    const { change, type } = setUp([strict]);
    const strictly = { limit: 1, keyed: true, scope: "tenant", order: "strict", on_dead_letter: "continue" };
    expect((await type("ledger.post")).concurrency).toEqual(strictly);
    expect(await change("ledger.post", { concurrency: 2 })).toMatchObject(problem(409, "conflict"));
    const changed = await change("ledger.post", { concurrency: null, rate: { limit: 1, per_seconds: 5 } });
    expect(changed.json).toMatchObject({ concurrency: strictly, rate_limit: { limit: 1, per_seconds: 5 } });
  });

  test("a rate replaces that of its time in a list, or else the shortest one", async () => {
    const longer = [{ limit: 2_000, perSeconds: 86_400 }];
    const { change, type } = setUp([
      typeOf(() => 1, { name: "mail.push", rateLimit: { limit: 3, perSeconds: 1, longer } }),
    ]);
    const of = { keyed: false, scope: "tenant" };
    const [second, day] = [
      { limit: 3, per_seconds: 1 },
      { limit: 2_000, per_seconds: 86_400 },
    ];
    expect((await type("mail.push")).rate_limit).toEqual({ ...second, ...of, longer: [day] });
    const raised = await change("mail.push", { rate: { limit: 9_000, per_seconds: 86_400 } });
    const nine = { limit: 9_000, per_seconds: 86_400, defined_limit: 2_000, defined_per_seconds: 86_400 };
    expect(raised.json.rate_limit).toEqual({ ...second, ...of, longer: [nine] });
    const slower = await change("mail.push", { rate: { limit: 1, per_seconds: 5 } });
    const one = { limit: 1, per_seconds: 5, defined_limit: 3, defined_per_seconds: 1 };
    expect(slower.json.rate_limit).toEqual({ ...one, ...of, longer: [day] });
  });

  test("a limit that is a function of the input is null, until an operator sets a number", async () => {
    const sized = typeOf(() => null, {
      name: "mail.send",
      concurrency: { key: (input: never) => String(input), limit: () => 3 },
    });
    const { change, type } = setUp([sized]);
    const byInput = { ...concurrency, limit: null };
    expect((await type("mail.send")).concurrency).toEqual(byInput);
    const set = await change("mail.send", { concurrency: 5 });
    expect(set.json.concurrency).toEqual({ ...concurrency, limit: 5, defined_limit: null });
    expect((await change("mail.send", { concurrency: null })).json.concurrency).toEqual(byInput);
  });

  test("a rate that is a function of the input is null, also in a list, until an operator sets a number", async () => {
    const key = (input: never) => String(input);
    const day = { key, limit: () => 2_000, perSeconds: 86_400 };
    const sized = typeOf(() => null, {
      name: "mail.push",
      rateLimit: { key, limit: () => 3, perSeconds: 1, longer: [day] },
    });
    const { change, type } = setUp([sized]);
    const of = { keyed: true, scope: "tenant" };
    const second = { limit: null, per_seconds: 1 };
    const ofDay = { limit: null, per_seconds: 86_400 };
    expect((await type("mail.push")).rate_limit).toEqual({ ...second, ...of, longer: [ofDay] });
    const raised = await change("mail.push", { rate: { limit: 9_000, per_seconds: 86_400 } });
    const nine = { limit: 9_000, per_seconds: 86_400, defined_limit: null, defined_per_seconds: 86_400 };
    expect(raised.json.rate_limit).toEqual({ ...second, ...of, longer: [nine] });
  });

  test("changes one limit or both, and null is the definition again", async () => {
    const { change, type } = setUp();
    expect(await type("mail.send")).toMatchObject({ concurrency, rate_limit });
    const five = { ...concurrency, limit: 5, defined_limit: 3 };
    const first = await change("mail.send", { concurrency: 5 });
    expect(first.json).toEqual({ type: "mail.send", concurrency: five, rate_limit });
    const slow = { ...rate_limit, limit: 1, per_seconds: 10, defined_limit: 100, defined_per_seconds: 60 };
    const second = await change("mail.send", { rate: { limit: 1, per_seconds: 10 } });
    expect(second.json).toEqual({ type: "mail.send", concurrency: five, rate_limit: slow });
    expect(await type("mail.send", gina)).toMatchObject({ concurrency: five, rate_limit: slow });
    const third = await change("mail.send", { concurrency: null, rate: null });
    expect(third.json).toEqual({ type: "mail.send", concurrency, rate_limit });
    expect((await type("mail.send")).concurrency).toEqual(concurrency);
  });

  test.each([
    [{}],
    [{ concurrency: 0 }],
    [{ concurrency: 10_001 }],
    [{ concurrency: 1.5 }],
    [{ concurrency: "5" }],
    [{ rate: { limit: 1 } }],
    [{ rate: { limit: 100_001, per_seconds: 1 } }],
    [{ rate: { limit: 1, per_seconds: 86_401 } }],
    [{ rate: { limit: 1, per_seconds: 1, burst: 1 } }],
    [{ concurrency: 1, breaker: null }],
  ])("%j is refused", async (body) => {
    const { change, type } = setUp();
    expect(await change("mail.send", body)).toMatchObject(problem(422, "invalid_input"));
    expect(await type("mail.send")).toMatchObject({ concurrency, rate_limit });
  });

  test("a type that is defined without limits gets some, which all its tasks share, and loses them again", async () => {
    const { change, type } = setUp();
    const changed = await change("report.daily", { concurrency: 2, rate: { limit: 1, per_seconds: 5 } });
    const set = {
      concurrency: { limit: 2, keyed: false, scope: "deployment", defined_limit: null },
      rate_limit: {
        ...{ limit: 1, per_seconds: 5, keyed: false, scope: "deployment" },
        ...{ defined_limit: null, defined_per_seconds: null },
      },
    };
    expect(changed).toMatchObject({ status: 200, json: { type: "report.daily", ...set } });
    expect(await type("report.daily")).toMatchObject(set);
    expect((await change("report.daily", { concurrency: null })).json).toMatchObject({ concurrency: null });
    expect((await change("report.daily", { rate: null })).json).toEqual({
      type: "report.daily",
      concurrency: null,
      rate_limit: null,
    });
  });

  test("is for admins, and 404 for unknown types", async () => {
    const { change } = setUp();
    expect(await change("mail.send", { concurrency: 5 }, olga)).toMatchObject(problem(403, "forbidden"));
    expect(await change("offload.sweep", { concurrency: 5 })).toMatchObject(problem(404, "not_found"));
  });
});

test("GET /types shows the breaker of the caller's tenant", async () => {
  const failing = typeOf(() => Promise.reject(new Unavailable("down")), { name: "mail.send", breaker: keyed.breaker });
  const app = setUp([failing, free]);
  const breaker = {
    failures: 2,
    cool_down_seconds: 60,
    state: "closed",
    failures_in_a_row: 0,
    open_until: null,
    open_since: null,
  };
  expect((await app.type("mail.send")).breaker).toEqual(breaker);
  expect((await app.type("report.daily")).breaker).toBeNull();
  for (let n = 0; n < 2; n++) await app.accepted({ type: "mail.send", input: n });
  await app.work();
  expect((await app.type("mail.send")).breaker).toEqual({
    ...breaker,
    state: "open",
    failures_in_a_row: 2,
    open_until: new Date(app.clock.now() + 60_000).toISOString(),
    open_since: new Date(app.clock.now()).toISOString(),
  });
  expect((await app.type("mail.send", gina)).breaker).toEqual(breaker);
  const close = (type: string, as = olga, query = "") =>
    ask(app.control, `/types/${type}/breaker/close${query}`, { json: {}, as });
  expect(await close("mail.send", sam)).toMatchObject(problem(403, "forbidden"));
  expect(await close("mail.sent")).toMatchObject(problem(404, "not_found"));
  expect(await close("report.daily")).toMatchObject(problem(409, "conflict"));
  expect((await close("mail.send", gina)).json).toEqual({ type: "mail.send", breaker });
  expect((await app.type("mail.send")).breaker).toMatchObject({ state: "open" });
  for (const answer of [await close("mail.send"), await close("mail.send")])
    expect(answer).toMatchObject({ status: 200, json: { type: "mail.send", breaker } });
  expect((await app.type("mail.send")).breaker).toEqual(breaker);
  for (let n = 0; n < 2; n++) await app.accepted({ type: "mail.send", input: n });
  await app.work();
  expect((await close("mail.send", ada, "?tenant=*")).json).toMatchObject({ breaker: { state: "closed" } });
  expect((await app.type("mail.send")).breaker).toEqual(breaker);
});

test("GET /types has the keys whose breakers are open; one of them, or all, are closed", async () => {
  const failing = typeOf(() => Promise.reject(new Unavailable("down")), {
    ...{ name: "mail.send", maxAttempts: 1 },
    breaker: { key: (input: never) => String(input), failures: 2, coolDownSeconds: 60 },
  });
  const app = setUp([failing, free]);
  const none = { failures: 2, cool_down_seconds: 60, keyed: true, state: "closed", failures_in_a_row: 0 };
  const closed = { ...none, open_until: null, open_since: null, open_keys: [] };
  expect((await app.type("mail.send")).breaker).toEqual(closed);
  const fail = async (key: string, times: number) => {
    for (let n = 0; n < times; n++) await app.accepted({ type: "mail.send", input: key });
    await app.work();
  };
  await fail("south/1", 2);
  const now = new Date(app.clock.now()).toISOString();
  const until = new Date(app.clock.now() + 60_000).toISOString();
  await fail("east", 1);
  await app.clock.advance(5_000);
  await fail("north", 2);
  await fail("south/1", 1);
  const south = { key: "south/1", failures_in_a_row: 2, open_until: until, open_since: now };
  const breaker = async (as = olga) => (await app.type("mail.send", as)).breaker;
  expect(await breaker()).toMatchObject({ state: "open", failures_in_a_row: 2, open_until: until, open_since: now });
  expect(await breaker()).toMatchObject({ open_keys: [{ key: "north" }, south] });
  expect(await breaker(gina)).toEqual(closed);
  expect(await app.type("mail.send")).toMatchObject({ waiting_since: time });
  const ofAll = (await app.list(ada, "?tenant=*")).types as { name: string; stopped_tenants: unknown }[];
  expect(ofAll.find(({ name }) => name === "mail.send")?.stopped_tenants).toEqual([
    { tenant_id: "acme", paused_since: null, breaker_open_until: until, breaker_open_since: now },
  ]);
  const close = (json: object, as = olga, query = "", type = "mail.send") =>
    ask(app.control, `/types/${type}/breaker/close${query}`, { json, as });
  expect(await close({ key: "north" }, sam)).toMatchObject(problem(403, "forbidden"));
  expect(await close({ key: "" })).toMatchObject(problem(422, "invalid_input"));
  expect(await close({ name: "north" })).toMatchObject(problem(422, "invalid_input"));
  expect(await close({ key: "north" }, olga, "", "report.daily")).toMatchObject(problem(409, "conflict"));
  expect((await close({ key: "north" })).json.breaker).toMatchObject({ state: "open", open_keys: [south] });
  expect((await close({ key: "north" }, gina)).json.breaker).toEqual(closed);
  expect((await close({}, ada, "?tenant=*")).status).toBe(200);
  expect(await breaker()).toEqual(closed);
});

test("the breaker of a type without a key is closed as a whole", async () => {
  const { control } = setUp();
  const json = { key: "north" };
  expect(await ask(control, "/types/mail.send/breaker/close", { json, as: olga })).toMatchObject(
    problem(409, "conflict"),
  );
});

describe("the place of a task in its line", () => {
  const waiting = async () => {
    const app = setUp();
    await app.post("/types/report.daily/pause");
    const { task_id } = await app.accepted({ type: "report.daily" });
    await app.work();
    return { app, path: `/tasks/${task_id}` };
  };

  test.each([
    [0, 1],
    [99, 100],
    [100, null],
  ])("after %j others is %j, and another ETag", async (before, place) => {
    const { app, path } = await waiting();
    const at = async (others: number) => {
      const orders = Array.from({ length: others }, (_, n) => `0${String(n).padStart(3, "0")}`);
      app.lines.orders = async (_line, limit, after = "") => orders.filter((order) => order > after).slice(0, limit);
      await app.clock.advance(60_000);
      return ask(app.status, path);
    };
    const answer = await at(before);
    expect(answer.json.waiting_for).toEqual({ kind: "pause", of: "type", place });
    expect((await at(7)).headers.get("etag")).not.toBe(answer.headers.get("etag"));
  });

  test("in strict order, an operator sees the task that has the turn, and a submitter does not", async () => {
    const fails = typeOf(() => Promise.reject(new Error("not yet")), {
      name: "ledger.post",
      concurrency: { key: () => "account", limit: 1, order: "strict" },
    });
    const app = setUp([fails]);
    const { task_id: first } = await app.accepted({ type: "ledger.post" }, { as: sam });
    await app.work();
    const { task_id } = await app.accepted({ type: "ledger.post" }, { as: sam });
    await app.work();
    const waitOf = async (as: typeof sam) => (await ask(app.status, `/tasks/${task_id}`, { as })).json.waiting_for;
    const turn = { kind: "concurrency", order: "strict", place: 1 };
    expect(await waitOf(olga)).toEqual({ ...turn, held_by: first });
    expect(await waitOf(sam)).toEqual(turn);
    app.lines.state = () => Promise.reject(new PortUnavailable("the table"));
    expect(await waitOf(olga)).toMatchObject({ held_by: null });
  });

  test("of a list of rates, comes with the rate that the next start waits for, and the time of it", async () => {
    const type = typeOf(() => 1, {
      name: "ledger.post",
      rateLimit: { limit: 2, perSeconds: 1, longer: [{ limit: 1, perSeconds: 86_400 }] },
    });
    const app = setUp([type]);
    await app.accepted({ type: "ledger.post" }, { as: sam });
    const { task_id } = await app.accepted({ type: "ledger.post" }, { as: sam });
    const startedAt = app.clock.now();
    await app.work();
    const waitOf = async () => (await ask(app.status, `/tasks/${task_id}`, { as: sam })).json.waiting_for;
    const next = new Date(startedAt + 86_401_000).toISOString();
    const listed = { kind: "rate", rates: 2 };
    const wait = { ...listed, place: 1 };
    expect(await waitOf()).toEqual({ ...wait, per_seconds: 86_400, next_start_at: next });
    const { json } = await ask(app.status, "/tasks?type=ledger.post", { as: sam });
    expect(json).toMatchObject({ tasks: expect.arrayContaining([expect.objectContaining({ waiting_for: listed })]) });
    app.lines.state = () => Promise.reject(new PortUnavailable("the table"));
    expect(await waitOf()).toEqual(wait);
  });

  test("is null when the line cannot be read", async () => {
    const { app, path } = await waiting();
    app.lines.orders = () => Promise.reject(new PortUnavailable("the table"));
    expect((await ask(app.status, path)).json.waiting_for).toEqual({ kind: "pause", of: "type", place: null });
    expect(app.log.lines.at(-1)).toMatchObject({ level: "warn" });
  });
});

test("GET /types tells since when the first task waits behind an open breaker or a pause", async () => {
  const failing = typeOf(() => Promise.reject(new Unavailable("down")), { name: "mail.send", breaker: keyed.breaker });
  const app = setUp([failing, free]);
  expect(await app.type("mail.send")).toMatchObject({ waiting_since: null });
  for (let n = 0; n < 2; n++) await app.accepted({ type: "mail.send", input: n });
  await app.work();
  for (let n = 0; n < 2; n++) await app.accepted({ type: "mail.send", input: n });
  await app.work();
  await app.clock.advance(5_000);
  const since = new Date(app.clock.now() - 5_000).toISOString();
  expect(await app.type("mail.send")).toMatchObject({ waiting_since: since });
  expect(await app.type("mail.send", gina)).toMatchObject({ waiting_since: null });
  expect(await app.type("report.daily")).toMatchObject({ waiting_since: null });
});

test("GET /types tells how many tasks wait for a place or a start, and since when; shared lines are for admins", async () => {
  const open = gate();
  const placed = typeOf(() => open.opened, {
    name: "crm.update",
    concurrency: { key: (input: never) => String(input), limit: 1 },
  });
  const shared = typeOf(() => open.opened, { name: "crm.sync", concurrency: { limit: 1, scope: "deployment" } });
  const app = setUp([placed, shared, free]);
  expect(await app.type("crm.update")).toMatchObject({ waits_for_limit: null });
  const working: Promise<unknown>[] = [];
  for (const type of ["crm.update", "crm.sync"]) {
    for (let n = 0; n < 24; n++) await app.accepted({ type, input: "a" });
    for (let n = 0; n < 6; n++) {
      working.push(app.work());
      await app.clock.advance(0);
    }
  }
  const since = new Date(app.clock.now()).toISOString();
  await app.clock.advance(60_000);
  expect(await app.type("crm.update")).toMatchObject({ waits_for_limit: { since, tasks: 10, complete: false } });
  expect(await app.type("crm.update", gina)).toMatchObject({ waits_for_limit: null });
  expect(await app.type("crm.sync")).toMatchObject({ waits_for_limit: null });
  const all = (await app.list(ada, "?tenant=*")).types as Record<string, unknown>[];
  expect(all.map(({ name, waits_for_limit }) => [name, waits_for_limit])).toEqual([
    ["crm.update", { since, tasks: 10, complete: false }],
    ["crm.sync", { since, tasks: 10, complete: false }],
    ["report.daily", null],
  ]);
  open.open();
  await Promise.all(working);
});

test("types without limits cost no read of a line", async () => {
  const app = setUp([free]);
  app.lines.list = () => Promise.reject(new PortUnavailable("the table"));
  expect(await app.type("report.daily")).toMatchObject({ waits_for_limit: null });
});

describe("POST and DELETE /types/{type}/limits/{key}", () => {
  const set = async (app: ReturnType<typeof setUp>, key: string, json: unknown, as = olga, query = "") =>
    ask(app.control, `/types/mail.send/limits/${encodeURIComponent(key)}${query}`, { method: "POST", json, as });
  const clear = (app: ReturnType<typeof setUp>, key: string, as = olga) =>
    ask(app.control, `/types/mail.send/limits/${encodeURIComponent(key)}`, { method: "DELETE", as });
  const own = { key: "account/7", tenant_id: "acme", kind: "concurrency", limit: 5, per_seconds: null, until: null };

  test("an operator sets the limit of a key for its own tenant, which others do not see, and removes it", async () => {
    const app = setUp();
    const answer = await set(app, "account/7", { limit: 5 });
    expect(answer).toMatchObject({ status: 200, json: { type: "mail.send", ...own } });
    expect((await app.type("mail.send")).key_limits).toEqual([own]);
    expect((await app.type("mail.send", gina)).key_limits).toBeUndefined();
    const ofAll = (await app.list(ada, "?tenant=*")).types as { name: string; key_limits?: unknown }[];
    expect(ofAll.find(({ name }) => name === "mail.send")?.key_limits).toEqual([own]);
    expect((await clear(app, "account/7", gina)).status).toBe(204);
    expect((await app.type("mail.send")).key_limits).toEqual([own]);
    for (const _ of [1, 2]) expect((await clear(app, "account/7")).status).toBe(204);
    expect((await app.type("mail.send")).key_limits).toBeUndefined();
  });

  test("it ends, and is no more in the list", async () => {
    const app = setUp();
    expect((await set(app, "a", { limit: 5, expires_in_seconds: 60 })).json.until).toEqual(time);
    await app.clock.advance(59_999);
    expect((await app.type("mail.send")).key_limits).toHaveLength(1);
    await app.clock.advance(1);
    expect((await app.type("mail.send")).key_limits).toBeUndefined();
  });

  test("a key of any characters is one key", async () => {
    const app = setUp();
    for (const key of ["/", "a//b", "%2F", "ü 🎈?#", "limits", "x".repeat(256)])
      expect((await set(app, key, { limit: 5 })).json.key).toBe(key);
    expect((await set(app, "x".repeat(257), { limit: 5 })).status).toBe(404);
  });

  test("at most 50 keys of a tenant have a limit of their own by its operators; a change of one is none more", async () => {
    const app = setUp();
    for (let key = 0; key < 50; key++) expect((await set(app, `k${key}`, { limit: 5 })).status).toBe(200);
    expect(await set(app, "k50", { limit: 5 })).toMatchObject(problem(409, "conflict"));
    expect((await set(app, "k49", { limit: 6 })).status).toBe(200);
    expect((await set(app, "k50", { limit: 5 }, ada)).status).toBe(200);
    expect((await set(app, "k0", { limit: 5 }, gina)).status).toBe(200);
  });

  test.each<[unknown, number, string]>([
    [{}, 422, "invalid_input"],
    [{ limit: 0 }, 422, "invalid_input"],
    [{ limit: 10_001 }, 422, "invalid_input"],
    [{ limit: 5, expires_in_seconds: 0 }, 422, "invalid_input"],
    [{ limit: 5, per_seconds: 1 }, 409, "conflict"],
  ])("%j is refused with %i", async (body, status, code) => {
    const app = setUp();
    expect(await set(app, "a", body, ada)).toMatchObject(problem(status, code as "conflict"));
    expect((await app.type("mail.send")).key_limits).toBeUndefined();
  });

  test("a type without a key is 409, an unknown one 404, and a submitter 403", async () => {
    const app = setUp();
    expect(await app.post("/types/report.daily/limits/a", { json: { limit: 5 } })).toMatchObject(
      problem(409, "conflict"),
    );
    expect(await app.post("/types/mail.sent/limits/a", { json: { limit: 5 } })).toMatchObject(
      problem(404, "not_found"),
    );
    expect(await set(app, "a", { limit: 5 }, sam)).toMatchObject(problem(403, "forbidden"));
  });

  test("a limit that tenants share is an admin's, and of a type with a rate only it is its starts", async () => {
    const rateLimit = {
      key: (input: never) => String(input),
      limit: 100,
      perSeconds: 60,
      scope: "deployment",
    } as const;
    const app = setUp([typeOf(() => null, { name: "mail.send", rateLimit })]);
    expect(await set(app, "a", { limit: 5 })).toMatchObject(problem(403, "forbidden"));
    const shared = { key: "a", tenant_id: null, kind: "rate", limit: 5, per_seconds: 60, until: null };
    expect((await set(app, "a", { limit: 5 }, ada)).json).toEqual({ type: "mail.send", ...shared });
    expect((await app.type("mail.send", gina)).key_limits).toEqual([shared]);
    expect(await clear(app, "a")).toMatchObject(problem(403, "forbidden"));
    expect((await clear(app, "a", ada)).status).toBe(204);
  });
});
