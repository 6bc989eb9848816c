import { describe, expect, test } from "vitest";
import type { Status } from "../../../src/core/model/words.ts";
import { eventOf } from "../../../src/core/notify/notify.ts";
import { viewOf } from "../../../src/core/pipeline/end/view.ts";
import type { EndNotice } from "../../../src/core/ports/notify.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";

async function noticeOf(status: Status, more: Partial<EndNotice> = {}): Promise<EndNotice> {
  const { accept } = memoryPipeline();
  const record = await accept({ input: { value: 1 }, tags: { order: "42" } });
  const finished_at = "2027-01-01T02:00:00.000Z";
  const view = viewOf({ ...record, finished_at, result: { secret: 1 } }, "2027-01-01T03:00:00.000Z");
  const { tenant_id, task_id, requested_by, type } = record;
  return { kind: "end", id: "msg_1", tenant_id, task_id, requested_by, type, task: { ...view, status }, ...more };
}

describe("the event of an ended task", () => {
  test.each<[Status, string]>([
    ["completed", "Task Completed"],
    ["failed", "Task Failed"],
    ["cancelled", "Task Cancelled"],
    ["expired", "Task Expired"],
  ])("of a %s task is %s", async (status, detailType) => {
    expect(eventOf(await noticeOf(status))).toMatchObject({ detailType, detail: { status } });
  });

  test("has the end's id, the tenant, and the task as clients see it, without its result", async () => {
    const notice = await noticeOf("completed");
    const { result, ...task } = notice.task;
    const { detail, time, traceparent } = eventOf(notice);
    expect(result).toEqual({ secret: 1 });
    expect(detail).toEqual({ id: "msg_1", tenant_id: notice.tenant_id, ...task });
    expect(detail).not.toHaveProperty("result");
    expect(time).toBe("2027-01-01T02:00:00.000Z");
    expect(traceparent).toBeUndefined();
  });

  test("hands on the trace", async () => {
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    expect(eventOf(await noticeOf("failed", { traceparent })).traceparent).toBe(traceparent);
  });

  test("of a task that has not ended is an error", async () => {
    const notice = await noticeOf("pending");
    expect(() => eventOf(notice)).toThrow("has not ended");
  });
});
