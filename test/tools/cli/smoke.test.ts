import { describe, expect, test } from "vitest";
import { type Answer, problem, programOf, type Seen, StubApi } from "./stub-api.ts";

const { offload } = programOf({ smoke: () => import("../../../src/tools/cli/smoke.ts") });

interface Fake extends Record<string, unknown> {
  task_id: string;
  type: string;
  status: string;
  input: Record<string, unknown>;
}

const at = (ms: number) => new Date(Date.parse("2027-01-01T00:00:00.000Z") + ms).toISOString();
const ended = new Set(["completed", "failed", "cancelled", "expired"]);

interface Faults {
  /** Default: true. */
  probes?: boolean;
  /** What is wrong with a task that ends. */
  spoil?: (task: Fake) => object;
  /** Answers in the deployment's place. */
  instead?: (request: Seen) => Answer | undefined;
  /** No worker takes a task. */
  idle?: boolean;
}

/** A deployment whose tasks go one step on with each poll. */
class FakeDeployment {
  readonly tasks: Fake[] = [];
  readonly letters = new Set<string>();
  readonly faults: Faults;

  constructor(faults: Faults = {}) {
    this.faults = faults;
  }

  answer = (request: Seen): Answer => this.faults.instead?.(request) ?? this.#answer(request);

  #answer(request: Seen): Answer {
    const { method, path } = request;
    if (path === "/health") return { json: { status: "ok", version: "9.8.7" } };
    if (path === "/tasks") return this.#submit(request.body as Partial<Fake>);
    if (path.startsWith("/dead-letters")) return this.#letters(method, request.body as { task_ids: string[] });
    if (path.startsWith("/operations/")) return { json: { status: "completed", matched: 1, done: 1, failed: 0 } };
    const [, , id, part] = path.split("/");
    const task = this.tasks.find(({ task_id }) => task_id === id);
    if (task === undefined) return problem(404, "not_found", "No such task.");
    if (part === "attempts") return { json: { attempts: attemptsOf(task) } };
    if (part === "cancel") Object.assign(task, { status: "cancelled", finished_at: at(9) });
    else if (!this.faults.idle) this.#goOn(task);
    return { json: task };
  }

  #submit({ type = "", input, ...body }: Partial<Fake>): Answer {
    if (type.startsWith("probe.") && this.faults.probes === false)
      return problem(422, "unknown_task_type", "type: no such type.");
    if (input === null) return problem(422, "invalid_input", "input: expected object");
    const run_at = body.delay_seconds === undefined ? null : at(3_000);
    const times = { created_at: at(0), started_at: null, finished_at: null, run_at };
    const task = { ...body, ...times, task_id: `t${this.tasks.length}`, type, input: input ?? {}, status: "pending" };
    this.tasks.push({ attempts: 0, error: null, error_kind: null, result: null, ...task });
    return { status: 202, json: { task_id: task.task_id } };
  }

  #letters(method: string, body: { task_ids: string[] } | undefined): Answer {
    if (method === "GET") {
      return { json: { dead_letters: [...this.letters].map((task_id) => ({ task_id })), next_cursor: null } };
    }
    for (const id of body?.task_ids ?? []) this.letters.delete(id);
    return { status: 202, json: { operation_id: "op", matched: 1 } };
  }

  #goOn(task: Fake): void {
    if (ended.has(task.status)) return;
    if (task.status === "pending") {
      Object.assign(task, { status: "processing", attempts: 1, started_at: at(task.run_at === null ? 40 : 3_007) });
      return;
    }
    if (task.type === "probe.sleep") return;
    const failed = task.input.kind === "permanent";
    const end = failed ? { status: "failed", error: "as told", error_kind: "permanent" } : { status: "completed" };
    const attempts = task.input.kind === "conflict" ? 2 : 1;
    const finished_at = at(task.run_at === null ? 100 : 3_100);
    Object.assign(
      task,
      { ...end, attempts, finished_at, result: { value: task.input.value } },
      this.faults.spoil?.(task),
    );
    if (task.status === "failed") this.letters.add(task.task_id);
  }
}

const attemptsOf = ({ attempts }: Fake) =>
  Array.from({ length: Number(attempts) }, (_, index) => ({
    started_at: at(index * 1_200),
    outcome: index + 1 === attempts ? "completed" : "retried",
  }));

