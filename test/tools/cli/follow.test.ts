import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Answer, problem, programOf, type Seen, StubApi } from "./stub-api.ts";

const { offload } = programOf({
  run: () => import("../../../src/tools/cli/run.ts"),
  tasks: () => import("../../../src/tools/cli/task-commands.ts"),
});

const id = "0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11";
const task = (more: object = {}) => ({
  task_id: id,
  type: "mail.send",
  status: "completed",
  progress: null,
  attempts: 1,
  max_attempts: 5,
  created_at: "2027-01-01T00:00:00.000Z",
  finished_at: "2027-01-01T00:00:01.500Z",
  run_at: null,
  next_attempt_at: null,
  outcome: null,
  result: { sent: 1 },
  result_url: null,
  error: null,
  ...more,
});
const attempt = (number: number, more: object = {}) => ({
  round: 1,
  number,
  outcome: "retried",
  error: `the relay said no ${number}`,
  next_attempt_at: new Date(Date.now() + 30_000).toISOString(),
  ...more,
});
const accepted: Answer = {
  status: 202,
  json: { task_id: id, status: "pending", poll_url: `/tasks/${id}`, created_at: "2027-01-01T00:00:00.000Z" },
};

/** An API that accepts a task, and then shows these states, one at each poll. */
function showing(states: object[], attempts: object[] = []) {
  let polls = 0;
  return ({ method, path }: Seen): Answer => {
    if (method === "POST") return accepted;
    if (path.endsWith("/attempts")) return { json: { attempts } };
    if (path.endsWith("/result")) return { text: "%PDF", type: "application/pdf", headers: pdf };
    return { json: states[Math.min(polls++, states.length - 1)], headers: { "retry-after": "0" } };
  };
}
const pdf = { "content-disposition": 'attachment; filename="../.invoice.pdf"' };

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "offload-run-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

describe("run", () => {
  test("a failed task ends with the author's file and line", async () => {
    const stack = "TypeError: no\n    at send (tasks/mail.send.ts:18:40)";
    const failed = task({
      status: "failed",
      error: "no",
      error_kind: "permanent",
      error_type: "TypeError",
      result: null,
    });
    const attempts = [attempt(1, { outcome: "failed", next_attempt_at: null, stack })];
    await using api = await StubApi.start(showing([failed], attempts));
    const { code, notes } = await offload(api.url, ["run", "mail.send", "{}", "--wait"]);
    expect(code).toBe(1);
    expect(notes).toContain(stack);
  });

  test("without --wait it prints the id and the poll URL, and sends exactly the given options", async () => {
    await using api = await StubApi.start(() => accepted);
    const options = ["--priority", "low", "--delay", "60", "--max-attempts", "3", "--tag", "a=b", "--tag", "c=d"];
    const { code, out } = await offload(api.url, ["run", "mail.send", '{"to":"ann"}', ...options]);
    expect({ code, out }).toEqual({
      code: 0,
      out: `task_id   ${id}\nstatus    pending\npoll_url  ${api.url}/tasks/${id}\n`,
    });
    expect(api.seen).toHaveLength(1);
    expect(api.seen[0]).toMatchObject({ method: "POST", path: "/tasks" });
    expect(api.seen[0]?.body).toEqual({
      type: "mail.send",
      input: { to: "ann" },
      priority: "low",
      delay_seconds: 60,
      max_attempts: 3,
      tags: { a: "b", c: "d" },
    });
  });

  test("tasks submit does the same, and --json prints the API's answer", async () => {
    await using api = await StubApi.start(() => accepted);
    const flags = ["--run-at", "2028-01-01T00:00:00Z", "--idempotency-key", "k1", "--json"];
    const { out } = await offload(api.url, ["tasks", "submit", "mail.send", "{}", ...flags]);
    expect(JSON.parse(out)).toEqual(accepted.json);
    expect(api.seen[0]).toMatchObject({
      body: { run_at: "2028-01-01T00:00:00Z" },
      headers: { "idempotency-key": "k1" },
    });
  });

  test("the input comes from a file or from the standard input", async () => {
    await using api = await StubApi.start(() => accepted);
    const file = join(folder, "input.json");
    writeFileSync(file, '{"to":"file"}');
    await offload(api.url, ["run", "mail.send", `@${file}`]);
    await offload(api.url, ["run", "mail.send", "-"], undefined, { input: async () => '{"to":"stdin"}' });
    expect(api.seen.map(({ body }) => body)).toMatchObject([{ input: { to: "file" } }, { input: { to: "stdin" } }]);
  });

  test.for([
    [["run"], "missing required argument"],
    [["run", "mail.send", "{to:1}"], 'input: expected JSON, got "{to:1}"'],
    [["run", "mail.send", "@/does/not/exist"], "cannot read the input from /does/not/exist"],
    [["run", "mail.send", "{}", "--timeout", "5"], "--timeout and --output need --wait"],
    [["run", "mail.send", "{}", "--priority", "urgent"], "Allowed choices are critical, high, normal, low"],
    [["run", "mail.send", "{}", "--max-attempts", "21"], "Expected a whole number from 1 to 20"],
  ] as const)("%j is a misuse, and nothing is sent", async ([args, message]) => {
    await using api = await StubApi.start(() => accepted);
    const { code, notes } = await offload(api.url, args);
    expect(code).toBe(2);
    expect(notes).toContain(message);
    expect(api.seen).toEqual([]);
  });

  test("every fault of an input is shown", async () => {
    const errors = [
      { path: "/input/to", message: "expected string" },
      { path: "/input/cc", message: "unknown field" },
    ];
    const refused = problem(422, "invalid_input", "input.to: expected string");
    await using api = await StubApi.start(() => ({ ...refused, json: { ...(refused.json as object), errors } }));
    const { code, notes } = await offload(api.url, ["run", "mail.send", "{}"]);
    expect(code).toBe(1);
    expect(notes).toMatch(/422 invalid_input\)\n {2}\/input\/to: expected string\n {2}\/input\/cc: unknown field\n$/);
  });
});

