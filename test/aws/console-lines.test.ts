import { describe, expect, onTestFinished, test, vi } from "vitest";
import { taskLinesFromConsole } from "../../src/aws/console-lines.ts";
import { redacted } from "../../src/core/task/handler-log.ts";
import type { KeptLog } from "../support/kept.ts";
import { memoryPipeline } from "../support/memory-pipeline.ts";
import { typeOf } from "../support/task-types.ts";

/** A line as aws-embedded-metrics 4.2.1 writes it in a function. */
const libraryLine =
  '{"LogGroup":"svc-WorkerNormal","ServiceName":"svc-WorkerNormal","ServiceType":"AWS::Lambda::Function","Service":"Aggregator",' +
  '"RequestId":"422b1569-16f6-4a03-b8f0-fe3fd9b100f8","executionEnvironment":"AWS_Lambda_nodejs24.x","functionVersion":"$LATEST",' +
  '"_aws":{"Timestamp":1795899311602,"CloudWatchMetrics":[{"Dimensions":[["LogGroup","ServiceName","ServiceType","Service"]],' +
  '"Metrics":[{"Name":"ProcessingLatency","Unit":"Milliseconds"}],"Namespace":"Shop"}]},"ProcessingLatency":[100,120]}';

const metricsOf = (more: object) => ({
  _aws: {
    Timestamp: 1795899311602,
    CloudWatchMetrics: [
      {
        Namespace: "Shop",
        Dimensions: [["Plan"]],
        Metrics: [{ Name: "Orders", Unit: "Count", StorageResolution: 60 }],
      },
    ],
  },
  ...{ Plan: "gold", Orders: 3 },
  ...more,
});

interface Run {
  /** Lines that went out by themselves. */
  written: string[];
  log: KeptLog["lines"];
  task: { task_id: string; tenant_id: string };
}

/** Runs a task whose handler writes to a console. */
async function runWriting(
  write: (target: Console, task: { taskId: string; tenantId: string }) => void,
  { input = {}, sensitive = false } = {},
): Promise<Run> {
  const written: string[] = [];
  const target = { ...console } as Console;
  taskLinesFromConsole(target, (line) => written.push(line));
  const type = typeOf((_, task) => write(target, task), { sensitive });
  const { accept, work, log } = memoryPipeline([type]);
  const task = await accept({ input });
  await work();
  return { written, log: log.lines.filter(({ fields }) => fields.source !== undefined), task };
}

test("what a handler writes to the console is a line of its task; other code's output stays as it is", async () => {
  const written: unknown[] = [];
  const target = { ...console, log: (...values: unknown[]) => written.push(values) } as Console;
  taskLinesFromConsole(target);
  target.log("before", 1);
  const type = typeOf(() => {
    target.log("hello %s", "bob", { a: 1 });
    target.error("bad");
  });
  const { accept, work, log } = memoryPipeline([type]);
  const { task_id, tenant_id } = await accept();
  await work();
  const source = { source: "console", task_id, tenant_id };
  expect(log.lines.filter(({ fields }) => fields.source !== undefined)).toMatchObject([
    { level: "info", message: "hello bob { a: 1 }", fields: source },
    { level: "error", message: "bad", fields: source },
  ]);
  target.log(JSON.stringify(metricsOf({})));
  expect(written).toEqual([["before", 1], [JSON.stringify(metricsOf({}))]]);
});

test("code that goes on after the end of a sensitive attempt writes no text of its input", async () => {
  const written: unknown[] = [];
  const target = { ...console, log: (...values: unknown[]) => written.push(values) } as Console;
  taskLinesFromConsole(target);
  const late = Promise.withResolvers<void>();
  let goneOn: Promise<unknown> | undefined;
  const type = typeOf(
    ({ name }) => {
      goneOn = late.promise.then(() => target.log("hello", { name }));
    },
    { sensitive: true },
  );
  const { accept, work } = memoryPipeline([type]);
  await accept({ input: { name: "ada.lovelace" } });
  await work();
  late.resolve();
  await goneOn;
  expect(written).toEqual([[`hello { name: '${redacted}' }`]]);
});

