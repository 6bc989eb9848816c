import { describe, expect, test } from "vitest";
import { changePriority } from "../../../../src/core/control/change-waiting.ts";
import { cancel } from "../../../../src/core/control/control.ts";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import type { MemoryRecords } from "../../../../src/memory/records.ts";
import { MemoryRetryCounts } from "../../../../src/memory/retry-counts.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const none = { critical: 0, high: 0, normal: 0, low: 0 };

/** A pipeline whose type fails as its errors say, one for each attempt, and then succeeds. */
function setUp(errors: Error[]) {
  const type = typeOf(
    () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      return "done";
    },
    { priority: "normal" },
  );
  const pipeline = memoryPipeline([type]);
  const counts = new MemoryRetryCounts(pipeline.records as MemoryRecords);
  const failed = async () => {
    const record = await pipeline.accept({ input: null });
    await pipeline.work("normal");
    return pipeline.recordOf(record);
  };
  return { ...pipeline, counts, failed };
}

describe("tasks that wait for another attempt after a failed one", () => {
  test("count until the next attempt", async () => {
    const { counts, failed, clock, work, recordOf } = setUp([new Error("down")]);
    const record = await failed();
    expect(record).toMatchObject({ status: "pending", retrying_in: "normal" });
    expect(await counts.ofTiers()).toEqual({ ...none, normal: 1 });
    await clock.advance(60_000);
    await work("normal");
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts: 2 });
    expect(await counts.ofTiers()).toEqual(none);
  });

  test("no longer count when they fail for good, or are cancelled", async () => {
    const { counts, failed, clock, work, recordOf } = setUp([new Error("down"), new PermanentError("gone")]);
    const record = await failed();
    await clock.advance(60_000);
    await work("normal");
    expect(await recordOf(record)).toMatchObject({ status: "failed" });
    expect(await counts.ofTiers()).toEqual(none);
    const other = setUp([new Error("down")]);
    await cancel(other.ports, await other.failed());
    expect(await other.counts.ofTiers()).toEqual(none);
  });

  test("count in the tier that they are moved to", async () => {
    const { counts, failed, ports } = setUp([new Error("down")]);
    const record = await failed();
    expect(await changePriority(ports, record, "critical")).toMatchObject({ retrying_in: "critical" });
    expect(await counts.ofTiers()).toEqual({ ...none, critical: 1 });
  });

  test("count in the new tier also when they fail while they are moved", async () => {
    const { counts, accept, work, ports } = setUp([new Error("down")]);
    const before = await accept({ input: null });
    await work("normal");
    expect(await changePriority(ports, before, "low")).toMatchObject({ priority: "low", retrying_in: "low" });
    expect(await counts.ofTiers()).toEqual({ ...none, low: 1 });
  });
});
