import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMetrics } from "../../src/aws/metrics.ts";
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

  test("there is one line for each tier and one for each type, however many tasks there are", () => {
    const metrics = createMetrics({ POWERTOOLS_SERVICE_NAME: "Offload-test" });
    for (let task = 0; task < 10; task++) {
      metrics.add("completed", 1, { tier: "high", type: "mail.send" });
      metrics.add("queue_wait_ms", task, { tier: "high", type: "mail.send" });
    }
    expect(written).toEqual([]);
    metrics.flush();
    const [tier, type, ...more] = lines();
    expect(more).toEqual([]);
    expect(tier).toMatchObject({
      service: "Offload-test",
      tier: "high",
      queue_wait_ms: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    });
    expect(specOf(tier as Emf)).toEqual({
      Namespace: "Offload",
      Dimensions: [["service", "tier"]],
      Metrics: [
        { Name: "completed", Unit: "Count" },
        { Name: "queue_wait_ms", Unit: "Milliseconds" },
      ],
    });
    expect(specOf(type as Emf)).toEqual({
      Namespace: "Offload",
      Dimensions: [["service", "tier", "type"]],
      Metrics: [{ Name: "completed", Unit: "Count" }],
    });
    expect(type).toMatchObject({
      service: "Offload-test",
      tier: "high",
      type: "mail.send",
      completed: Array(10).fill(1),
    });
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
    expect(lines()).toHaveLength(2);
  });

  test("a laptop writes no metrics", () => {
    const metrics = createMetrics({ OFFLOAD_LOG: "text" });
    metrics.add("failed", 1, { tier: "low", type: "a" });
    metrics.flush();
    expect(written).toEqual([]);
  });
});
