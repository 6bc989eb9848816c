import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { eventOf } from "../../../src/core/notify/notify.ts";
import { viewOf } from "../../../src/core/pipeline/end/view.ts";
import { defineTrigger } from "../../../src/core/schedules/define-trigger.ts";
import { type Arrived, fireArrived } from "../../../src/core/schedules/fire.ts";
import type { AppTrigger } from "../../../src/core/schedules/trigger.ts";
import { defineTask } from "../../../src/core/task/task.ts";
import { schedulesPipeline } from "../../support/schedules-pipeline.ts";
import { echo } from "../../support/task-types.ts";

const convert = defineTask({
  name: "video.convert",
  priority: "low",
  input: z.strictObject({ url: z.string(), bytes: z.number(), labels: z.unknown().optional() }),
  handler: () => null,
});

const upload = defineTrigger({
  name: "upload.convert",
  pattern: { source: ["aws.s3"] },
  tenantId: "acme",
  type: convert,
  input: { url: "s3://<$.detail.bucket.name>/<$.detail.object.key>", bytes: "$.detail.object.size" },
  tags: { region: "$.region", bytes: "$.detail.object.size", source: "<$.source>/<$.detail.object.sequencer>" },
});

const created = {
  version: "0",
  id: "17793124-05d4-b198-2fde-7ededc63b103",
  "detail-type": "Object Created",
  source: "aws.s3",
  account: "111122223333",
  time: "2021-11-12T00:00:00Z",
  region: "ca-central-1",
  resources: ["arn:aws:s3:::uploads"],
  detail: { bucket: { name: "uploads" }, object: { key: "in/a.mov", size: 1024, sequencer: "00" } },
};

const keyOf = (name: string, id: string) => ({ kind: "event", trigger: name, event: { ...created, id } });

function setUp(...triggers: AppTrigger[]) {
  const pipeline = schedulesPipeline([echo, convert], [], triggers.length === 0 ? [upload] : triggers);
  const { ports, clock } = pipeline;
  const arrive = (payload: unknown, more: Partial<Arrived> = {}) =>
    fireArrived(ports, { payload, ...more }, clock.now() + 300_000);
  const event = (change: object = {}, trigger = triggers[0]?.name ?? "upload.convert") =>
    arrive({ kind: "event", trigger, event: { ...created, ...change } });
  const inputs = () => pipeline.queues.waiting("low").map(({ body }) => (JSON.parse(body) as { input: unknown }).input);
  return { ...pipeline, arrive, event, tasks: () => ports.records.all(), inputs };
}

