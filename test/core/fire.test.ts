import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fireTask, readPayload } from "../../src/core/fire.ts";
import { echo, memoryPipeline } from "../support/memory-pipeline.ts";

describe("the payload of a one-off", () => {
  const payload = { kind: "task", tenant_id: "acme", task_id: "t" };

  test("a payload is read without unknown fields, and anything else is refused", () => {
    expect(readPayload({ ...payload, hue: "blue" })).toEqual(payload);
    for (const wrong of [null, {}, { ...payload, kind: "rule" }, { ...payload, task_id: 7 }]) {
      expect(() => readPayload(wrong), JSON.stringify(wrong)).toThrow(z.ZodError);
    }
  });
});

describe("a firing", () => {
  const delayed = async () => {
    const pipeline = memoryPipeline([echo]);
    const record = await pipeline.accept({ delay_seconds: 3600, priority: "low", input: { value: 7 } });
    const payload = { kind: "task" as const, tenant_id: record.tenant_id, task_id: record.task_id };
    return { ...pipeline, record, payload };
  };

  test("a firing comes a minute early, and SQS holds the message back for the rest", async () => {
    const { clock, queues, fire, record } = await delayed();
    await clock.advance(3_539_999);
    expect(await fire()).toEqual([]);
    await clock.advance(1);
    expect(await fire()).toEqual(["dispatched"]);
    expect(queues.waiting("low")).toMatchObject([{ visibleAt: Date.parse(record.due_at) }]);
  });

  test("a firing makes the task start at its due time, and not before", async () => {
    const { drain, recordOf, record } = await delayed();
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "completed", started_at: record.due_at, result: 7 });
  });

  test("a late firing makes the task start immediately", async () => {
    const { clock, fire, work, recordOf, record } = await delayed();
    await clock.advance(10_000_000);
    expect(await fire()).toEqual(["dispatched"]);
    await work("low");
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a second firing after the end changes nothing", async () => {
    const { ports, payload, drain, queues, recordOf, record } = await delayed();
    await drain();
    const before = await recordOf(record);
    expect(await fireTask(ports, payload)).toBe("skipped");
    expect(queues.waiting("low")).toEqual([]);
    expect(await recordOf(record)).toEqual(before);
  });

  test("a firing of a task that is gone, or of another tenant's, is skipped", async () => {
    const { ports, payload } = await delayed();
    expect(await fireTask(ports, { ...payload, tenant_id: "globex" })).toBe("skipped");
    expect(await fireTask(ports, { ...payload, task_id: "none" })).toBe("skipped");
  });

  test("a firing of a task whose envelope is gone is skipped, and logged", async () => {
    const { ports, payload, records, queues, log } = await delayed();
    await records.savePart(payload, "envelope", undefined, 0);
    expect(await fireTask(ports, payload)).toBe("skipped");
    expect(queues.waiting("low")).toEqual([]);
    expect(log.lines.slice(1)).toMatchObject([
      { level: "error", fields: { task_id: payload.task_id, tenant_id: "acme" } },
    ]);
  });
});
