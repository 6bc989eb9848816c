import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics } from "@aws-lambda-powertools/metrics";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createLog } from "../../src/aws/log.ts";
import { createMetrics } from "../../src/aws/metrics.ts";
import { metricNamespace } from "../../src/core/model/metrics.ts";
import fc from "../support/fast-check.ts";

// Powertools is the judge: it writes each entry beside ours.

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

type Level = "debug" | "info" | "warn" | "error";
type Use = (log: Record<Level, (message: string, fields: Record<string, unknown>) => void>) => void;

/** The lines of both streams, with their times left out. */
function written(use: () => void): { stream: string; line: Record<string, unknown> }[] {
  const lines: { stream: string; line: Record<string, unknown> }[] = [];
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      for (const line of String(text).trimEnd().split("\n")) lines.push({ stream, line: JSON.parse(line) });
      return true;
    }),
  );
  use();
  for (const spy of spies) spy.mockRestore();
  // Ours has no rate of samples: it is always 0.
  return lines.map(({ stream, line: { timestamp, sampling_rate: _, ...line } }) => {
    expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    return { stream, line };
  });
}

function same(use: Use): void {
  const theirs = written(() => {
    const logger = new Logger({ serviceName: "worker" });
    use({
      debug: logger.debug.bind(logger),
      info: logger.info.bind(logger),
      warn: logger.warn.bind(logger),
      error: logger.error.bind(logger),
    });
  });
  expect(written(() => use(createLog("worker", process.env)))).toEqual(theirs);
}

const withCause = new RangeError("too far", { cause: Object.assign(new Error("deep"), { code: "ECONNRESET" }) });
const circle: { name: string; self?: object; twice?: object[] } = { name: "a" };
circle.self = circle;
const shared = { n: 1 };
circle.twice = [shared, shared];

describe("a line of the log is that of Powertools", () => {
  test.each<[string, Record<string, unknown>]>([
    ["no field", {}],
    ["ids", { task_id: "t-1", tenant_id: "acme", attempt: 2, type: "mail.send" }],
    ["empty values", { a: undefined, b: null, c: "", d: 0, e: false, f: [], g: { h: null, i: "" } }],
    ["an error", { error: withCause }],
    ["an error below", { list: [{ error: withCause }] }],
    ["a large number", { cents: 12_345_678_901_234_567_890n, list: [1n] }],
    ["a circle, and what is there twice", { circle }],
    ["reserved names", { level: "x", message: "y", service: "z", timestamp: 1, sampling_rate: 0.5, kept: 1 }],
    ["dates and other objects", { at: new Date(0), map: new Map([[1, 2]]), set: new Set([1]), f: () => 1 }],
    ["texts of other scripts", { text: "Grüße 😀 \u2028 \n \u001b" }],
  ])("with %s", (_, fields) => {
    same((log) => {
      for (const level of ["debug", "info", "warn", "error"] as const) log[level]("hello", fields);
    });
  });

  test("with any fields of JSON", () => {
    // Powertools leaves out members of these names, below as well.
    const isNamed = (fields: object) => !/"(__proto__|constructor|prototype)":/.test(JSON.stringify(fields));
    const fields = fc
      .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue(), { noNullPrototype: true })
      .filter(isNamed);
    fc.assert(
      fc.property(fc.string(), fields, (message, given) => same((log) => log.info(message, given))),
      { numRuns: Number(process.env.OFFLOAD_PROPERTY_RUNS ?? 200) },
    );
  });

  test.each([
    ["Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1"],
    ["Parent=557abcec3ee5a047;Root=1-a-b"],
    ["Parent=557abcec3ee5a047"],
    ["1-a-b"],
    [""],
  ])("in the trace %j", (trace) => {
    vi.stubEnv("_X_AMZN_TRACE_ID", trace);
    same((log) => log.info("hello", {}));
  });

  test.each([
    ["AWS_LAMBDA_LOG_LEVEL", "DEBUG"],
    ["AWS_LAMBDA_LOG_LEVEL", "WARN"],
    ["AWS_LAMBDA_LOG_LEVEL", "FATAL"],
    ["AWS_LAMBDA_LOG_LEVEL", "nonsense"],
    ["POWERTOOLS_LOG_LEVEL", "ERROR"],
    ["POWERTOOLS_LOG_LEVEL", "SILENT"],
    ["LOG_LEVEL", "DEBUG"],
  ])("where %s is %s", (variable, level) => {
    vi.stubEnv(variable, level);
    same((log) => {
      for (const one of ["debug", "info", "warn", "error"] as const) log[one]("hello", {});
    });
  });
});

test("a line of metrics is that of Powertools, also beyond a hundred values", () => {
  vi.spyOn(Date, "now").mockReturnValue(1_800_000_000_000);
  vi.stubEnv("POWERTOOLS_SERVICE_NAME", "Offload-test");
  const lines = (use: () => void) => {
    const texts: string[] = [];
    const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => texts.push(String(text)) > 0);
    use();
    spy.mockRestore();
    return texts;
  };
  const add = 250;
  const theirs = lines(() => {
    const emf = new Metrics({ namespace: metricNamespace, defaultDimensions: { tier: "high" } });
    for (let count = 0; count < add; count++) {
      emf.addMetric("started", "Count", 1);
      emf.addMetric("queue_wait_ms", "Milliseconds", count);
    }
    emf.publishStoredMetrics();
  });
  const ours = lines(() => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    for (let count = 0; count < add; count++) {
      metrics.add("started", 1, { tier: "high", type: "a" });
      metrics.add("queue_wait_ms", count, { tier: "high", type: "a" });
    }
    metrics.flush();
  });
  const [first = "", ...others] = ours;
  const { init_ms, ...line } = JSON.parse(first);
  expect(init_ms).toBeGreaterThan(0);
  expect([`${JSON.stringify(line)}\n`, ...others]).toEqual(theirs);
});