/** Runs the smoke test against a fake deployment. */
async function smoke(fake: FakeDeployment, ...args: string[]) {
  await using api = await StubApi.start(fake.answer);
  return { ...(await offload(api.url, ["smoke", ...args])), seen: api.seen };
}

const lines = (out: string) => out.split("\n");
const failures = (out: string) => lines(out).filter((line) => line.startsWith("FAIL"));

describe("a deployment in good order", () => {
  test("every check passes", async () => {
    const fake = new FakeDeployment();
    const { code, out } = await smoke(fake);
    expect(code).toBe(0);
    expect(lines(out).slice(2, 11)).toEqual([
      "ok    health      version 9.8.7",
      expect.stringMatching(/^ok {4}critical {4}3 completed, the slowest in \d+ ms$/),
      expect.stringMatching(/^ok {4}high {8}3 completed/),
      expect.stringMatching(/^ok {4}normal {6}3 completed/),
      expect.stringMatching(/^ok {4}low {9}3 completed/),
      "ok    delayed     started 7 ms after its delay of 3 s",
      "ok    retried     the second attempt came 1200 ms after the first",
      "ok    failed      became a dead letter after one attempt, and was discarded",
      expect.stringMatching(/^ok {4}cancelled {3}stopped \d+ ms after the request$/),
    ]);
    expect(out).toMatch(
      /\nSTAGE +P50 \(MS\) +MAX \(MS\)\nsubmit answered +\d+ +\d+\nqueue wait +40 +40\nrun +60 +60\n/,
    );
  });

  test("no open task and no dead letter is left behind", async () => {
    const fake = new FakeDeployment();
    await smoke(fake);
    expect(fake.letters).toEqual(new Set());
    expect(fake.tasks.filter(({ status }) => !ended.has(status))).toEqual([]);
    expect(new Set(fake.tasks.map(({ retention_seconds }) => retention_seconds))).toEqual(new Set([60]));
  });

  test("each tier gets the given number of tasks", async () => {
    const fake = new FakeDeployment();
    await smoke(fake, "--count", "2");
    const echoes = fake.tasks.filter(({ type, delay_seconds }) => type === "probe.echo" && delay_seconds === undefined);
    const inTier = (tier: string) => echoes.filter(({ priority }) => priority === tier).length;
    expect(["critical", "high", "normal", "low"].map(inTier)).toEqual([2, 2, 2, 2]);
  });

  test("--json prints the report", async () => {
    const { code, out } = await smoke(new FakeDeployment(), "--json");
    const report = JSON.parse(out);
    expect(code).toBe(0);
    expect(report).toMatchObject({ ok: true, checks: expect.arrayContaining([expect.objectContaining({ ok: true })]) });
    expect(report.checks).toHaveLength(9);
    expect(report.stages).toMatchObject([
      { stage: "submit answered" },
      { stage: "queue wait", p50_ms: 40, max_ms: 40 },
      { stage: "run", p50_ms: 60, max_ms: 60 },
      { stage: "end seen" },
      { stage: "total" },
    ]);
  });

  test("--type tests a deployment without the probes", async () => {
    const fake = new FakeDeployment({ probes: false });
    const own = ["--type", "mail.send", "--input", '{"to":"smoke@example.com"}'];
    const { code, out } = await smoke(fake, "--count", "1", ...own);
    expect(code).toBe(0);
    expect(fake.tasks).toHaveLength(5);
    for (const task of fake.tasks)
      expect(task).toMatchObject({ type: "mail.send", input: { to: "smoke@example.com" } });
    expect(out).not.toMatch(/retried|failed|cancelled/);
  });
});

