import { expect, test, vi } from "vitest";
import { acknowledge } from "../../../src/core/control/acknowledge.ts";
import { extend } from "../../../src/core/control/control.ts";
import type { TaskKey, TaskRecord } from "../../../src/core/model/record.ts";
import { forgetResult } from "../../../src/core/notify/deliver.ts";
import { resultKey } from "../../../src/core/ports/blob.ts";
import { MemoryBlobs } from "../../../src/memory/blobs.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryDeliveries } from "../../../src/memory/deliveries.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { newRecord } from "../../support/records.ts";
import { typeOf } from "../../support/task-types.ts";

const now = "2027-01-01T12:00:00.000Z";
const bytes = new Uint8Array([1]);

async function setUp(more: Partial<TaskRecord> = {}) {
  const clock = new FakeClock(Date.parse(now));
  const deliveries = new MemoryDeliveries();
  const ports = {
    clock,
    records: new MemoryRecords(),
    blobs: new MemoryBlobs(clock),
    forgetResult: (key: TaskKey) => forgetResult(deliveries, key),
  };
  const record = newRecord({ status: "completed", attempts_total: 3, ...more });
  await ports.records.create(record, now);
  return { ...ports, ports, record, deliveries };
}

const reference = { part: 3, bytes: 5000, content_type: "application/json" };

test("the record loses an inline result, and notes the time", async () => {
  const { ports, records, record } = await setUp({ result: { a: 1 } });
  await acknowledge(ports, record);
  const after = await records.get(record);
  expect(after).toMatchObject({ status: "completed", acknowledged_at: now, updated_at: now });
  expect(after).not.toHaveProperty("result");
});

test("a result beside the record is overwritten", async () => {
  const { ports, records, record } = await setUp({ result_ref: reference });
  await records.savePart(record, "result#3", '"secret"', 0);
  await acknowledge(ports, record);
  expect(await records.loadPart(record, "result#3")).toBeNull();
  expect(await records.get(record)).not.toHaveProperty("result_ref");
});

test("a result in the bucket is deleted, by another call when the first one died", async () => {
  const { ports, records, blobs, record } = await setUp();
  await records.change(record, { when: {}, set: { result_ref: { ...reference, blob: resultKey(record) } } });
  await blobs.put(resultKey(record), bytes);
  vi.spyOn(blobs, "delete").mockRejectedValueOnce(new Error("died"));
  await expect(acknowledge(ports, record)).rejects.toThrow("died");
  expect(await records.get(record)).toMatchObject({ acknowledged_at: now });
  expect(blobs.keys()).toHaveLength(1);
  await acknowledge(ports, record);
  expect(blobs.keys()).toEqual([]);
});

test("the time of the first acknowledgement stays", async () => {
  const { ports, records, clock, record } = await setUp();
  await acknowledge(ports, record);
  await clock.advance(1000);
  await acknowledge(ports, record);
  expect(await records.get(record)).toMatchObject({ acknowledged_at: now });
});

test("a caller that has seen the end can acknowledge it, although the read record is behind", async () => {
  const { ports, records, record } = await setUp({ result: 1 });
  await acknowledge(ports, { ...record, status: "processing" });
  expect(await records.get(record)).toMatchObject({ acknowledged_at: now });
});

test.each(["pending", "processing", "failed", "cancelled"] as const)(
  "a task that is %s is a conflict",
  async (status) => {
    const { ports, records, record } = await setUp({ status });
    await expect(acknowledge(ports, record)).rejects.toMatchObject({ code: "conflict" });
    expect(await records.get(record)).toEqual(record);
  },
);

test("a task that is gone is not found", async () => {
  const { ports } = await setUp();
  await expect(acknowledge(ports, newRecord())).rejects.toMatchObject({ code: "not_found" });
});

test("webhooks with the result lose it", async () => {
  const callback = { url: "https://receiver.example/hook", include_result: true };
  const { ports, record, deliveries } = await setUp({ result: { a: 1 }, callback });
  const body = JSON.stringify({ type: "task.completed", data: { status: "completed", result: { a: 1 } } });
  const { tenant_id, task_id, type, created_at, purge_at } = record;
  const delivery = {
    ...{ tenant_id, task_id, type, created_at, purge_at, id: "msg_a", url: callback.url, body },
    ...{ state: "failed" as const, tries: [{ at: now, duration_ms: 1, status: 410 }], series_from: 0 },
  };
  await deliveries.put(delivery, -1);
  await acknowledge(ports, record);
  await acknowledge(ports, record);
  const after = await deliveries.get(record, "msg_a");
  expect(after).toEqual({ ...delivery, body: expect.any(String) });
  expect(JSON.parse(after?.body ?? "")).toEqual({
    type: "task.completed",
    data: { status: "completed", result: null },
  });
});

test("an extension brings no deleted result back, whenever it is deleted meanwhile", async () => {
  const text = "x".repeat(50_000);
  const extending = async (deletedBefore: number) => {
    const pipeline = memoryPipeline([typeOf(() => text)]);
    const accepted = await pipeline.accept({ retention_seconds: 60 });
    await pipeline.work();
    const record = await pipeline.recordOf(accepted);
    const { blobs, clock, records, ports } = pipeline;
    const forgetResult = async () => {};
    let calls = 0;
    for (const name of ["savePart", "loadPart", "keepPart", "change"] as const) {
      const call = records[name].bind(records) as (...given: unknown[]) => Promise<never>;
      vi.spyOn(records, name).mockImplementation(async (...given: unknown[]) => {
        if (calls++ === deletedBefore) await acknowledge({ clock, records, blobs, forgetResult }, record);
        return call(...given);
      });
    }
    await extend(ports, record, 86_400);
    vi.restoreAllMocks();
    return { calls, left: await records.loadPart(record, `result#${record.attempts_total}`) };
  };
  const { calls, left } = await extending(Number.POSITIVE_INFINITY);
  expect([calls > 1, String(left).length]).toEqual([true, text.length + 2]);
  for (let call = 0; call < calls; call++) expect((await extending(call)).left).toBeNull();
});
