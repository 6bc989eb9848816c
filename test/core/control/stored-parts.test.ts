import { describe, expect, test } from "vitest";
import { inputOf, stepsOf } from "../../../src/core/control/stored-parts.ts";
import type { Envelope } from "../../../src/core/model/envelope.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { keptText } from "../../../src/core/pipeline/send/kept-input.ts";
import { MemoryBlobs } from "../../../src/memory/blobs.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { MemoryStepStore } from "../../../src/memory/steps.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { envelopeOf, newRecord } from "../../support/records.ts";
import { typeOf } from "../../support/task-types.ts";

const purgeAt = 9e9;
const kept = JSON.stringify({ input: "kept" });

describe("the input of a task", () => {
  const setUp = () => ({ records: new MemoryRecords(), blobs: new MemoryBlobs(new FakeClock()) });

  /** The stored input of a record whose parts are envelopes with these inputs. */
  async function stored(record: TaskRecord, parts: Record<string, Envelope>, isSensitive = false) {
    const ports = setUp();
    for (const [part, envelope] of Object.entries(parts)) {
      await ports.records.savePart(record, part as "envelope", envelope, purgeAt);
    }
    return inputOf(ports, record, isSensitive);
  }

  test("is that of the stored envelope, or a small one in the record", async () => {
    const record = newRecord();
    expect(await stored(record, { envelope: envelopeOf(record, "stored") })).toEqual({ input: "stored" });
    expect(await stored(newRecord({ kept_input: kept }), {})).toEqual({ input: "kept" });
    expect(await stored(newRecord(), {})).toBeUndefined();
  });

  test("is the replaced one, also when the record and the envelope have an earlier one", async () => {
    const record = newRecord({ input_part: "second", kept_input: kept });
    const second = { ...envelopeOf(record, "replaced"), message_id: "second" };
    const parts = { envelope: envelopeOf(record, "first"), "input#second": second };
    expect(await stored(record, parts)).toEqual({ input: "replaced" });
  });

  test("is never an earlier one when the replaced one is no longer stored", async () => {
    const record = newRecord({ input_part: "second", kept_input: kept });
    expect(await stored(record, { envelope: envelopeOf(record, "first") })).toBeUndefined();
  });

  test("is that of the envelope with the replaced one when its own part is no longer stored", async () => {
    const record = newRecord({ input_part: "second" });
    const envelope = { ...envelopeOf(record, "replaced"), message_id: "second" };
    expect(await stored(record, { envelope })).toEqual({ input: "replaced" });
  });

  test("is read from the bucket when it is large, for as long as it is there", async () => {
    const pipeline = memoryPipeline([typeOf(() => null)]);
    const input = { text: "x".repeat(1_000_000) };
    const record = await pipeline.accept({ input });
    expect(await inputOf(pipeline.ports, record, false)).toEqual({ input });
    const { key } = JSON.parse(keptText(record) ?? "").input_ref;
    await pipeline.blobs.delete(key);
    await expect(inputOf(pipeline.ports, record, false)).rejects.toThrow("no longer stored");
  });

  test("of a sensitive type is shown for a dead letter only, and not from the bucket: as the dead letters have it", async () => {
    const waiting = newRecord();
    expect(await stored(waiting, { envelope: envelopeOf(waiting, "secret") }, true)).toBeUndefined();
    const dead = newRecord({ status: "failed", dead_letter_at: "2027-01-01T00:00:00.000Z" });
    expect(await stored(dead, { envelope: envelopeOf(dead, "secret") }, true)).toEqual({ input: "secret" });
    const { input: _, ...frame } = envelopeOf(dead);
    const large = { ...frame, input_ref: { key: "k", bytes: 1, sha256: "0" } };
    expect(await stored(dead, { envelope: large }, true)).toBeUndefined();
  });

  test("of a large one of a sensitive type that waits stays in the bucket", async () => {
    const pipeline = memoryPipeline([typeOf(() => null, { sensitive: true })]);
    const record = await pipeline.accept({ input: "x".repeat(300_000) });
    expect(record.kept_input).toContain("input_ref");
    expect(await inputOf(pipeline.ports, record, true)).toBeUndefined();
  });
});

describe("the steps of a task", () => {
  test("fit into one answer: results beyond it are left out, and their sizes stay", async () => {
    const steps = new MemoryStepStore();
    const record = newRecord();
    // The worst case: each character is escaped once more in Lambda's answer.
    const value = JSON.stringify('"'.repeat(8_000));
    for (let order = 1; order <= 1_001; order++) {
      await steps.add(record, { kind: "step", name: `step-${order}`, order, value }, purgeAt);
    }
    const views = await stepsOf({ steps }, record, false);
    expect(views).toHaveLength(1_000);
    expect(views.map(({ order }) => order)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
    expect(Buffer.byteLength(JSON.stringify(JSON.stringify({ steps: views })))).toBeLessThan(5_500_000);
    expect(views[0]?.result).toBe('"'.repeat(8_000));
    expect(views.at(-1)).toMatchObject({ result: null, result_bytes: 16_002 });
  });

  test("of a sensitive type have no results", async () => {
    const steps = new MemoryStepStore();
    const record = newRecord();
    await steps.add(record, { kind: "signal", name: "approved", value: '{"by":"ada"}' }, purgeAt);
    expect(await stepsOf({ steps }, record, true)).toMatchObject([{ result: null, result_bytes: 12 }]);
  });

  test("without an order come last, by name", async () => {
    const steps = new MemoryStepStore();
    const record = newRecord();
    for (const name of ["b", "a"]) await steps.add(record, { kind: "signal", name, value: "1" }, purgeAt);
    await steps.add(record, { kind: "wait", name: "z", order: 1 }, purgeAt);
    expect((await stepsOf({ steps }, record, false)).map(({ name }) => name)).toEqual(["z", "a", "b"]);
  });
});