describe("a deployment that is not in order", () => {
  const only = (type: string, what: object) => (task: Fake) => (task.type === type ? what : {});

  test.each([
    [
      "a result that is another's",
      only("probe.echo", { result: { value: 2 } }),
      /^FAIL {2}low {9}task t\d+ has an unexpected result: {"value":2}$/,
    ],
    [
      "a task that fails",
      only("probe.echo", { status: "failed", error: "no" }),
      /^FAIL {2}delayed {5}task t\d+ is failed: no$/,
    ],
    [
      "a delayed task before its time",
      only("probe.echo", { started_at: at(2_990) }),
      /^FAIL {2}delayed {5}task t\d+ started 10 ms before/,
    ],
    [
      "a retried task without a second attempt",
      only("probe.fail", { attempts: 1 }),
      /^FAIL {2}retried {5}task t\d+ has 1 attempts/,
    ],
    [
      "a failure of another kind",
      only("probe.fail", { error_kind: "crashed" }),
      /^FAIL {2}failed {6}task t\d+ failed as crashed/,
    ],
    [
      "a failure that does not come",
      only("probe.fail", { status: "completed", error: null }),
      /^FAIL {2}failed {6}task t\d+ is completed$/,
    ],
  ])("the smoke test finds %s", async (_, spoil, line) => {
    const fake = new FakeDeployment({ spoil });
    const { code, out, notes } = await smoke(fake);
    expect(code).toBe(1);
    expect(failures(out)).toContainEqual(expect.stringMatching(line));
    expect(notes).toMatch(/offload: \d+ of 9 checks failed\n$/);
    expect(fake.letters).toEqual(new Set());
  });

  test("the smoke test finds a task that cannot be cancelled", async () => {
    const instead = ({ path }: Seen) =>
      path.endsWith("/cancel") ? problem(409, "conflict", "It cannot be cancelled.") : undefined;
    const { code, out } = await smoke(new FakeDeployment({ instead }));
    expect(code).toBe(1);
    expect(failures(out)).toEqual([
      "FAIL  cancelled   It cannot be cancelled. (409 conflict)",
      expect.stringMatching(/^FAIL {2}cleared up {2}could not clean up t\d+: It cannot be cancelled/),
    ]);
  });

  test("the smoke test gives up after its time-out, and leaves nothing behind", async () => {
    const fake = new FakeDeployment({ idle: true });
    const { code, out } = await smoke(fake, "--timeout", "1", "--count", "1");
    expect(code).toBe(1);
    expect(failures(out)).toHaveLength(8);
    expect(failures(out)[0]).toMatch(/^FAIL {2}critical {4}task t\d+ is still pending after 1 s$/);
    expect(out).not.toContain("STAGE");
    expect(new Set(fake.tasks.map(({ status }) => status))).toEqual(new Set(["cancelled"]));
  });

  test("a poll that is answered with 429 is repeated", async () => {
    let polls = 0;
    const instead = ({ method, path }: Seen) => {
      if (method !== "GET" || !path.startsWith("/tasks/")) return undefined;
      polls += 1;
      return polls % 2 === 0 ? problem(429, "rate_limited", "Too many requests.") : undefined;
    };
    const { code, out } = await smoke(new FakeDeployment({ instead }), "--type", "mail.send", "--count", "1");
    expect({ code, failures: failures(out) }).toEqual({ code: 0, failures: [] });
  });

  test("a discard that did not succeed fails its check", async () => {
    const instead = ({ path }: Seen) =>
      path.startsWith("/operations/") ? { json: { status: "completed", matched: 1, done: 0, failed: 1 } } : undefined;
    const { code, out } = await smoke(new FakeDeployment({ instead }));
    expect(code).toBe(1);
    expect(failures(out)[0]).toBe("FAIL  failed      the discard op is completed, 1 failed");
  });
});

describe("before any task is submitted", () => {
  const refuse = (path: string, answer: Answer) => (request: Seen) => (request.path === path ? answer : undefined);

  test.each([
    [
      "a deployment without probes is told apart",
      { probes: false },
      /the probe types are not registered there.*-c probes=1.*--type/,
    ],
    [
      "a key that is no operator's is refused",
      { instead: refuse("/dead-letters", problem(403, "forbidden", "This request requires the role operator.")) },
      /^offload: This request requires the role operator\. \(403 forbidden\)\n$/,
    ],
    [
      "a deployment that is not healthy is told apart",
      { instead: refuse("/health", problem(503, "unavailable", "The table is down.")) },
      /^offload: The table is down\. \(503 unavailable/,
    ],
  ])("%s", async (_, faults, message) => {
    const fake = new FakeDeployment(faults);
    const { code, out, notes } = await smoke(fake);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(notes).toMatch(message);
    expect(fake.tasks).toEqual([]);
  });

  test.for<string[]>([
    ["--input", "{}"],
    ["--type", "t", "--input", "{"],
    ["--count", "0"],
    ["--count", "101"],
    ["--timeout", "soon"],
  ])("%j is a misuse", async (args) => {
    const fake = new FakeDeployment();
    expect(await smoke(fake, ...args)).toMatchObject({ code: 2, out: "", seen: [] });
  });
});
