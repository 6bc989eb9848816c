import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { PortUnavailable, WrittenLater } from "../../../src/core/model/errors.ts";
import { type Arrived, fireArrived, readPayload } from "../../../src/core/schedules/fire.ts";
import { fireTask } from "../../../src/core/schedules/fire-task.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { echo } from "../../support/task-types.ts";

describe("the payload of a one-off", () => {
  const payload = { kind: "task", tenant_id: "acme", task_id: "t" };
  const text = JSON.stringify(payload);
  const request = { FunctionName: "arn:aws:lambda:eu-west-1:1:function:fire", InvocationType: "Event", Payload: text };

  test.each<[form: string, event: unknown]>([
    ["with an unknown field", { ...payload, hue: "blue" }],
    ["as JSON text", text],
    ["as JSON text of JSON text", JSON.stringify(text)],
    ["in a request", request],
    ["in a request with an object", { ...request, Payload: payload }],
    ["in a request with text of text", { ...request, Payload: JSON.stringify(text) }],
    ["in a request with Base64", { ...request, Payload: Buffer.from(text).toString("base64") }],
    ["in a request with names in lower case", { functionName: "fire", payload: text }],
    ["in the text of a request", JSON.stringify(request)],
    ["in the text of the text of a request", JSON.stringify(JSON.stringify(request))],
  ])("a payload is read %s", (_, event) => {
    expect(readPayload(event)).toEqual(payload);
  });

  test.each([
    ...[undefined, null, 7, "", "text", "{", "null", {}, [], [payload], { ...payload, kind: "rule" }],
    ...[
      { ...payload, task_id: 7 },
      { ...request, Payload: undefined },
      { ...request, Payload: "{}" },
    ],
    ...["[".repeat(100_000), '{"Payload":'.repeat(10_000) + text + "}".repeat(10_000)],
  ])("anything else is not a payload: %#", (event) => {
    expect(readPayload(event)).toBeUndefined();
  });
});

describe("a firing as it arrived", () => {
  const setUp = async () => {
    const pipeline = schedulesPipeline();
    const { clock, ports, queues, log } = pipeline;
    const record = await pipeline.accept({ delay_seconds: 3600, priority: "low", input: { value: 7 } });
    for (let count = 0; count < 150; count++) await ports.tenants.note(`tenant-${count}`);
    const name = [...pipeline.oneOffs.all().keys()][0] ?? "";
    await clock.advance(3_600_000);
    log.lines.length = 0;
    const arrive = (payload: unknown, more: Partial<Arrived> = {}) =>
      fireArrived(ports, { payload, ...more }, clock.now() + 300_000);
    const scheduleArn = `arn:aws:scheduler:eu-west-1:1:schedule/offload/${name}`;
    return { ...pipeline, record, queues, arrive, scheduleArn, reported: () => log.lines };
  };

  test("a firing within the request that failed dispatches its task, without a report", async () => {
    const { arrive, record, queues, reported } = await setUp();
    const payload = { kind: "task", tenant_id: record.tenant_id, task_id: record.task_id };
    expect(await arrive(JSON.stringify({ FunctionName: "fire", Payload: JSON.stringify(payload) }))).toBe("dispatched");
    expect(queues.waiting("low")).toHaveLength(1);
    expect(reported()).toEqual([]);
  });

  test("an unreadable firing of a one-off dispatches its task, which its name leads to", async () => {
    const { arrive, ports, record, queues, metrics, reported, scheduleArn } = await setUp();
    await ports.tenants.note(record.tenant_id);
    const known = { scheduleArn, scheduledFor: "2027-01-01T01:00:00Z", error: "AccessDenied: no" };
    expect(await arrive("rubbish", known)).toBe("dispatched");
    expect(queues.waiting("low")).toHaveLength(1);
    const { tenant_id, task_id } = record;
    const fields = { tenant_id, task_id, schedule: scheduleArn, scheduled_for: known.scheduledFor, error: known.error };
    expect(reported()).toMatchObject([
      { level: "error", fields: { ...fields, outcome: "refused", payload: "rubbish" } },
    ]);
    expect(metrics.sum("schedule_refused")).toBe(1);
  });

  test.each<[what: string, known: Partial<Arrived>]>([
    ["about which nothing is known", {}],
    [
      "of a schedule",
      { scheduleArn: "arn:aws:scheduler:eu-west-1:1:schedule/offload/0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11" },
    ],
    ["of a task that is gone", { scheduleArn: `arn:x/offload/${randomUUID()}.0.1798765200` }],
  ])("an unreadable firing %s is reported once, and not delivered again", async (_, known) => {
    const { arrive, queues, metrics, reported } = await setUp();
    expect(await arrive({ payload: { hue: "x".repeat(5_000) } }, known)).toBe("unreadable");
    expect(queues.waiting("low")).toEqual([]);
    expect(reported()).toMatchObject([{ level: "error", fields: { schedule: known.scheduleArn ?? "unknown" } }]);
    expect(String(reported()[0]?.fields?.payload)).toHaveLength(1_000);
    expect(metrics.sum("schedule_refused")).toBe(1);
  });

  test.each([
    ["as such", (text: string): unknown => JSON.parse(text)],
    ["as text, in a request", (text: string): unknown => JSON.stringify({ Payload: text })],
  ])("a firing of a kind of a later release is delivered again, %s, and said once", async (_, sent) => {
    const { arrive, reported } = await setUp();
    const payload = sent('{"kind":"digest","tenant_id":"acme","hue":1}');
    for (let times = 0; times < 3; times++) await expect(arrive({ payload })).rejects.toThrow(WrittenLater);
    expect(reported()).toMatchObject([{ level: "warn", fields: { form: "a kind of firing" } }]);
  });

  test("an unreadable firing is delivered again while the table is down, and reported when it is back", async () => {
    const { arrive, ports, record, records, reported, scheduleArn } = await setUp();
    await ports.tenants.note(record.tenant_id);
    const get = vi.spyOn(records, "get").mockRejectedValue(new PortUnavailable("the table"));
    await expect(arrive("rubbish", { scheduleArn })).rejects.toThrow(PortUnavailable);
    expect(reported()).toEqual([]);
    get.mockRestore();
    expect(await arrive("rubbish", { scheduleArn })).toBe("dispatched");
    expect(reported()).toHaveLength(1);
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
