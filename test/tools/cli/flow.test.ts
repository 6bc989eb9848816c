import { describe, expect, test } from "vitest";
import { rateText } from "../../../src/tools/cli/flow-set.ts";
import { type Answer, problem, programOf, type Seen, StubApi } from "./stub-api.ts";

const { bare, offload } = programOf({ flow: () => import("../../../src/tools/cli/flow-commands.ts") });

const since = "2027-01-01T00:00:00.000Z";
const places = { limit: 3, keyed: true, scope: "tenant" };
const rate = { limit: 5, per_seconds: 1, keyed: false, scope: "deployment" };
const type = (name: string, more: object = {}) => ({
  ...{ name, concurrency: null, rate_limit: null, breaker: null, paused: null },
  ...more,
});
const types = [
  type("mail.send", {
    concurrency: { ...places, limit: 5, defined_limit: 3 },
    rate_limit: rate,
    paused: { all: null, tenant: since },
  }),
  type("pay.charge", {
    rate_limit: { ...rate, keyed: true, scope: "tenant", defined_limit: 9, defined_per_seconds: 2 },
    breaker: {
      failures: 10,
      cool_down_seconds: 60,
      state: "open",
      failures_in_a_row: 12,
      open_until: since,
      open_since: since,
    },
  }),
  type("plain", {
    breaker: {
      failures: 10,
      cool_down_seconds: 60,
      state: "closed",
      failures_in_a_row: 2,
      open_until: null,
      open_since: null,
    },
    paused: { all: since, tenant: null },
  }),
  type("free", {
    stopped_tenants: [{ tenant_id: "globex", paused_since: since, paused_reason: "20 attempts failed" }],
  }),
];
const queue = (paused_since: string | null) => ({ visible: 0, paused: paused_since !== null, paused_since });
const queues = { critical: queue(null), high: queue(null), normal: queue(null), low: queue(since) };

/** Answers reads, and changes by `changed`. */
const answering =
  (changed: Answer = { json: {} }, tenant_paused_since: string | null = null) =>
  ({ method, path }: Seen): Answer => {
    if (method !== "GET") return changed;
    return { json: path === "/queues" ? { queues } : { types, tenant_paused_since } };
  };

const changesIn = ({ seen }: StubApi) => seen.filter(({ method }) => method !== "GET");