describe("an event of a trigger", () => {
  test("becomes a task with values of the event, which keep their types", async () => {
    const { event, tasks, inputs, log } = setUp();
    expect(await event()).toBe("submitted");
    expect(tasks()).toMatchObject([
      {
        tenant_id: "acme",
        type: "video.convert",
        requested_by: "trigger:upload.convert",
        correlation_id: `upload.convert:${created.id}`,
        tags: { region: "ca-central-1", bytes: "1024", source: "aws.s3/00" },
      },
    ]);
    expect(tasks()[0]?.traceparent).toBeUndefined();
    expect(inputs()).toEqual([{ url: "s3://uploads/in/a.mov", bytes: 1024 }]);
    expect(log.lines.at(-1)).toMatchObject({
      message: "trigger fired",
      fields: { trigger: "upload.convert", event_id: created.id, outcome: "submitted", task_id: tasks()[0]?.task_id },
    });
  });

  test("makes one task, also when it is delivered three times at once and later again", async () => {
    const { event, tasks, clock } = setUp();
    expect(await Promise.all([event(), event(), event()])).toEqual(["submitted", "submitted", "submitted"]);
    await clock.advance(20 * 3_600_000);
    expect(await event()).toBe("submitted");
    expect(tasks()).toHaveLength(1);
  });

  test("makes another task for each other event, and for each other trigger", async () => {
    const other = { ...upload, name: "upload.index" };
    const { event, tasks } = setUp(upload, other);
    await event();
    await event({ id: "another" });
    await event({}, "upload.index");
    expect(new Set(tasks().map(({ task_id }) => task_id)).size).toBe(3);
  });

  test("counts as submitted when the trigger changed after its task was made", async () => {
    const { event, tasks, ports, refusedEvents } = setUp();
    await event();
    ports.triggers = new Map([[upload.name, { ...upload, task: { ...upload.task, priority: "high" } }]]);
    expect(await event()).toBe("submitted");
    expect(tasks()).toHaveLength(1);
    expect(refusedEvents.firings).toEqual([]);
  });

  test("may choose the tenant, which is then known", async () => {
    const trigger = { ...upload, tenant_id: "$.detail.bucket.name" };
    const { event, tasks, ports } = setUp(trigger);
    const noteTenantOfEvent = vi.fn(async () => {});
    Object.assign(ports, { noteTenantOfEvent });
    await event();
    expect(tasks()[0]?.tenant_id).toBe("uploads");
    expect(noteTenantOfEvent).toHaveBeenCalledWith("uploads");
  });

  test("hands on a valid trace, and no other text", async () => {
    const { event, tasks } = setUp();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await event({ id: "valid", detail: { ...created.detail, traceparent } });
    await event({ id: "wrong", detail: { ...created.detail, traceparent: "Root=1-5759e988" } });
    expect(
      tasks()
        .map((task) => task.traceparent)
        .sort(),
    ).toEqual([traceparent, undefined]);
  });

  test("is delivered again while the table is down, and then makes its one task", async () => {
    const { event, tasks, records, refusedEvents } = setUp();
    const create = vi.spyOn(records, "create").mockRejectedValueOnce(new PortUnavailable("the table"));
    await expect(event()).rejects.toThrow("unavailable");
    create.mockRestore();
    expect(await event()).toBe("submitted");
    expect(tasks()).toHaveLength(1);
    expect(refusedEvents.firings).toEqual([]);
  });

  test("is ignored when the app does not define the trigger any more", async () => {
    const { event, tasks, log } = setUp();
    expect(await event({}, "gone")).toBe("ignored");
    expect(tasks()).toEqual([]);
    expect(log.lines.at(-1)).toMatchObject({ level: "info", fields: { trigger: "gone", outcome: "ignored" } });
  });

  test("does not fill paths that are in the event's own values", async () => {
    const { event, inputs } = setUp({
      ...upload,
      task: { ...upload.task, input: { url: "<$.detail.a>", bytes: 1, labels: "$.detail" } },
    });
    await event({ detail: { ...created.detail, a: "<$.id>", b: "$.id" } });
    expect(inputs()).toEqual([{ url: "<$.id>", bytes: 1, labels: { ...created.detail, a: "<$.id>", b: "$.id" } }]);
  });
});