describe("run --wait and tasks follow", () => {
  test("the states are shown once each, and the result is printed", async () => {
    const running = task({ status: "processing", finished_at: null, result: null });
    const states = [running, running, { ...running, progress: 50 }, task({ outcome: "OVER_CAPACITY" })];
    await using api = await StubApi.start(showing(states));
    const { code, out, notes } = await offload(api.url, ["run", "mail.send", "{}", "--wait"]);
    expect({ code, out: JSON.parse(out) }).toEqual({ code: 0, out: { sent: 1 } });
    expect(notes.trimEnd().split("\n")).toEqual([
      `task ${id}`,
      "processing, attempt 1 of 5",
      "processing, attempt 1 of 5, 50 %",
      "completed in 1.5 s, outcome OVER_CAPACITY",
    ]);
  });

  test("each failed attempt is shown once, when it has failed", async () => {
    const waiting = { status: "pending", finished_at: null, next_attempt_at: attempt(1).next_attempt_at };
    const states = [task(waiting), task({ ...waiting, attempts: 2 }), task({ attempts: 3 })];
    const old = attempt(1, { error: "an earlier round" });
    const attempts = [old, attempt(1), attempt(2, { outcome: "crashed" })].map((one, index) => ({
      ...one,
      round: index === 0 ? 1 : 2,
    }));
    await using api = await StubApi.start(showing(states, attempts));
    const { code, notes } = await offload(api.url, ["tasks", "follow", id]);
    expect(code).toBe(0);
    expect(notes.match(/^attempt .*/gm)).toEqual([
      "attempt 1 failed: the relay said no 1; next attempt in 30 s",
      "attempt 2 crashed: the relay said no 2; next attempt in 30 s",
    ]);
  });

  test.for([
    ["failed", { attempts: 5, error: "the relay said no" }, "failed after 5 attempts: the relay said no"],
    ["cancelled", {}, "was cancelled"],
    ["expired", { expires_at: "2027-01-02" }, "expired at 2027-01-02 before its first attempt"],
  ] as const)("a task that ends as %s gives exit code 1 and no result", async ([status, more, message]) => {
    await using api = await StubApi.start(showing([task({ ...more, status, result: null })]));
    const { code, out, notes } = await offload(api.url, ["tasks", "follow", id]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(notes).toContain(message);
    const json = await offload(api.url, ["tasks", "follow", id, "--json"]);
    expect({ code: json.code, status: JSON.parse(json.out).status }).toEqual({ code: 1, status });
  });

  test("after the time limit the exit code is 124, and the task goes on", async () => {
    await using api = await StubApi.start(showing([task({ status: "processing", finished_at: null })]));
    const { code, out, notes } = await offload(api.url, ["tasks", "follow", id, "--timeout", "1"]);
    expect({ code, out }).toEqual({ code: 124, out: "" });
    expect(notes).toContain("Stopped waiting (the time limit of 1 s is over). The task goes on; it was processing");
    expect(notes).toContain(`npx offload tasks cancel ${id}`);
  });

  test("Ctrl-C stops the wait with exit code 130, and cancels nothing", async () => {
    await using api = await StubApi.start(showing([task({ status: "processing", finished_at: null })]));
    let released = false;
    const onInterrupt = (stop: () => void) => {
      setTimeout(stop, 100);
      return () => {
        released = true;
      };
    };
    const { code, notes } = await offload(api.url, ["tasks", "follow", id], undefined, { onInterrupt });
    expect({ code, released }).toEqual({ code: 130, released: true });
    expect(notes).toContain(`npx offload tasks follow ${id}`);
    expect(api.seen.every(({ method }) => method === "GET")).toBe(true);
  });

  test("a poll that fails once is repeated", async () => {
    let polls = 0;
    await using api = await StubApi.start(() =>
      polls++ === 0 ? problem(503, "unavailable", "Later.") : { json: task() },
    );
    expect(await offload(api.url, ["tasks", "follow", id])).toMatchObject({ code: 0 });
  });

  test("a terminal gets a bar and the time that has passed", async () => {
    const created_at = new Date(Date.now() - 12_000).toISOString();
    const running = task({
      ...{ status: "processing", progress: 40, progress_message: "page 4\u001b of 10", created_at, finished_at: null },
    });
    await using api = await StubApi.start(showing([running, task()]));
    const { notes } = await offload(api.url, ["tasks", "follow", id], undefined, { live: true });
    expect(notes).toContain("████████░░░░░░░░░░░░  40 %  processing, attempt 1 of 5, page 4  of 10, 12 s\n");
  });
});

describe("results", () => {
  const withFile = task({ result: null, result_url: `/tasks/${id}/result` });

  test("a file is saved under its own name in the current folder, and replaces nothing", async () => {
    vi.spyOn(process, "cwd").mockReturnValue(folder);
    await using api = await StubApi.start(showing([withFile]));
    const first = await offload(api.url, ["tasks", "result", id]);
    expect(first).toMatchObject({ code: 0, out: "", notes: "Wrote invoice.pdf (4 bytes).\n" });
    expect(readFileSync(join(folder, "invoice.pdf"), "utf8")).toBe("%PDF");
    const second = await offload(api.url, ["tasks", "follow", id]);
    expect(second.code).toBe(1);
    expect(second.notes).toContain(`invoice.pdf exists; run: npx offload tasks result ${id} --output <file>`);
  });

  test("--output names the file, or the standard output", async () => {
    await using api = await StubApi.start(showing([withFile]));
    const path = join(folder, "out.pdf");
    for (const _ of [1, 2])
      expect(await offload(api.url, ["tasks", "result", id, "--output", path])).toMatchObject({ code: 0 });
    expect(readFileSync(path, "utf8")).toBe("%PDF");
    expect(await offload(api.url, ["tasks", "result", id, "--output", "-"])).toMatchObject({ code: 0, out: "%PDF" });
  });

  test("a JSON result is printed, or written to the file", async () => {
    await using api = await StubApi.start(showing([task()]));
    const path = join(folder, "out.json");
    expect((await offload(api.url, ["tasks", "result", id])).out).toBe('{\n  "sent": 1\n}\n');
    await offload(api.url, ["tasks", "result", id, "--output", path]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ sent: 1 });
  });

  test("a task that has not ended has no result yet", async () => {
    await using api = await StubApi.start(showing([task({ status: "pending" })]));
    const { code, notes } = await offload(api.url, ["tasks", "result", id]);
    expect({ code, notes }).toEqual({
      code: 1,
      notes: `offload: the task is pending; to wait for its result run: npx offload tasks follow ${id}\n`,
    });
  });

  test("tasks extend sends the seconds", async () => {
    await using api = await StubApi.start(() => ({ json: task() }));
    expect(await offload(api.url, ["tasks", "extend", id, "--retention", "3600"])).toMatchObject({ code: 0 });
    expect(api.seen).toMatchObject([{ path: `/tasks/${id}/extend`, body: { retention_seconds: 3600 } }]);
    expect(await offload(api.url, ["tasks", "extend", id])).toMatchObject({ code: 2 });
  });

  test("tasks priority sends the tier, and refuses other words", async () => {
    await using api = await StubApi.start(() => ({ json: task({ status: "pending", priority: "high" }) }));
    const { code, out } = await offload(api.url, ["tasks", "priority", id, "high"]);
    expect(code).toBe(0);
    expect(out).toContain("high");
    expect(api.seen).toMatchObject([{ method: "POST", path: `/tasks/${id}/priority`, body: { priority: "high" } }]);
    for (const words of [[], ["urgent"]]) {
      expect(await offload(api.url, ["tasks", "priority", id, ...words])).toMatchObject({ code: 2 });
    }
    expect(api.seen).toHaveLength(1);
  });

  test("tasks signal sends its body, or none", async () => {
    await using api = await StubApi.start(() => ({ status: 202, json: task({ status: "pending" }) }));
    expect(await offload(api.url, ["tasks", "signal", id, "approved", '{"by":"ada"}'])).toMatchObject({ code: 0 });
    expect(await offload(api.url, ["tasks", "signal", id, "approved"])).toMatchObject({ code: 0 });
    const path = `/tasks/${id}/signals/approved`;
    expect(api.seen).toMatchObject([
      { method: "POST", path, body: { by: "ada" } },
      { method: "POST", path },
    ]);
    expect(await offload(api.url, ["tasks", "signal", id])).toMatchObject({ code: 2 });
  });

  test("tasks follow says what a suspended task waits for, and does not look for failed attempts", async () => {
    // An hour more, which is not shown: a busy machine may need some seconds until it looks.
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000 + 3_600_000).toISOString();
    const waiting = (waiting_for: object) => task({ status: "pending", attempts: 1, result: null, waiting_for });
    const states = [
      waiting({ kind: "sleep", until: inDays(3) }),
      waiting({ kind: "signal", signals: ["paid", "approved"], until: inDays(5) }),
      waiting({ kind: "child", children: ["one", "two\u001b[31m"] }),
      waiting({ kind: "step", step: "charge \u001b[31mcard", attempt: 2, until: inDays(2) }),
      task(),
    ];
    await using api = await StubApi.start(showing(states));
    const { code, notes } = await offload(api.url, ["tasks", "follow", id]);
    expect(code).toBe(0);
    expect(notes).toContain("pending, sleeps, goes on in 3 d, attempt 1 of 5");
    expect(notes).toMatch(/pending, waits for its child one or two.*, attempt 1 of 5/);
    expect(notes).toContain("pending, waits for the signal paid or approved, at most 5 d, attempt 1 of 5");
    expect(notes).toMatch(
      /pending, waits for attempt 2 of the step charge .*card, which starts in 2 d, attempt 1 of 5/,
    );
    expect(api.seen.filter(({ path }) => path.endsWith("/attempts"))).toEqual([]);
  });

  test("tasks follow says what keeps a task from starting, and its place in line", async () => {
    const waiting = (waiting_for: object) => task({ status: "pending", attempts: 0, result: null, waiting_for });
    const states = [
      waiting({ kind: "pause", of: "tier", place: null }),
      waiting({ kind: "rate", rates: 2, place: 7, per_seconds: 86_400, next_start_at: "2000-01-01T00:00:00.000Z" }),
      waiting({ kind: "concurrency", place: 4 }),
      waiting({ kind: "concurrency", order: "strict", place: 2, held_by: "0192-first" }),
      waiting({ kind: "concurrency", order: "strict", place: 3 }),
      waiting({ kind: "rate", place: 1 }),
      task(),
    ];
    await using api = await StubApi.start(showing(states));
    const { code, notes } = await offload(api.url, ["tasks", "follow", id]);
    expect(code).toBe(0);
    expect(notes).toContain("pending, waits for the end of a pause\n");
    expect(notes).toContain("pending, waits for a place, place 4 in line\n");
    expect(notes).toContain("pending, waits for its turn behind 0192-first, which is not over, place 2 in line\n");
    expect(notes).toContain("pending, waits for its turn, place 3 in line\n");
    expect(notes).toContain("pending, waits for its start by the type's rate, place 1 in line\n");
    expect(notes).toContain("pending, waits for its start by the type's rate of 24 h, place 7 in line\n");
  });

  test("tasks follow shows the failed attempt of a task that waits in a line for its next one", async () => {
    const states = [
      task({ status: "pending", attempts: 1, result: null, waiting_for: { kind: "rate", place: 2 } }),
      task({ attempts: 2 }),
    ];
    const failed = { round: 1, number: 1, outcome: "retried", error: "down", next_attempt_at: null };
    await using api = await StubApi.start(showing(states, [failed]));
    expect((await offload(api.url, ["tasks", "follow", id])).notes).toContain("attempt 1 failed: down");
  });
});
