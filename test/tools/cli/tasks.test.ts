import { describe, expect, test } from "vitest";
import type { Terminal } from "../../../src/tools/cli/terminal.ts";
import { problem, programOf, StubApi } from "./stub-api.ts";

const { offload } = programOf({
  run: () => import("../../../src/tools/cli/run.ts"),
  tasks: () => import("../../../src/tools/cli/task-commands.ts"),
});

const task = {
  task_id: "task-1",
  type: "mail.send",
  status: "failed",
  priority: "normal",
  progress: null,
  attempts: 5,
  max_attempts: 5,
  tags: { order: "4711" },
  created_at: "2027-01-01T00:00:00.000Z",
  error: "the relay said no",
  children: null,
};

test("tasks list prints a table of the tasks that fit the filters and tags", async () => {
  await using api = await StubApi.start(() => ({ json: { tasks: [task], next_cursor: null } }));
  const flags = ["--status", "failed", "--type", "mail.send", "--priority", "low", "--created-after", "2027-01-01"];
  const { code, out } = await offload(api.url, [
    "tasks",
    "list",
    ...flags,
    "--tag",
    "order=4711",
    "--tag",
    "a=b=c",
    ...["--unique-key", "k"],
  ]);
  expect(code).toBe(0);
  expect(out).toMatch(/^TASK +TYPE +STATUS +TIER +ATTEMPTS +CREATED +ERROR\ntask-1 +mail.send +failed +normal +5\/5 /);
  expect(api.seen[0]?.query).toEqual({
    status: "failed",
    type: "mail.send",
    priority: "low",
    created_after: "2027-01-01",
    unique_key: "k",
    "tag.order": "4711",
    "tag.a": "b=c",
    limit: "50",
  });
});

describe("tasks list --csv", () => {
  /** The cell of a task's error. */
  const errorCell = async (error: string, special: Partial<Terminal> = {}) => {
    const one = { ...task, error };
    await using api = await StubApi.start(({ path }) =>
      path === "/tasks" ? { json: { tasks: [one], next_cursor: null } } : problem(404, "input_not_kept", "Not kept."),
    );
    const { out } = await offload(api.url, ["tasks", "list", "--csv"], undefined, special);
    const row = out.slice(out.indexOf("\r\n") + 2, -1);
    return row
      .slice(row.indexOf("}") + 3)
      .replace(/^[^,]*,/, "")
      .slice(0, -1);
  };

  test.each([
    ["=1+1", "'=1+1"],
    ["  =1+1", "  '=1+1"],
    ["\u00a0\ufeff=1", "\u00a0\ufeff'=1"],
    ["\uff1d1+1", "'\uff1d1+1"],
    ["\uff20SUM(1)", "'\uff20SUM(1)"],
    ["failed;=1+1", '"failed;\'=1+1"'],
    ["failed; @SUM(1)", '"failed; \'@SUM(1)"'],
    ["failed\uff1b=1", "failed\uff1b'=1"],
    ["failed\n=1", '"failed\n\'=1"'],
    ["failed\t+1", '"failed\t\'+1"'],
    ["a=b, c-d", '"a=b, c-d"'],
  ])("marks what a spreadsheet runs in %j, and nothing else", async (error, cell) => {
    expect(await errorCell(error)).toBe(cell);
  });

  test("escapes control characters, and on a screen line breaks, too", async () => {
    const error = "a\u001b]0;title\u0007\u009b2J\u202e\nacme,forged";
    const shown = "a\\u001b]0;title\\u0007\\u009b2J\\u202e";
    expect(await errorCell(error)).toBe(`"${shown}\nacme,forged"`);
    expect(await errorCell(error, { width: 200 })).toBe(`"${shown}\\u000aacme,forged"`);
  });
});