describe("a line in the embedded metric format", () => {
  test.each([
    ["of aws-embedded-metrics", libraryLine],
    ["by hand", JSON.stringify(metricsOf({ note: "50 % off, %s" }))],
    ["with spaces", `  ${JSON.stringify(metricsOf({})).replaceAll(":", ": ")} `],
    ["without a metric", JSON.stringify({ _aws: { Timestamp: 1, CloudWatchMetrics: [] } })],
  ])("%s goes out as it is, from each method", async (_, line) => {
    const methods = ["debug", "log", "info", "warn", "error"] as const;
    const { written, log } = await runWriting((target) => {
      for (const method of methods) target[method](line);
    });
    expect(written).toEqual(methods.map(() => line));
    expect(log).toEqual([]);
  });

  test("in several lines becomes one, as each line of the output is an event of its own", async () => {
    const { written } = await runWriting((target) => target.log(JSON.stringify(metricsOf({}), null, 2)));
    expect(written).toEqual([JSON.stringify(metricsOf({}))]);
  });

  test("may name its own task, and no other one", async () => {
    const lineOf = (ids: object) => JSON.stringify(metricsOf(ids));
    const others = [{ task_id: "0192-b" }, { tenant_id: "globex" }, { task_id: null }, { task_id: ["0192-b"] }];
    const { written, log, task } = await runWriting((target, { taskId, tenantId }) => {
      target.log(lineOf({ task_id: taskId, tenant_id: tenantId }));
      for (const other of others) target.log(lineOf(other));
    });
    expect(written).toEqual([lineOf({ task_id: task.task_id, tenant_id: task.tenant_id })]);
    expect(log.map(({ message }) => message)).toEqual(others.map(lineOf));
  });

  test.each([
    ["below the root", JSON.stringify({ message: metricsOf({}) })],
    ["without its list", JSON.stringify({ _aws: { Timestamp: 1 } })],
    ["in a list", JSON.stringify([metricsOf({})])],
    ["cut off", libraryLine.slice(0, -1)],
    ["behind a text", `metrics: ${libraryLine}`],
    ["as null", '{"_aws":null}'],
  ])("%s is a line of the task", async (_, line) => {
    const { written, log } = await runWriting((target) => target.log(line));
    expect(written).toEqual([]);
    expect(log.map(({ message }) => message)).toEqual([line]);
  });

  test("of a sensitive type keeps metrics and dimensions, without texts of the input", async () => {
    const input = { card: "4111 1111", plan: "gold-4711" };
    const line = metricsOf({
      ...{ Plan: "plan gold-4711", Orders: [3, 4], card: "4111 1111", nested: { card: "4111 1111" }, "gold-4711": 1 },
    });
    const { written, log } = await runWriting((target) => target.log(JSON.stringify(line)), { input, sensitive: true });
    expect(log).toEqual([]);
    expect(written.map((text) => JSON.parse(text))).toEqual([
      {
        ...metricsOf({ Plan: `plan ${redacted}`, Orders: [3, 4] }),
        ...{ card: redacted, nested: redacted, [redacted]: redacted },
      },
    ]);
  });

  test("of a sensitive type loses what only claims to be a metric or a dimension", async () => {
    const secret = "4111 1111";
    const CloudWatchMetrics = [null, 7, { Dimensions: "Plan", Metrics: [{ Name: "Orders" }, null, { Name: "List" }] }];
    const line = { _aws: { [secret]: secret, CloudWatchMetrics }, Orders: secret, List: [1, secret], Plan: secret };
    const run = await runWriting((target) => target.log(JSON.stringify(line)), {
      ...{ input: { secret }, sensitive: true },
    });
    expect(JSON.stringify([run.written, run.log])).not.toContain("4111");
  });
});

describe("its output", () => {
  /** Lets a handler write a line with metrics where this process writes, and returns what came there. */
  async function outputOf(env: Record<string, string>, line: string) {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const written: string[] = [];
    const streams = ["stdout", "stderr"] as const;
    const spies = streams.map((stream) =>
      vi.spyOn(process[stream], "write").mockImplementation((text) => {
        written.push(`${stream}: ${text}`);
        return true;
      }),
    );
    onTestFinished(() => {
      vi.unstubAllEnvs();
      for (const spy of spies) spy.mockRestore();
    });
    const target = { ...console, log: () => written.push("the console") } as Console;
    taskLinesFromConsole(target);
    const { accept, work } = memoryPipeline([typeOf(() => target.log(line))]);
    await accept();
    await work();
    return written;
  }

  test("in AWS is the standard output, past Lambda's console", async () => {
    expect(await outputOf({}, libraryLine)).toEqual([`stdout: ${libraryLine}\n`]);
  });

  test("on a terminal cannot change the screen", async () => {
    const line = JSON.stringify(metricsOf({ note: "\u009b2J\u007f" }));
    const shown = line.replace("\u009b", "\\x9b").replace("\u007f", "\\x7f");
    expect(await outputOf({ OFFLOAD_LOG: "text" }, line)).toEqual([`stdout: ${shown}\n`]);
    vi.restoreAllMocks();
    const toStderr = { OFFLOAD_LOG: "text", OFFLOAD_LOG_TO: "stderr" };
    expect(await outputOf(toStderr, line)).toEqual([`stderr: ${shown}\n`]);
  });
});