describe("flow show", () => {
  test("is a table of tiers, and one of types with limits, breakers and pauses", async () => {
    await using api = await StubApi.start(answering());
    const { code, out } = await offload(api.url, ["flow", "show"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^TIER +STATE +SINCE\ncritical +active +-\n/);
    expect(out).toContain("\nfree is paused for the tenant globex by itself: 20 attempts failed.\n");
    expect(out).toMatch(/^low +paused +2027-01-01T00:00:00.000Z$/m);
    expect(out).toMatch(/^TYPE +CONCURRENCY +RATE +BREAKER +PAUSED +SINCE$/m);
    expect(out).toMatch(
      /^mail.send +5 per key \(defined: 3\) +5 in 1 s, of all tenants together +- +for the tenant +2027-01-01T/m,
    );
    expect(out).toMatch(/^pay.charge +- +5 in 1 s per key \(defined: 9 in 2 s\) +open until 2027-01-01T\S+ +no +-$/m);
    expect(out).toMatch(/^plain +- +- +closed, 2 of 10 failures +for all tenants +2027-01-01T/m);
    expect(out).not.toContain("The tenant is paused");
  });

  test("leaves the tiers out for operators, and says that the tenant is paused", async () => {
    const forbidden = problem(403, "forbidden", "This request requires the role admin.");
    await using api = await StubApi.start((seen) => (seen.path === "/queues" ? forbidden : answering({}, since)(seen)));
    const { code, out } = await offload(api.url, ["flow", "show"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^TYPE /);
    expect(out).toContain(`The tenant is paused since ${since}`);
    const { out: json } = await offload(api.url, ["flow", "show", "--json"]);
    expect(JSON.parse(json)).toEqual({ types, tenant_paused_since: since, queues: null });
  });

  test("fails when the queues cannot be read for another reason", async () => {
    const down = problem(503, "unavailable", "Part of the service is not available now; try again.");
    await using api = await StubApi.start((seen) => (seen.path === "/queues" ? down : answering()(seen)));
    expect(await offload(api.url, ["flow", "show"])).toMatchObject({ code: 1 });
  });
});

describe("flow pause and resume", () => {
  const paused = (more: object): Answer => ({ json: { paused: true, since, ...more } });
  const typePaused = (all: string | null, tenant: string | null): Answer => ({
    json: { type: "mail.send", paused: all === null && tenant === null ? null : { all, tenant } },
  });

  test.each<[string[], Answer, string, unknown, string[]]>([
    [
      ["pause", "--tier", "low"],
      paused({ tier: "low" }),
      "/queues/low/pause",
      {},
      ["The tier low is paused: its tasks are accepted and wait", "npx offload flow resume --tier low"],
    ],
    [["resume", "--tier", "low"], paused({}), "/queues/low/resume", {}, ["The tier low is not paused."]],
    [
      ["pause", "--type", "mail.send"],
      typePaused(null, since),
      "/types/mail.send/pause",
      {},
      ["mail.send is paused for your tenant", "flow resume --type mail.send\n"],
    ],
    [
      ["pause", "--type", "mail.send", "--all"],
      typePaused(since, null),
      "/types/mail.send/pause",
      { all: true },
      ["mail.send is paused for all tenants", "flow resume --type mail.send --all\n"],
    ],
    [
      ["pause", "--type", "mail.send", "--tenant", "globex"],
      typePaused(null, since),
      "/types/mail.send/pause",
      {},
      ["is paused for the tenant globex", "flow resume --type mail.send --tenant globex\n"],
    ],
    [
      ["resume", "--type", "mail.send"],
      typePaused(null, null),
      "/types/mail.send/resume",
      {},
      ["The type mail.send is not paused."],
    ],
    [
      ["resume", "--type", "mail.send"],
      typePaused(since, null),
      "/types/mail.send/resume",
      {},
      ["still paused for all tenants", "flow resume --type mail.send --all"],
    ],
    [
      ["resume", "--type", "mail.send", "--all"],
      typePaused(null, since),
      "/types/mail.send/resume",
      { all: true },
      ["still paused for the tenant.", "flow resume --type mail.send\n"],
    ],
    [
      ["pause", "--tenant", "acme"],
      paused({ tenant_id: "acme" }),
      "/tenants/acme/pause",
      {},
      ["The tenant acme is paused", "flow resume --tenant acme"],
    ],
    [["resume", "--tenant", "acme"], paused({}), "/tenants/acme/resume", {}, ["The tenant acme is not paused."]],
  ])("flow %j", async (args, answer, path, body, said) => {
    await using api = await StubApi.start(answering(answer));
    const { code, out } = await offload(api.url, ["flow", ...args]);
    expect(code).toBe(0);
    expect(changesIn(api)).toMatchObject([{ method: "POST", path, body }]);
    for (const text of said) expect(out).toContain(text);
    expect((await offload(api.url, ["flow", ...args, "--json"])).out).toBe(`${JSON.stringify(answer.json, null, 2)}\n`);
  });

  test.each([
    [["pause"], "give --tier, --type or --tenant"],
    [["pause", "--tier", "low", "--type", "a"], "--tier goes with neither"],
    [["resume", "--tier", "low", "--tenant", "acme"], "--tier goes with neither"],
    [["pause", "--tenant", "acme", "--all"], "--all goes with --type"],
    [["pause", "--type", "a", "--all", "--tenant", "b"], "give either --all or --tenant"],
    [["pause", "--tier", "urgent"], "Allowed choices are critical, high, normal, low"],
  ])("flow %j is not valid", async (args, message) => {
    await using api = await StubApi.start(answering());
    const { code, notes } = await offload(api.url, ["flow", ...args]);
    expect(code).toBe(2);
    expect(notes).toContain(message);
    expect(api.seen).toEqual([]);
  });

  test("a refusal is one line", async () => {
    await using api = await StubApi.start(answering(problem(404, "not_found", "No such task type.")));
    const { code, notes } = await offload(api.url, ["flow", "pause", "--type", "mail.sent"]);
    expect(code).toBe(1);
    expect(notes).toMatch(/^offload: .*No such task type\..*\n$/);
  });
});

describe("flow set", () => {
  const set = async (args: string[], json: object = { type: "mail.send", concurrency: places, rate_limit: rate }) => {
    await using api = await StubApi.start(answering({ json }));
    const ran = await offload(api.url, ["flow", "set", ...args]);
    return { ...ran, changes: changesIn(api).map(({ method, path, body }) => ({ method, path, body })) };
  };
  const changed = (name: string, body: object) => [{ method: "PATCH", path: `/types/${name}/limits`, body }];

  test.each([
    [["mail.send", "--limit", "5"], { concurrency: 5 }],
    [["mail.send", "--rate", "100"], { rate: { limit: 100, per_seconds: 1 } }],
    [
      ["mail.send", "--limit", "5", "--rate", "100", "--per-seconds", "60"],
      { concurrency: 5, rate: { limit: 100, per_seconds: 60 } },
    ],
    // It has only a rate.
    [["pay.charge", "--limit", "5"], { rate: { limit: 5, per_seconds: 1 } }],
    [["pay.charge", "--limit", "5", "--per-seconds", "10"], { rate: { limit: 5, per_seconds: 10 } }],
    [["mail.send", "--as-defined"], { concurrency: null, rate: null }],
    // It is defined without limits.
    [["free", "--limit", "5"], { concurrency: 5 }],
    [["free", "--rate", "5"], { rate: { limit: 5, per_seconds: 1 } }],
  ])("%j", async (args, body) => {
    const { code, changes } = await set(args);
    expect(code).toBe(0);
    expect(changes).toEqual(changed(args[0] ?? "", body));
  });

  test("says the limits in force", async () => {
    const json = { type: "mail.send", concurrency: { ...places, limit: 5, defined_limit: 3 }, rate_limit: rate };
    const { out } = await set(["mail.send", "--limit", "5"], json);
    expect(out).toBe(
      "mail.send, in every worker after about three seconds:\n  attempts at the same time: 5 per key (defined: 3)\n  starts: 5 in 1 s, of all tenants together\n",
    );
    expect(JSON.parse((await set(["mail.send", "--limit", "5", "--json"], json)).out)).toEqual(json);
  });

  test.each([
    [["mail.send"], 2, "give --limit, --rate or --as-defined"],
    [["mail.send", "--as-defined", "--limit", "5"], 2, "--as-defined goes with no other limit"],
    [["mail.send", "--limit", "0"], 2, "Expected a whole number from 1"],
    [["mail.send", "--limit", "10001"], 2, "--limit: at most 10000"],
    [["mail.send", "--limit", "5", "--per-seconds", "5"], 2, "--per-seconds goes with --rate"],
    [["mail.send", "--per-seconds", "5"], 2, "give --limit, --rate or --as-defined"],
    [["mail.sent", "--limit", "5"], 1, "no task type is named mail.sent"],
  ])("%j is refused", async (args, exit, message) => {
    const { code, notes, changes } = await set(args);
    expect({ code, changes }).toEqual({ code: exit, changes: [] });
    expect(notes).toContain(message);
  });
});

describe("flow set and clear of one key", () => {
  const own = { type: "mail.send", key: "a/b", tenant_id: "acme", kind: "concurrency", limit: 9 };
  const [until, json] = ["2027-01-02T00:00:00.000Z", { ...own, per_seconds: null, until: null }];

  test.each([
    [["--limit", "9"], { limit: 9 }],
    [["--limit", "9", "--expires-in", "2h"], { limit: 9, expires_in_seconds: 7_200 }],
    [["--rate", "9"], { limit: 9, per_seconds: 1 }],
    [["--rate", "9", "--per-seconds", "60"], { limit: 9, per_seconds: 60 }],
  ])("%j", async (args, body) => {
    await using api = await StubApi.start(answering({ json: { ...json, until } }));
    const { code, out } = await offload(api.url, ["flow", "set", "mail.send", "--limit-key", "a/b", ...args]);
    expect(code).toBe(0);
    expect(out).toBe(
      `mail.send, in every worker after about three seconds:\n  a/b: 9 at the same time, until ${until}\n`,
    );
    expect(changesIn(api)).toMatchObject([{ method: "POST", path: "/types/mail.send/limits/a%2Fb", body }]);
  });

  test("flow clear removes the key's limit only", async () => {
    await using api = await StubApi.start(answering({ status: 204 }));
    const { code, out } = await offload(api.url, ["flow", "clear", "mail.send", "--limit-key", "a/b"]);
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining("a/b has the limits of mail.send again"),
    });
    expect(changesIn(api)).toMatchObject([{ method: "DELETE", path: "/types/mail.send/limits/a%2Fb" }]);
  });

  test("flow show lists them", async () => {
    const limited = type("mail.send", {
      key_limits: [json, { ...json, key: "c", tenant_id: null, per_seconds: 5, until }],
    });
    await using api = await StubApi.start(({ path }) => ({
      json: path === "/queues" ? { queues } : { types: [limited], tenant_paused_since: null },
    }));
    const { out } = await offload(api.url, ["flow", "show"]);
    expect(out).toContain("mail.send has a limit of its own for the key a/b: 9 at the same time\n");
    expect(out).toContain(`for the key c: 9 in 5 s, of all tenants together, until ${until}\n`);
  });

  test.each([
    [["--limit", "9", "--expires-in", "2h"], "--expires-in goes with --limit-key"],
    [["--limit-key", "a", "--limit", "9", "--expires-in", "soon"], "Expected a duration such as 90d"],
    [["--limit-key", "a", "--as-defined"], "--limit-key goes with `flow clear`"],
    [["--limit-key", "a", "--limit", "9", "--rate", "9"], "either --limit or --rate"],
    [["--limit-key", "a"], "give --limit, --rate or --as-defined"],
  ])("%j is refused", async (args, message) => {
    await using api = await StubApi.start(answering());
    const { code, notes } = await offload(api.url, ["flow", "set", "mail.send", ...args]);
    expect(code).toBe(2);
    expect(notes).toContain(message);
    expect(api.seen).toEqual([]);
  });
});

