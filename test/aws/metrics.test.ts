import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMetrics, type StoredMetrics } from "../../src/aws/metrics.ts";
import { observed } from "../../src/aws/observed.ts";

interface Emf {
  _aws: {
    CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string; Unit: string }[] }[];
  };
  [name: string]: unknown;
}

let written: string[] = [];

beforeEach(() => {
  written = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const lines = (): Emf[] => written.flatMap((text) => text.trim().split("\n")).map((line) => JSON.parse(line) as Emf);
const specOf = (line: Emf) => line._aws.CloudWatchMetrics[0];

describe("a function's metrics", () => {
  test("a program outside of the deployment names the deployment, whatever its own service is called", () => {
    const metrics = createMetrics({}, "Offload-other");
    metrics.add("submitted", 1, { tier: "high", type: "mail.send" });
    metrics.flush();
    expect(lines().map(({ service }) => service)).toEqual(["Offload-other"]);
  });

  const countOf = (type: string) => (metrics: StoredMetrics) => {
    for (let task = 0; task < 10; task++) {
      metrics.add("completed", 1, { tier: "high", type });
      metrics.add("queue_wait_ms", task, { tier: "high", type });
    }
  };
  const waits = { Name: "queue_wait_ms", Unit: "Milliseconds" };
  const completed = { Name: "completed", Unit: "Count" };

  test("tasks of one type have one line, whose metrics are the tier's, and some of them the type's, too", () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    countOf("mail.send")(metrics);
    expect(written).toEqual([]);
    metrics.flush();
    const [line, ...more] = lines();
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      ...{ service: "Offload-test", tier: "high", type: "mail.send", completed: Array(10).fill(1) },
      queue_wait_ms: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    });
    const tier = ["service", "tier"];
    expect(line?._aws.CloudWatchMetrics).toEqual([
      { Namespace: "Offload", Dimensions: [tier, [...tier, "type"]], Metrics: [completed] },
      { Namespace: "Offload", Dimensions: [tier], Metrics: [waits] },
    ]);
  });

  test("tasks of several types have one line for their tier and one for each type", () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    countOf("mail.send")(metrics);
    countOf("invoice.make")(metrics);
    metrics.flush();
    const [tier, ...types] = lines();
    expect(tier).toMatchObject({ service: "Offload-test", tier: "high", completed: Array(20).fill(1) });
    expect(specOf(tier as Emf)).toEqual({
      Namespace: "Offload",
      Dimensions: [["service", "tier"]],
      Metrics: [completed, waits],
    });
    for (const [index, type] of ["mail.send", "invoice.make"].entries()) {
      expect(types[index]).toMatchObject({ service: "Offload-test", tier: "high", type, completed: Array(10).fill(1) });
      expect(specOf(types[index] as Emf)).toEqual({
        Namespace: "Offload",
        Dimensions: [["service", "tier", "type"]],
        Metrics: [completed],
      });
    }
    expect(types).toHaveLength(2);
  });

  test("of 250 tasks each value is in one line, of the tier and of the type", () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    for (let task = 0; task < 25; task++) countOf("mail.send")(metrics);
    metrics.flush();
    const counts = (name: string) => lines().map((line) => (line[name] as number[]).length);
    for (const name of ["completed", "queue_wait_ms"]) {
      expect(counts(name).reduce((sum, count) => sum + count)).toBe(250);
      expect(Math.max(...counts(name))).toBe(100);
    }
  });

  test("the first line of a process says how long it took to start", () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    for (const type of ["a", "b"]) metrics.add("completed", 1, { tier: "low", type });
    metrics.flush();
    expect(lines().map(({ init_ms }) => init_ms)).toEqual([expect.any(Number), undefined, undefined]);
  });

  test("metrics are written once, and an empty flush writes nothing", () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    metrics.flush();
    metrics.add("submitted", 1, { tier: "low", type: "a" });
    metrics.flush();
    metrics.flush();
    expect(lines()).toHaveLength(1);
    metrics.add("submitted", 1, { tier: "low", type: "a" });
    metrics.flush();
    expect(lines()).toHaveLength(2);
    expect(lines()[1]).toMatchObject({ service: "Offload-test", tier: "low", submitted: 1 });
  });

  test("metrics are written when the invocation fails, too", async () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    const handler = observed({ metrics }, async (): Promise<void> => {
      metrics.add("failed", 1, { tier: "low", type: "a" });
      throw new Error("it broke");
    });
    await expect(handler()).rejects.toThrow("it broke");
    expect(lines()).toHaveLength(1);
  });

  test("a laptop writes no metrics", () => {
    const metrics = createMetrics({ OFFLOAD_LOG: "text" });
    metrics.add("failed", 1, { tier: "low", type: "a" });
    metrics.flush();
    expect(written).toEqual([]);
  });
});
