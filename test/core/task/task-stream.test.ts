import { describe, expect, onTestFinished, test, vi } from "vitest";
import { redacted } from "../../../src/core/task/handler-log.ts";
import { taskStream } from "../../../src/entries/task-stream.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

/** Runs a task whose handler writes to the stream. Returns the lines of its log. */
async function runWriting(chunks: readonly string[], { input = {}, sensitive = false } = {}) {
  const stream = taskStream();
  const type = typeOf(
    () => {
      for (const chunk of chunks) stream.write(chunk);
    },
    { sensitive },
  );
  const { accept, work, log } = memoryPipeline([type]);
  const { task_id } = await accept({ input });
  await work();
  const own = log.lines.filter(
    ({ message }) => !["task submitted", "attempt started", "attempt settled"].includes(message),
  );
  for (const { fields } of own) expect(fields).toMatchObject({ task_id, tenant_id: "acme", attempt: 1 });
  const ids = ["task_id", "tenant_id", "type", "attempt", "correlation_id", "message_id", "tier"];
  return own.map(({ level, message, fields }) => {
    const others = Object.entries(fields).filter(([name]) => !ids.includes(name));
    return { level, message, fields: Object.fromEntries(others) };
  });
}

/** Lines as pino 10.4 and winston 3.19 write them. */
const pinoLine = (more: object) =>
  `${JSON.stringify({ level: 40, time: 1795953538344, pid: 7, hostname: "vm", ...more })}\n`;
const winstonLine = (more: object) => `${JSON.stringify({ ...more, timestamp: "2026-11-29T11:58:58.349Z" })}\n`;

describe("a line of a logger in an attempt", () => {
  test.each([
    ["pino's", pinoLine({ order: 7, msg: "paid" }), { level: "warn", message: "paid", fields: { order: 7 } }],
    [
      "pino's error",
      pinoLine({ level: 50, err: { type: "Error", message: "bad", stack: "Error: bad" }, msg: "bad" }),
      { level: "error", message: "bad", fields: { err: { type: "Error", message: "bad", stack: "Error: bad" } } },
    ],
    [
      "winston's",
      winstonLine({ level: "debug", message: "read", rows: 2 }),
      { level: "debug", message: "read", fields: { rows: 2 } },
    ],
    ["a text", "info: paid { order: 7 }\n", { level: "info", message: "info: paid { order: 7 }", fields: {} }],
    ["no JSON", "{ order }\n", { level: "info", message: "{ order }", fields: {} }],
  ])("%s is a line of the task's log", async (_, chunk, line) => {
    expect(await runWriting([chunk])).toEqual([line]);
  });

  test.each([
    ...[10, 20, 29, "trace", "debug", "verbose", "silly"].map((level) => [level, "debug"]),
    ...[30, 35, "info", "http", "notice", "of my own", null].map((level) => [level, "info"]),
    ...[40, "warn", "warning"].map((level) => [level, "warn"]),
    ...[50, 60, "error", "fatal", "emerg", "alert", "crit"].map((level) => [level, "error"]),
  ])("the level %s is %s", async (level, expected) => {
    expect(await runWriting([pinoLine({ level, msg: "m" })])).toMatchObject([{ level: expected }]);
  });

  test("several lines of JSON in one write are lines each, those of a text are one", async () => {
    const two = pinoLine({ msg: "a" }) + pinoLine({ msg: "b" });
    const messages = (await runWriting([two, "one\ntwo\n"])).map(({ message }) => message);
    expect(messages).toEqual(["a", "b", "one\ntwo"]);
  });

  test("of a sensitive type has neither values nor texts of the input", async () => {
    const input = { card: "4111-1111" };
    const lines = await runWriting([pinoLine({ msg: "card 4111-1111", card: "4111-1111" }), "card 4111-1111\n"], {
      input,
      sensitive: true,
    });
    expect(lines).toEqual([
      { level: "warn", message: `card ${redacted}`, fields: { card: redacted } },
      { level: "info", message: `card ${redacted}`, fields: {} },
    ]);
  });
});

describe("what is no line of a task's log goes out as it is", () => {
  test("a line in the embedded metric format, by the console, which the worker reads", async () => {
    const out = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => out.mockRestore());
    const metrics = { _aws: { Timestamp: 1, CloudWatchMetrics: [{ Namespace: "Shop" }] }, Orders: 3 };
    expect(await runWriting([pinoLine(metrics)])).toEqual([]);
    expect(out.mock.calls).toEqual([[pinoLine(metrics).trimEnd()]]);
  });

  test("a line of no attempt", () => {
    const out = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    onTestFinished(() => out.mockRestore());
    taskStream().write(pinoLine({ msg: "the pool is open" }));
    expect(out.mock.calls).toEqual([[pinoLine({ msg: "the pool is open" })]]);
  });
});