test("flow clear takes away what was set", async () => {
  const json = { type: "free", concurrency: null, rate_limit: null };
  await using api = await StubApi.start(answering({ json }));
  const { code, out } = await offload(api.url, ["flow", "clear", "free"]);
  expect({ code, out }).toEqual({ code: 0, out: "free has no limits, in every worker after about three seconds.\n" });
  expect(changesIn(api)).toMatchObject([{ path: "/types/free/limits", body: { concurrency: null, rate: null } }]);
});

test("flow close closes a breaker, and says what still holds its tasks", async () => {
  await using api = await StubApi.start(answering({ json: { type: "mail.send", breaker: null } }));
  const { code, out } = await offload(api.url, ["flow", "close", "mail.send"]);
  expect(code).toBe(0);
  expect(out).toContain("The breaker of mail.send is closed.");
  expect(out).toContain("Still held: mail.send runs at most");
  expect(changesIn(api)).toMatchObject([{ method: "POST", path: "/types/mail.send/breaker/close" }]);
});

test("flow show says that a limit is by input, also beside the number that an operator set", async () => {
  const of = (name: string, more: object) => type(name, { concurrency: { ...places, limit: null, ...more } });
  const json = { types: [of("a.one", {}), of("a.two", { limit: 5, defined_limit: null })], tenant_paused_since: null };
  await using api = await StubApi.start(({ path }) => ({ json: path === "/queues" ? { queues } : json }));
  const { out } = await offload(api.url, ["flow", "show"]);
  expect(out).toMatch(/^a.one +by input per key +-/m);
  expect(out).toMatch(/^a.two +5 per key \(defined: by input\) +-/m);
});

