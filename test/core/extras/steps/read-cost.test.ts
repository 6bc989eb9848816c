import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import type { StepEntry } from "../../../../src/core/ports/steps.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { bytesOf } from "../../../../src/util/item-bytes.ts";
import { writeUnits } from "../../../support/item-bytes.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

/** Bytes of a read unit, for consistent reads. */
const readUnitBytes = 4096;

/** Bytes that the table's keys add to an entry. */
const keyBytes = 120;

const sizeOf = (entry: StepEntry): number => bytesOf(entry) + keyBytes;

/** A task of steps with results of a size, and sleeps evenly between them; and the units of its entries. */
async function costOf(steps: number, resultBytes: number, sleeps: number, seen?: (step: number) => void) {
  const type = typeOf(async (_: unknown, given: unknown) => {
    const task = given as TaskContext<never>;
    for (let number = 0; number < steps; number++) {
      const result = await task.step(`step ${number}`, () => `${number} `.padEnd(resultBytes, "x"));
      expect(result).toHaveLength(resultBytes);
      seen?.(number);
      if ((number + 1) % Math.floor(steps / sleeps) === 0) await task.sleep(60);
    }
  });
  const pipeline = memoryPipeline([{ ...type, timeoutSeconds: 600 }]);
  const cost = { reads: 0, readUnits: 0, writeUnits: 0 };
  const { load, add } = {
    load: pipeline.steps.load.bind(pipeline.steps),
    add: pipeline.steps.add.bind(pipeline.steps),
  };
  vi.spyOn(pipeline.steps, "load").mockImplementation(async (...given) => {
    const entries = await load(...given);
    cost.reads += 1;
    cost.readUnits += Math.ceil(entries.reduce((sum, entry) => sum + sizeOf(entry), 0) / readUnitBytes);
    // Strings of its own, as from a network.
    return JSON.parse(JSON.stringify(entries)) as typeof entries;
  });
  vi.spyOn(pipeline.steps, "add").mockImplementation((owner, entry, purgeAt) => {
    cost.writeUnits += writeUnits(sizeOf(entry));
    return add(owner, entry, purgeAt);
  });
  const record = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
  return cost;
}

describe("each attempt reads all entries of its task, as its handler makes all calls again", () => {
  // A read unit costs a fifth of a write unit, and is for four times as many bytes.
  test.each([
    [10, 100, { reads: 10, readUnits: 12, writeUnits: 20 }],
    [100, 100, { reads: 10, readUnits: 46, writeUnits: 110 }],
    [990, 100, { reads: 10, readUnits: 394, writeUnits: 1_000 }],
    [10, 16_000, { reads: 10, readUnits: 230, writeUnits: 170 }],
    [990, 16_000, { reads: 10, readUnits: 21_527, writeUnits: 15_850 }],
  ])("%i steps with results of %i bytes and ten sleeps: reads cost at most 28 %% of the writes", async (...given) => {
    const [steps, resultBytes, expected] = given;
    const cost = await costOf(steps, resultBytes, 10);
    expect(cost).toEqual(expected);
    expect(cost.readUnits / 5).toBeLessThan(0.28 * cost.writeUnits);
  });
});

test("an attempt keeps no result that its handler has got: 16 MB less at its end than at its first step", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heap: number[] = [];
  await costOf(998, 16_000, 2, (step) => {
    if (step !== 0 && step !== 997) return;
    collect();
    heap.push(process.memoryUsage().heapUsed);
  });
  const [first = 0, last = 0] = heap.slice(-2);
  expect(first - last).toBeGreaterThan(10e6);
});
