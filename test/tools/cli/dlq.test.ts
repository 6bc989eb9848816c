import { describe, expect, test } from "vitest";
import { type Answer, problem, programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({ dlq: () => import("../../../src/tools/cli/dlq-commands.ts") });

const letter = (n: number) => ({
  task_id: `task-${n}`,
  type: "mail.send",
  tenant_id: "acme",
  priority: "normal",
  attempts: 5,
  error: `the relay said\n\u001b[31m no ${n}`,
  error_type: "Error",
  error_kind: "transient",
  first_failed_at: "2027-01-01T00:00:00.000Z",
  last_failed_at: "2027-01-01T00:00:01.000Z",
  needs_review: false,
  input: { to: "ann" },
});

const accepted: Answer = { status: 202, json: { operation_id: "op-1", matched: 3 } };

const operation = (status: string, more: object = {}): Answer => ({
  json: { operation_id: "op-1", status, matched: 3, done: 3, skipped: 0, failed: 0, ...more },
});

describe("dlq list", () => {
  test("the list is a table without control characters", async () => {
    await using api = await StubApi.start(() => ({
      json: { dead_letters: [letter(1), letter(2)], next_cursor: null },
    }));
    const { code, out, notes } = await offload(api.url, ["dlq", "list"]);
    expect({ code, notes }).toEqual({ code: 0, notes: "" });
    const [head, ...rows] = out.trimEnd().split("\n");
    expect(head).toMatch(/^TASK +TYPE +TIER +FAILED +ATTEMPTS +KIND +ERROR$/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^task-1 +mail.send +normal +2027-01-01T00:00:01.000Z +5 +transient +the relay said/);
    expect(out).not.toContain("\u001b");
  });

  test("the kind says where the cause is to be looked for", async () => {
    const found = [{ error_type: "TypeError", error: "x is undefined" }, { error: "HTTP 401" }, {}];
    await using api = await StubApi.start(() => ({
      json: { dead_letters: found.map((more, n) => ({ ...letter(n), ...more })), next_cursor: null },
    }));
    const [, ...rows] = (await offload(api.url, ["dlq", "list"])).out.trimEnd().split("\n");
    const kinds = rows.map((row) => /transient(?: \(\w+\))?/.exec(row)?.[0]);
    expect(kinds).toEqual(["transient (bug)", "transient (credentials)", "transient"]);
  });

  test("the filter is sent, and pages are read up to --limit", async () => {
    await using api = await StubApi.start((_, index) => ({
      json: { dead_letters: Array.from({ length: 100 }, () => letter(index)), next_cursor: `cursor-${index}` },
    }));
    const flags = "--type mail.send --error-type Error --error-kind transient --priority low".split(" ");
    const times = ["--failed-after", "2027-01-01", "--failed-before", "2027-02-01"];
    const { out, notes } = await offload(api.url, ["dlq", "list", ...flags, ...times, "--limit", "200", "--json"]);
    expect(JSON.parse(out).dead_letters).toHaveLength(200);
    expect(notes).toContain("more than 200");
    expect(api.seen.map(({ query }) => query)).toEqual([
      {
        type: "mail.send",
        error_type: "Error",
        error_kind: "transient",
        priority: "low",
        failed_after: "2027-01-01",
        failed_before: "2027-02-01",
        limit: "100",
      },
      expect.objectContaining({ type: "mail.send", cursor: "cursor-0", limit: "100" }),
    ]);
    expect(api.seen[0]).toMatchObject({ method: "GET", path: "/dead-letters", authorization: "Bearer a-key" });
  });

  test("an empty list says that there are no dead letters", async () => {
    await using api = await StubApi.start(() => ({ json: { dead_letters: [], next_cursor: null } }));
    expect(await offload(api.url, ["dlq", "list"])).toMatchObject({ code: 0, out: "No dead letters.\n" });
  });
});

describe("dlq groups", () => {
  const group = {
    fingerprint: "56d96c5aaaed3847",
    type: "mail.send",
    error_type: "Error",
    error_kind: "transient",
    error: "the relay said\n no",
    count: 12,
    first_failed_at: "2027-01-01T00:00:00.000Z",
    last_failed_at: "2027-01-01T00:00:01.000Z",
    task_id: "task-1",
  };

  test("the groups are a table, and the filter is sent", async () => {
    await using api = await StubApi.start(() => ({ json: { groups: [group], complete: true } }));
    const { code, out, notes } = await offload(api.url, ["dlq", "groups", "--fingerprint", group.fingerprint]);
    expect({ code, notes }).toEqual({ code: 0, notes: "" });
    const [head, row] = out.trimEnd().split("\n");
    expect(head).toMatch(/^COUNT +TYPE +FINGERPRINT +LAST FAILED +KIND +ERROR$/);
    expect(row).toMatch(/^12 +mail.send +56d96c5aaaed3847 +2027-01-01T00:00:01.000Z +transient +the relay said/);
    expect(api.seen).toMatchObject([
      { method: "GET", path: "/dead-letters/groups", query: { fingerprint: group.fingerprint } },
    ]);
  });

  test("it says so when older dead letters were not read", async () => {
    await using api = await StubApi.start(() => ({ json: { groups: [group], complete: false } }));
    const { out, notes } = await offload(api.url, ["dlq", "groups", "--json"]);
    expect(JSON.parse(out)).toEqual({ groups: [group], complete: false });
    expect(notes).toContain("--failed-before");
  });
});

describe("dlq show", () => {
  const served =
    (task: object, letters: object[]) =>
    ({ path }: { path: string }): Answer => {
      if (path === "/dead-letters") return { json: { dead_letters: letters, next_cursor: null } };
      if (path.endsWith("/attempts")) return { json: { attempts: [] } };
      return { json: { task_id: "task-2", ...task } };
    };
  const failed = { status: "failed", finished_at: "2027-01-01T00:00:01.000Z" };

  test("a dead letter is shown with its cause, input and attempts", async () => {
    await using api = await StubApi.start(served(failed, [letter(1), letter(2)]));
    const { code, out } = await offload(api.url, ["dlq", "show", "task-2"]);
    expect(code).toBe(0);
    expect(out).toMatch(/task_id +task-2/);
    expect(out).toContain('"to": "ann"');
    expect(out).toContain("Attempts");
    const list = api.seen.find(({ path }) => path === "/dead-letters");
    expect(list?.query).toMatchObject({
      failed_after: "2027-01-01T00:00:01.000Z",
      failed_before: "2027-01-01T00:00:01.001Z",
    });
  });

  test("the command fails for a task that is not a dead letter, or not any more", async () => {
    await using fine = await StubApi.start(served({ status: "completed", finished_at: failed.finished_at }, []));
    expect(await offload(fine.url, ["dlq", "show", "task-2"])).toMatchObject({
      code: 1,
      out: "",
      notes: "offload: task task-2 is not a dead letter: its status is completed\n",
    });
    await using gone = await StubApi.start(served(failed, [letter(1)]));
    expect(await offload(gone.url, ["dlq", "show", "task-2"])).toMatchObject({
      code: 1,
      notes: expect.stringContaining("discarded"),
    });
  });
});

describe("dlq replay and discard", () => {
  test.for<[string[], object]>([
    [["replay", "task-1", "task-2"], { task_ids: ["task-1", "task-2"] }],
    [["replay", "--type", "mail.send", "--per-second", "10"], { filter: { type: "mail.send" }, per_second: 10 }],
    [["discard", "--error-kind", "validation"], { filter: { error_kind: "validation" } }],
    [["discard", "--all", "--yes"], { filter: {} }],
  ])("%j sends %j", async ([args, body]) => {
    await using api = await StubApi.start(() => accepted);
    const { code, out } = await offload(api.url, ["dlq", ...args]);
    expect(code).toBe(0);
    expect(out).toContain("npx offload dlq operation op-1 --wait");
    expect(api.seen).toMatchObject([{ method: "POST", path: `/dead-letters/${args[0]}`, body }]);
    expect(Object.keys(api.seen[0]?.body as object)).toEqual(Object.keys(body));
  });

  test("--dry-run only counts, and never asks", async () => {
    await using api = await StubApi.start(() => ({ json: { matched: 3 } }));
    const ran = await offload(api.url, ["dlq", "discard", "--all", "--dry-run"]);
    expect(ran).toMatchObject({ code: 0, out: "3 dead letters match.\n", questions: [] });
    expect(api.seen).toMatchObject([{ body: { filter: {}, dry_run: true } }]);
    const json = await offload(api.url, ["dlq", "discard", "--all", "--dry-run", "--json"]);
    expect(JSON.parse(json.out)).toEqual({ matched: 3 });
  });

  test.for(["replay", "discard"])("%s --all works only after a yes", async (action) => {
    await using api = await StubApi.start(() => accepted);
    const refused = await offload(api.url, ["dlq", action, "--all"], false);
    expect(refused).toMatchObject({ code: 1, notes: "offload: not confirmed: nothing was changed\n" });
    expect(refused.questions).toEqual([`${action} all 3 dead letters?`]);
    expect(api.seen).toMatchObject([{ body: { dry_run: true } }]);
    expect(await offload(api.url, ["dlq", action, "--all"], true)).toMatchObject({ code: 0 });
    expect(api.seen.at(-1)?.body).toEqual({ filter: {} });
  });

  test("--all does not wait for an answer where there is no terminal", async () => {
    await using api = await StubApi.start(() => accepted);
    const { code, notes } = await offload(api.url, ["dlq", "replay", "--all"]);
    expect({ code, notes }).toEqual({
      code: 2,
      notes: "offload: --all needs --yes when there is no terminal to ask on\n",
    });
    expect(api.seen).toMatchObject([{ body: { dry_run: true } }]);
  });

  test("--wait shows the progress, then the end", async () => {
    const polls = [operation("pending", { done: 0 }), operation("processing", { done: 1 }), operation("completed")];
    await using api = await StubApi.start((_, index) => (index === 0 ? accepted : (polls[index - 1] ?? {})));
    const { code, out, notes } = await offload(api.url, ["dlq", "replay", "--all", "--yes", "--wait"]);
    expect({ code, out }).toEqual({ code: 0, out: "completed: 3 of 3 done\n" });
    expect(notes).toBe("pending: 0 of 3 done\nprocessing: 1 of 3 done\n");
    expect(api.seen.at(-1)?.path).toBe("/operations/op-1");
  });

  test.for<[Answer, string]>([
    [operation("completed", { done: 1, skipped: 1, failed: 1 }), "1 of 3 failed"],
    [operation("failed", { done: 1 }), "npx offload tasks get op-1"],
  ])("--wait fails when %j", async ([end, note]) => {
    await using api = await StubApi.start((_, index) => (index === 0 ? accepted : end));
    const { code, out, notes } = await offload(api.url, ["dlq", "discard", "--all", "--yes", "--wait"]);
    expect(code).toBe(1);
    expect(out).toMatch(/^(completed|failed): 1 of 3 done/);
    expect(notes).toContain(note);
  });

  test("an operation can be shown later", async () => {
    await using api = await StubApi.start(() => operation("processing", { done: 1 }));
    const { code, out } = await offload(api.url, ["dlq", "operation", "op-1"]);
    expect({ code, out }).toEqual({ code: 0, out: "processing: 1 of 3 done\n" });
  });

  test.for<string[]>([
    ["replay"],
    ["replay", "task-1", "--all", "--yes"],
    ["replay", "task-1", "--type", "mail.send"],
    ["replay", "--type", "mail.send", "--all"],
    ["replay", "--all", "--yes", "--per-second", "many"],
    ["replay", "--all", "--yes", "--per-second", "0"],
    ["discard", "--all", "--yes", "--per-second", "1"],
    ["show"],
    ["burn"],
  ])("%j is a misuse: exit code 2, and no request", async (args) => {
    await using api = await StubApi.start(() => accepted);
    const { code, out, notes } = await offload(api.url, ["dlq", ...args]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(notes).toMatch(/\S/);
    expect(api.seen).toEqual([]);
  });

  test("a refusal of the server is one line and exit code 1", async () => {
    await using api = await StubApi.start(() => problem(422, "invalid_input", "filter.priority: expected\na tier"));
    expect(await offload(api.url, ["dlq", "replay", "--priority", "urgent"])).toMatchObject({
      code: 1,
      out: "",
      notes: "offload: filter.priority: expected a tier (422 invalid_input)\n",
    });
  });
});