test("flow show says that a rate is by input, also beside the number that an operator set", async () => {
  const rate = { keyed: true, scope: "tenant", limit: null, per_seconds: 60 };
  const set = { ...rate, limit: 5, per_seconds: 10, defined_limit: null, defined_per_seconds: 60 };
  const of = (name: string, rate_limit: object) => type(name, { rate_limit });
  const day = { limit: null, per_seconds: 86_400 };
  const types = [of("a.one", { ...rate, longer: [day] }), of("a.two", set)];
  const json = { types, tenant_paused_since: null };
  await using api = await StubApi.start(({ path }) => ({ json: path === "/queues" ? { queues } : json }));
  const { out } = await offload(api.url, ["flow", "show"]);
  expect(out).toMatch(/^a.one .*by input in 60 s per key and by input in 86400 s/m);
  expect(out).toMatch(/^a.two .*5 in 10 s per key \(defined: by input in 60 s\)/m);
});

test("flow close --limit-key closes the breaker of one key; flow show names the keys whose breakers are open", async () => {
  const open_keys = [{ key: "acme/1", failures_in_a_row: 3, open_until: since, open_since: since }];
  const breaker = {
    failures: 3,
    cool_down_seconds: 60,
    keyed: true,
    state: "open",
    failures_in_a_row: 3,
    open_until: since,
  };
  const json = { types: [type("mail.send", { breaker: { ...breaker, open_since: since, open_keys } })] };
  await using api = await StubApi.start(({ method, path }) =>
    path === "/queues"
      ? { json: { queues } }
      : { json: method === "GET" ? { ...json, tenant_paused_since: null } : {} },
  );
  const { out } = await offload(api.url, ["flow", "show"]);
  expect(out).toMatch(/^mail.send +- +- +open for 1 key +no/m);
  expect(out).toContain(`mail.send has an open breaker for the key acme/1, until ${since}`);
  const closed = await offload(api.url, ["flow", "close", "mail.send", "--limit-key", "acme/1"]);
  expect(closed.out).toContain("The breaker of mail.send for the key acme/1 is closed.");
  expect(changesIn(api)).toMatchObject([{ path: "/types/mail.send/breaker/close", body: { key: "acme/1" } }]);
});

test("completion knows the commands, tiers and types", async () => {
  const suggested = async (...words: string[]) =>
    (await bare(["complete", "--", ...words])).out.split("\n").flatMap((line) => line.split("\t")[0] || []);
  expect(await suggested("flow", "")).toEqual(["show", "pause", "resume", "set", "clear", "close", "help"]);
  expect(await suggested("flow", "pause", "--tier", "")).toEqual(["critical", "high", "normal", "low"]);
  expect(await suggested("flow", "pause", "--type", "probe.e")).toEqual(["probe.echo"]);
  expect(await suggested("flow", "set", "probe.e")).toEqual(["probe.echo"]);
  expect(await suggested("flow", "set", "x", "--as")).toEqual(["--as-defined"]);
});

test("a list of rates is shown with each of them, and what an operator set", () => {
  const longer = [{ limit: 9_000, per_seconds: 86_400, defined_limit: 2_000, defined_per_seconds: 86_400 }];
  const rates = { limit: 3, per_seconds: 1, keyed: true, scope: "tenant", longer } as const;
  expect(rateText(rates)).toBe("3 in 1 s per key and 9000 in 86400 s (defined: 2000 in 86400 s)");
});
