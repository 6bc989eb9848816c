import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { WaitQueues } from "../../../../src/core/ports/flow.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

type Write = "passPermit" | "releasePermit" | "acquirePermits";

/** Tasks of a second, in one place. */
function setUp() {
  const starts: number[] = [];
  const order: number[] = [];
  const handler = async (input: unknown) => {
    order.push((input as { n: number }).n);
    starts.push((pipeline.clock.now() - began) / 1_000);
    await new Promise<void>((resolve) => pipeline.clock.after(1_000, resolve));
  };
  const type = typeOf(handler, { input: z.object({ n: z.number() }), timeoutSeconds: 30, concurrency: { limit: 1 } });
  const pipeline = memoryPipeline([type]);
  const began = pipeline.clock.now();
  /** Lets one call of a write fail, before or after it is made. */
  const failOnce = (method: Write, when: "before" | "after", nth = 1) => {
    const { lines } = pipeline;
    const call = lines[method].bind(lines) as (...given: unknown[]) => Promise<unknown>;
    let calls = 0;
    const failing = async (...given: unknown[]) => {
      calls += 1;
      if (calls !== nth) return call(...given);
      if (when === "after") await call(...given);
      throw new PortUnavailable("the table");
    };
    Object.assign(lines, { [method]: failing } as Partial<WaitQueues>);
  };
  const submitMany = async (count: number) => {
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { n } });
      await pipeline.clock.advance(1);
    }
  };
  return { ...pipeline, pool: workerPool(pipeline), starts, order, failOnce, submitMany };
}

test.each(["reserve", "withEnvelopes"] as const)("a place is given back when %s fails", async (method) => {
  const { pool, starts, submitMany, lines, ports } = setUp();
  // With places in several items, workers reserve the next task.
  Object.assign(ports, method === "reserve" ? { bucketSize: 1 } : {});
  await ports.flowSettings.put({ kind: "limits", name: "limits/test.task", concurrency: 2 });
  const call = lines[method].bind(lines) as (...given: unknown[]) => Promise<unknown>;
  let fails = 0;
  await submitMany(12);
  await pool.pass(2_500, 50);
  if (method === "withEnvelopes") {
    const first = lines.first.bind(lines);
    lines.first = async (...given) => (await first(...given)).map(({ envelope: _, ...task }) => task);
  }
  Object.assign(lines, {
    [method]: async (...given: unknown[]) => {
      fails += 1;
      if (fails <= 2) throw new PortUnavailable("the table");
      return call(...given);
    },
  });
  await pool.pass(15_000, 50);
  expect(fails).toBeGreaterThan(2);
  expect(starts).toHaveLength(12);
});

test("a task whose message could not be read is not passed over by the next one", async () => {
  const { pool, order, submitMany, lines } = setUp();
  await submitMany(6);
  await pool.pass(500, 50);
  const [first, withEnvelopes] = [lines.first.bind(lines), lines.withEnvelopes.bind(lines)];
  lines.first = async (...given) => (await first(...given)).map(({ envelope: _, ...task }) => task);
  let reads = 0;
  lines.withEnvelopes = async (...given) => {
    reads += 1;
    if (reads === 1) throw new PortUnavailable("the table");
    return withEnvelopes(...given);
  };
  await pool.pass(60_000, 50);
  expect(reads).toBeGreaterThan(1);
  expect(order).toEqual([0, 1, 2, 3, 4, 5]);
});

describe("a line goes on when the answer of a write is lost", () => {
  test.each([
    { method: "passPermit", when: "after", nth: 2 },
    { method: "passPermit", when: "before", nth: 2 },
    { method: "releasePermit", when: "after", nth: 1 },
    { method: "acquirePermits", when: "after", nth: 1 },
    { method: "acquirePermits", when: "after", nth: 2 },
  ] as const)("of $method, which fails $when it is made, call $nth", async ({ method, when, nth }) => {
    const { pool, starts, failOnce, submitMany, records, lines } = setUp();
    failOnce(method, when, nth);
    await submitMany(8);
    await pool.pass(15_000, 50);
    expect(starts).toHaveLength(8);
    await pool.pass(5_000);
    expect((await lines.state("concurrency/test.task/acme/")).permits.size).toBe(0);
    await pool.pass(300_000);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
    expect(starts).toHaveLength(8);
  });
});