describe("an event that cannot become a task", () => {
  test.each<[why: string, detail: object, error: string]>([
    [
      "has no value at a path",
      { object: { key: "a", size: 1, sequencer: "0" } },
      "no text, number, true or false at $.detail.bucket.name",
    ],
    [
      "has an object within a text",
      { ...created.detail, bucket: { name: {} } },
      "no text, number, true or false at $.detail.bucket.name",
    ],
    [
      "has no value for a whole input",
      { ...created.detail, object: { key: "a", sequencer: "0" } },
      "the event has no value at $.detail.object.size",
    ],
    [
      "has a value that the type refuses",
      { ...created.detail, object: { key: "a", size: "big", sequencer: "0" } },
      "invalid_input: /input/bytes",
    ],
    ["reaches for inherited names", { bucket: [], object: created.detail.object }, "$.detail.bucket.name"],
  ])("%s: it is refused once, counted, and kept", async (_, detail, error) => {
    const { event, tasks, log, metrics, refusedEvents } = setUp();
    expect(await event({ detail })).toBe("refused");
    expect(tasks()).toEqual([]);
    expect(log.lines.filter(({ level }) => level === "error")).toMatchObject([
      {
        fields: {
          trigger: "upload.convert",
          event_id: created.id,
          outcome: "refused",
          error: expect.stringContaining(error),
        },
      },
    ]);
    expect(metrics.added).toMatchObject([{ name: "schedule_refused", of: { tier: "low", type: "video.convert" } }]);
    expect(refusedEvents.firings).toEqual([
      { kind: "event", trigger: "upload.convert", event: { ...created, detail } },
    ]);
  });

  test("its values are not logged", async () => {
    const { event, log } = setUp();
    await event({ detail: { ...created.detail, object: { key: "a", size: "a-secret", sequencer: "0" } } });
    expect(JSON.stringify(log.lines)).not.toContain("a-secret");
  });

  test("a value that is not a tenant's id is refused", async () => {
    const { event, log } = setUp({ ...upload, tenant_id: "$.detail.object.key" });
    expect(await event()).toBe("refused");
    expect(log.lines.at(-1)?.fields.error).toBe("the value at $.detail.object.key is not a tenant's id");
  });

  test("an event whose keeping fails is delivered again", async () => {
    const { event, log, metrics, refusedEvents } = setUp();
    vi.spyOn(refusedEvents, "keep").mockRejectedValueOnce(new PortUnavailable("the queue"));
    await expect(event({ detail: {} })).rejects.toThrow(PortUnavailable);
    expect(metrics.added).toEqual([]);
    expect(await event({ detail: {} })).toBe("refused");
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  test("a kept event can be moved back to fire, which submits its task when the trigger is right", async () => {
    const { event, arrive, tasks, ports, refusedEvents } = setUp();
    await event({ detail: { a: 1 } });
    ports.triggers = new Map([
      [upload.name, { ...upload, task: { type: "video.convert", input: { url: "u", bytes: "$.detail.a" } } }],
    ]);
    expect(await arrive(JSON.stringify(refusedEvents.firings[0]))).toBe("submitted");
    expect(tasks()).toHaveLength(1);
  });
});

describe("an event that EventBridge could not deliver", () => {
  const ruleArn = "arn:aws:events:eu-central-1:123456789012:rule/Offload-prod.upload.convert";

  test.each<[form: string, payload: unknown, more: Partial<Arrived>]>([
    ["itself", JSON.stringify(created), { ruleArn }],
    ["as the target's input", JSON.stringify(keyOf("upload.convert", created.id)), { ruleArn }],
    [
      "as text within the target's input",
      JSON.stringify({ kind: "event", trigger: "upload.convert", event: JSON.stringify(created) }),
      {},
    ],
  ])("is read from its dead letter, which has the event %s", async (_, payload, more) => {
    const { arrive, tasks } = setUp();
    expect(await arrive(payload, more)).toBe("submitted");
    expect(tasks()).toHaveLength(1);
  });

  test("is reported when its rule is not that of a trigger", async () => {
    const { arrive, log } = setUp();
    expect(await arrive(JSON.stringify(created), { ruleArn: "arn:aws:events:a:1:rule/other" })).toBe("unreadable");
    expect(log.lines.at(-1)?.level).toBe("error");
  });
});

describe("a loop of triggers", () => {
  const again = defineTrigger({
    name: "again",
    bus: "own",
    pattern: { "detail-type": ["Task Completed"] },
    tenantId: "$.detail.tenant_id",
    type: convert,
    input: { url: "$.detail.task_id", bytes: 1 },
  });

  test("is not what a client says: its correlation id that ends like a loop's does not stop its event", async () => {
    const { event, tasks, accept, clock } = setUp(again);
    const client = { ...(await accept({ input: { value: 1 } })), correlation_id: "shop:hop-8" };
    const task = viewOf({ ...client, status: "completed" as const }, new Date(clock.now()).toISOString());
    const { tenant_id, task_id, requested_by, type } = client;
    const notice = { kind: "end" as const, id: "msg_1", task, tenant_id, task_id, requested_by, type };
    const { detailType, detail } = eventOf(notice);
    const change = { id: "e1", source: "offload.Offload-dev", "detail-type": detailType, detail };
    expect(await event(change)).toBe("submitted");
    expect(tasks().map(({ correlation_id }) => correlation_id)).toContain("shop:hop-1");
  });

  test("stops after eight tasks, and keeps the last event", async () => {
    const { event, tasks, accept, clock, refusedEvents, log } = setUp(again);
    let record = await accept({ input: { value: 1 } });
    const base = record.correlation_id;
    const outcomes: string[] = [];
    for (let turn = 1; turn <= 10; turn++) {
      const ended = { ...record, status: "completed" as const };
      const task = viewOf(ended, new Date(clock.now()).toISOString());
      const { tenant_id, task_id, requested_by, type } = ended;
      const notice = { kind: "end" as const, id: `msg_${turn}`, task, tenant_id, task_id, requested_by, type };
      const { detailType, detail } = eventOf(notice);
      const change = { id: `e${turn}`, source: "offload.Offload-dev", "detail-type": detailType, detail };
      const before = new Set(tasks().map(({ task_id }) => task_id));
      outcomes.push(await event(change));
      const made = tasks().find(({ task_id }) => !before.has(task_id));
      if (made === undefined) break;
      expect(made.correlation_id).toBe(`${base}:hop-${turn}`);
      record = made;
    }
    expect(outcomes).toEqual([...Array.from({ length: 8 }, () => "submitted"), "refused"]);
    expect(refusedEvents.firings).toHaveLength(1);
    expect(log.lines.at(-1)?.fields.error).toContain("endless loop");
  });
});
