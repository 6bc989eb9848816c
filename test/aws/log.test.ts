import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createLog } from "../../src/aws/log.ts";
import { systemClock } from "../../src/aws/process.ts";

/** What a log writes to standard output, or to the console. */
function written(format: "text" | "json", use: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  const keep = (line: unknown) => lines.push(String(line)) > 0;
  vi.spyOn(process.stdout, "write").mockImplementation(keep);
  vi.spyOn(console, "info").mockImplementation(keep);
  use(createLog("worker", { OFFLOAD_LOG: format }));
  vi.restoreAllMocks();
  return lines.join("");
}

afterEach(() => vi.restoreAllMocks());

describe.each(["text", "json"] as const)("a log as %s", (format) => {
  test("a text cannot write a second line, or rewrite the screen", () => {
    const evil = 'x\n12:00:00.000 worker: forged\r\u001b[2J\u009b1m"';
    const text = written(format, (log) => log.with({ a: evil }).info(evil, { [evil]: evil }));
    expect(text.trimEnd().split(/[\r\n]/)).toHaveLength(1);
    if (format === "text") expect(text.replace(/\n$/, "")).not.toMatch(/\p{Cc}/u);
  });

  test("the log's own fields win over those of a line", () => {
    const text = written(format, (log) => log.with({ tenant_id: "acme" }).info("hi", { tenant_id: "globex" }));
    expect(text).toContain("acme");
    expect(text).not.toContain("globex");
  });

  test.for<[what: string, fields: () => Record<string, unknown>, shown: string]>([
    ["a circle", () => ({ circle: circle() }), "circle"],
    ["a big number", () => ({ cents: 12_345_678_901_234_567_890n }), "12345678901234567890"],
    ["an error", () => ({ error: new RangeError("too far") }), "too far"],
    [
      "what throws when it is read",
      () => ({
        get field() {
          throw new Error("not now");
        },
      }),
      "not now",
    ],
    [
      "what throws when it is written",
      () => ({
        field: {
          toJSON: () => {
            throw new Error("not now");
          },
        },
      }),
      "hello",
    ],
  ])("a line with %s is written and throws nothing", ([, fields, shown]) => {
    const text = written(format, (log) => log.with({ task_id: "t-1" }).info("hello", fields()));
    for (const part of ["hello", "t-1", shown]) expect(text).toContain(part);
    expect(text.trimEnd().split("\n")).toHaveLength(1);
  });
});

function circle(): object {
  const round: { self?: object } = {};
  round.self = round;
  return round;
}

describe("the end of an attempt on the local server", () => {
  const ids = { task_id: "t-1", tenant_id: "acme", correlation_id: "c-1" };
  const settled = (fields: object) =>
    written("text", (log) =>
      log.with({ ...ids, message_id: "m-1", type: "mail.send" }).info("attempt settled", { attempt: 2, ...fields }),
    ).slice("10:02:14.120 ".length);

  test("is one sentence, with the task's ids", () => {
    expect(settled({ outcome: "completed", duration_ms: 37, status: "completed" })).toBe(
      "worker: mail.send: attempt 2 completed after 37 ms  task_id=t-1 tenant_id=acme correlation_id=c-1\n",
    );
  });

  test("says why it failed, and when the next attempt comes", () => {
    const next_attempt_at = "2027-01-01T00:00:30.000Z";
    const fields = { outcome: "retried", duration_ms: 5, error_kind: "transient", error: "down", next_attempt_at };
    expect(settled(fields)).toMatch(
      /: mail\.send: attempt 2 retried after 5 ms, transient: down; next attempt at 2027-01-01T00:00:30\.000Z {2}task_id/,
    );
  });

  test("does not show the error of a sensitive type", () => {
    expect(settled({ outcome: "failed", duration_ms: 5, error_kind: "permanent" })).toContain(
      "after 5 ms, permanent  ",
    );
  });
});

describe("ids on the local server's terminal", () => {
  const id = "01a215d3-9d78-75d1-81a2-94bbddacd930";
  const line = () => written("text", (log) => log.info("done", { task_id: id, message_id: id, correlation_id: id }));

  test("are shortened to what finds the task, and those that nobody looks for are left out", () => {
    expect(line()).toMatch(/: done {2}task_id=01a215d3-9d78\n$/);
    expect(written("text", (log) => log.info("done", { correlation_id: "order-7" }))).toContain(
      "correlation_id=order-7",
    );
  });

  test("what a handler writes to the console keeps its lines, which begin behind the margin", () => {
    const text = written("text", (log) => log.info("a\nb\u001b[2J", { source: "console" }));
    expect(text.split("\n")).toEqual([expect.stringMatching(/: a$/), expect.stringMatching(/^ {4}b\\x1b\[2J/), ""]);
  });

  test("turn no text around, in a message or a field", () => {
    const text = written("text", (log) => log.info("a\u202eb", { error: "c\u2066d\u009b" }));
    expect(text).toContain("a\\u202eb");
    expect(text).toContain('error="c\\u2066d\\x9b"');
  });
});

describe("the time of a line", () => {
  const machine = new Date("2027-01-01T10:02:14.120Z");
  const file = join(mkdtempSync(join(tmpdir(), "offload-log-")), "log.jsonl");
  afterAll(() => rmSync(dirname(file), { recursive: true, force: true }));

  const lines = (aheadMs: number) => {
    vi.useFakeTimers({ now: machine });
    onTestFinished(() => void vi.useRealTimers());
    vi.spyOn(systemClock, "now").mockImplementation(() => machine.getTime() + aheadMs);
    const output = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    createLog("worker", { OFFLOAD_LOG: "text", OFFLOAD_LOG_FILE: file }).info("hi", { task_id: "t" });
    return { terminal: String(output.mock.calls[0]?.[0]), kept: readFileSync(file, "utf8").trim().split("\n").at(-1) };
  };

  test("is the machine's, and the server's where its clock was moved", () => {
    expect(lines(2 * 86_400_000).terminal).toMatch(/^10:02:14\.120 \(2027-01-03T10:02:14Z\) worker: hi /);
    vi.restoreAllMocks();
    expect(lines(0).terminal).toMatch(/^10:02:14\.120 worker: hi /);
  });

  test("is both in the file of a task's log", () => {
    const times = { timestamp: "2027-01-03T10:02:14.120Z", machine_time: "2027-01-01T10:02:14.120Z" };
    expect(JSON.parse(lines(2 * 86_400_000).kept ?? "")).toMatchObject(times);
    vi.restoreAllMocks();
    expect(JSON.parse(lines(0).kept ?? "")).not.toHaveProperty("machine_time");
  });
});