test("tasks list --csv has each task with its input, and no text that a spreadsheet takes for a formula", async () => {
  const tasks = [
    { ...task, tenant_id: "acme", error: 'the relay said "no",\nthen hung up' },
    { ...task, tenant_id: "globex", task_id: "task-2", error: "=HYPERLINK(1)", tags: {} },
  ];
  await using api = await StubApi.start(({ path }) =>
    path === "/tasks"
      ? { json: { tasks, next_cursor: null } }
      : path.includes("task-1")
        ? { json: { input: { to: "ada@example.com" } } }
        : problem(404, "input_not_kept", "The input is not kept."),
  );
  const { code, out } = await offload(api.url, ["tasks", "list", "--tenant", "*", "--csv"]);
  expect(code).toBe(0);
  const [head, ...rows] = out.trimEnd().split("\r\n");
  expect(head?.split(",")).toEqual(expect.arrayContaining(["tenant_id", "task_id", "type", "error", "input"]));
  expect(rows).toEqual([
    expect.stringMatching(
      /^acme,task-1,.*"\{""order"":""4711""\}",,"the relay said ""no"",\nthen hung up","\{""to"":""ada@example.com""\}"$/s,
    ),
    expect.stringMatching(/^globex,task-2,.*,'=HYPERLINK\(1\),$/),
  ]);
  const reads = api.seen.filter(({ path }) => path.endsWith("/input"));
  expect(reads.map(({ path, query }) => [path, query.tenant])).toEqual([
    ["/tasks/task-1/input", "acme"],
    ["/tasks/task-2/input", "globex"],
  ]);
});

test("tasks list says when there are none, and refuses a tag without a value", async () => {
  await using api = await StubApi.start(() => ({ json: { tasks: [], next_cursor: null } }));
  expect(await offload(api.url, ["tasks", "list"])).toMatchObject({ code: 0, out: "No tasks.\n" });
  expect(await offload(api.url, ["tasks", "list", "--tag", "order"])).toMatchObject({ code: 2 });
});

test("tasks get shows the fields that have a value", async () => {
  await using api = await StubApi.start(() => ({ json: task }));
  const { out } = await offload(api.url, ["tasks", "get", "task-1"]);
  expect(out).toMatch(/^task_id +task-1\ntype +mail.send\nstatus +failed\n/);
  expect(out).toMatch(/tags +\{"order":"4711"\}/);
  expect(out).not.toMatch(/progress|children/);
  expect(api.seen).toMatchObject([{ method: "GET", path: "/tasks/task-1" }]);
  const json = await offload(api.url, ["tasks", "get", "task-1", "--json"]);
  expect(JSON.parse(json.out)).toEqual(task);
});

test("tasks show is tasks get, and tasks run is tasks run-now", async () => {
  await using api = await StubApi.start(() => ({ json: task }));
  expect((await offload(api.url, ["tasks", "show", "task-1"])).code).toBe(0);
  expect((await offload(api.url, ["tasks", "run", "task-1"])).code).toBe(0);
  expect(api.seen).toMatchObject([
    { method: "GET", path: "/tasks/task-1" },
    { method: "POST", path: "/tasks/task-1/run-now" },
  ]);
});

test("tasks attempts shows every attempt", async () => {
  const attempt = { round: 1, number: 2, started_at: "2027-01-01T00:00:00.000Z", duration_ms: 12, outcome: "retried" };
  const failure = { error: "no", error_type: "Error", error_kind: "transient", next_attempt_at: null };
  const attempts = [{ ...attempt, ...failure }];
  await using api = await StubApi.start(() => ({ json: { attempts } }));
  const { out } = await offload(api.url, ["tasks", "attempts", "task-1"]);
  expect(out).toMatch(/^ROUND +ATTEMPT .*\n1 +2 +2027-01-01T00:00:00.000Z +12 ms +retried +transient +- +no$/m);
  expect(api.seen).toMatchObject([{ path: "/tasks/task-1/attempts" }]);
});

test("tasks attempts shows the stack of each failure once, with its lines and without control characters", async () => {
  const stack = "TypeError: no\u001b[2J\n    at send (tasks/mail.send.ts:18:40)";
  const attempt = {
    round: 1,
    started_at: "2027-01-01T00:00:00.000Z",
    duration_ms: 12,
    outcome: "retried",
    error: "no",
  };
  const attempts = [1, 2, 3].map((number) => ({ ...attempt, number, stack: number < 3 ? stack : null }));
  await using api = await StubApi.start(() => ({ json: { attempts } }));
  const { out } = await offload(api.url, ["tasks", "attempts", "task-1"]);
  expect(out.split("\n\n").slice(1)).toEqual([
    expect.stringMatching(/^TypeError: no \[2J\n {4}at send \(tasks\/mail\.send\.ts:18:40\)\s*$/),
  ]);
});

test.for(["retry", "cancel"])("tasks %s calls its route, and shows the task", async (action) => {
  await using api = await StubApi.start(() => ({ status: 202, json: { ...task, status: "pending" } }));
  const { code, out } = await offload(api.url, ["tasks", action, "task-1"]);
  expect(code).toBe(0);
  expect(out).toMatch(/status +pending/);
  expect(api.seen).toMatchObject([{ method: "POST", path: `/tasks/task-1/${action}`, body: {} }]);
});

describe("tasks cancel and retry of many", () => {
  const accepted = { status: 202, json: { operation_id: "op-1", matched: 3 } };

  test("a filter is sent, and the operation's command is shown", async () => {
    await using api = await StubApi.start(() => accepted);
    const filter = "--status pending --type mail.send --priority low --tag a=b --tag c=d --created-after 2027-01-01";
    const { code, out } = await offload(api.url, ["tasks", "cancel", ...filter.split(" ")]);
    expect(code).toBe(0);
    expect(out).toContain("The cancel of 3 tasks was accepted");
    expect(out).toContain("npx offload tasks operation op-1 --wait");
    const body = {
      filter: {
        ...{ status: "pending", type: "mail.send", priority: "low" },
        ...{ tags: { a: "b", c: "d" }, created_after: "2027-01-01" },
      },
    };
    expect(api.seen).toMatchObject([{ method: "POST", path: "/tasks/cancel", body }]);
  });

  test("several ids are one operation, at a rate", async () => {
    await using api = await StubApi.start(() => accepted);
    expect(await offload(api.url, ["tasks", "retry", "t1", "t2", "--per-second", "5"])).toMatchObject({ code: 0 });
    expect(api.seen).toMatchObject([{ path: "/tasks/retry", body: { task_ids: ["t1", "t2"], per_second: 5 } }]);
  });

  test("a dry run only counts", async () => {
    await using api = await StubApi.start(() => ({ json: { matched: 7 } }));
    const { out } = await offload(api.url, ["tasks", "retry", "--all", "--dry-run"]);
    expect(out).toBe("7 tasks match.\n");
    expect(api.seen).toMatchObject([{ path: "/tasks/retry", body: { filter: {}, dry_run: true } }]);
  });

  test.for([
    ["cancel"],
    ["cancel", "--all"],
    ["cancel", "t1", "--type", "a"],
    ["retry", "t1", "t2", "--input", "{}"],
    ["retry", "t1", "--input", "{"],
  ])("tasks %j is refused before any request", async (args) => {
    await using api = await StubApi.start(() => accepted);
    expect(await offload(api.url, ["tasks", ...args])).toMatchObject({ code: 2, out: "" });
    expect(api.seen.filter(({ body }) => (body as { dry_run?: boolean })?.dry_run !== true)).toEqual([]);
  });

  test("a retry of one task takes its input", async () => {
    await using api = await StubApi.start(() => ({ status: 202, json: { ...task, status: "pending" } }));
    const args = ["tasks", "retry", "task-1", "--input", '{"to":"ann"}'];
    expect(await offload(api.url, args)).toMatchObject({ code: 0 });
    expect(api.seen).toMatchObject([{ path: "/tasks/task-1/retry", body: { input: { to: "ann" } } }]);
  });

  test("an operation is cancelled", async () => {
    const operation = { operation_id: "op-1", status: "cancelled", matched: 3, done: 1, skipped: 0, failed: 0 };
    await using api = await StubApi.start(() => ({ status: 202, json: operation }));
    const { code, out } = await offload(api.url, ["tasks", "operation", "op-1", "--cancel"]);
    expect({ code, out }).toEqual({ code: 0, out: "cancelled: 1 of 3 done\n" });
    expect(api.seen).toMatchObject([{ method: "POST", path: "/operations/op-1/cancel" }]);
  });
});

test("an id is never taken for a path", async () => {
  await using api = await StubApi.start(() => problem(404, "not_found", "No such task."));
  const { code, notes } = await offload(api.url, ["tasks", "get", "../schedules?x=1"]);
  expect({ code, notes }).toEqual({ code: 1, notes: "offload: No such task. (404 not_found)\n" });
  expect(api.seen).toMatchObject([{ path: "/tasks/..%2Fschedules%3Fx%3D1", query: {} }]);
});

test("run without an input sends {}", async () => {
  await using api = await StubApi.start(() => ({ status: 202, json: { ...task, poll_url: "/tasks/task-1" } }));
  expect(await offload(api.url, ["run", "report.daily"])).toMatchObject({ code: 0 });
  expect(api.seen[0]?.body).toEqual({ type: "report.daily", input: {} });
});

test("help shows no default for repeatable options", async () => {
  expect((await offload("http://127.0.0.1:1", ["tasks", "list", "--help"])).out).not.toContain("{}");
});
