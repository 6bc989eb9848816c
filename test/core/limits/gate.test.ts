import { describe, expect, test } from "vitest";
import { createGate } from "../../../src/core/limits/gate.ts";
import { type AllLimits, noLimits } from "../../../src/core/limits/limits.ts";
import { countingRecords } from "../../../src/core/limits/quota.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { submit } from "../../../src/core/pipeline/submit/submit.ts";
import type { SubmitCall } from "../../../src/core/pipeline/submit/submit-ports.ts";
import { MemoryLimits } from "../../../src/memory/limits.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { operator } from "../../support/identities.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";

/** A pipeline with a gate before it, as the functions wire it. */
function setUp(limits: Partial<AllLimits>) {
  const usage = new MemoryUsage();
  const pipeline = memoryPipeline();
  const { clock, log, records } = pipeline;
  const gate = createGate(
    { clock, log, records, usage, limits: new MemoryLimits(), depths: pipeline.queues },
    { ...noLimits, ...limits },
  );
  const ports = {
    ...pipeline.ports,
    gate,
    records: countingRecords(records, (tenantId, hour) => usage.release(tenantId, hour, 1)),
  };
  let ids = 0;
  const post = async (more: Partial<SubmitCall> = {}, body: Record<string, unknown> = {}) => {
    const given = { type: "echo", input: { value: 1 }, ...body };
    try {
      const call = { identity: operator, body: given, correlationId: `c-${++ids}`, bytes: 100, ...more };
      return (await submit(ports, call)).record;
    } catch (error) {
      if (error instanceof Problem) return error.code;
      throw error;
    }
  };
  return { ...pipeline, records, ports, usage, post };
}

const globex = { identity: { tenantId: "globex", principal: "gina", role: "operator" } } as const;

describe("the gate", () => {
  test("the gate writes nothing when there are no limits", async () => {
    const { post, usage } = setUp({});
    for (let count = 0; count < 20; count++) expect(await post()).toMatchObject({ status: "pending" });
    expect(usage.writes).toBe(0);
  });

  test("an announced upload counts toward the rate of submits, and toward nothing else", async () => {
    const { post, ports } = setUp({ tenants: { acme: { submits_per_second: 2, tasks_in_progress: 1 } } });
    await ports.gate.admitUpload("acme", 1);
    expect([await post(), await post()]).toEqual([expect.anything(), "rate_limited"]);
    await expect(ports.gate.admitUpload("acme", 1)).rejects.toMatchObject({ code: "rate_limited" });
    await ports.gate.admitUpload("globex", 1);
  });

  describe("the bytes of a tenant's open uploads", () => {
    const gib = 1024 ** 3;

    test("300 uploads of 5 GiB are not announced: 20 of them are, by any number of processes", async () => {
      const { ports } = setUp({});
      const asked = Array.from({ length: 300 }, () => ports.gate.admitUpload("acme", 5 * gib));
      const answers = await Promise.allSettled(asked);
      expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
      for (const answer of answers.slice(20)) expect(answer).toMatchObject({ reason: { code: "quota_exceeded" } });
      expect(await ports.gate.admitUpload("globex", gib)).toBe(gib);
    });

    test("an upload that a task takes makes room, and one that nobody takes does after 25 hours", async () => {
      const { ports, clock } = setUp({ default: { open_upload_bytes: 10 * 1024 ** 2 } });
      const announcedAtMs = clock.now();
      const countedBytes = await ports.gate.admitUpload("acme", 6 * 1024 ** 2);
      await expect(ports.gate.admitUpload("acme", 5 * 1024 ** 2)).rejects.toMatchObject({ code: "quota_exceeded" });
      await ports.gate.takeUpload("acme", { announcedAtMs, countedBytes });
      await ports.gate.admitUpload("acme", 10 * 1024 ** 2);
      await clock.advance(24 * 3_600_000);
      await expect(ports.gate.admitUpload("acme", 1)).rejects.toMatchObject({ code: "quota_exceeded" });
      await clock.advance(3_600_000);
      await ports.gate.admitUpload("acme", 10 * 1024 ** 2);
    });

    test("a small upload counts as 1 MiB, and without a limit nothing is counted", async () => {
      expect(await setUp({}).ports.gate.admitUpload("acme", 5)).toBe(1024 ** 2);
      const { ports, usage } = setUp({ default: { open_upload_bytes: null } });
      expect([await ports.gate.admitUpload("acme", 5), usage.writes]).toEqual([0, 0]);
    });

    test("a refused upload does not use up the rate of submits", async () => {
      const { post, ports } = setUp({ default: { open_upload_bytes: 0, submits_per_second: 1 } });
      await expect(ports.gate.admitUpload("acme", 5)).rejects.toMatchObject({ code: "quota_exceeded" });
      expect(await post()).toMatchObject({ status: "pending" });
    });
  });

  test("the gate limits only tenants that have limits", async () => {
    const { post } = setUp({ tenants: { acme: { submits_per_second: 2 } } });
    expect([await post(), await post(), await post()]).toEqual([expect.anything(), expect.anything(), "rate_limited"]);
    for (let count = 0; count < 10; count++) expect(await post(globex)).toMatchObject({ tenant_id: "globex" });
  });

  test.each([
    ["rate_limited", { default: { submits_per_second: 1 } }],
    ["quota_exceeded", { default: { tasks_in_progress: 1 } }],
    ["queue_full", { depth: { normal: 1 } }],
  ])("the gate refuses with %s before anything is written", async (code, limits) => {
    const { post, records, queues } = setUp(limits);
    await post();
    expect(await post()).toBe(code);
    expect(records.all()).toHaveLength(1);
    expect(queues.waiting("normal")).toHaveLength(1);
  });

  test("the gate refuses requests that are too large for their tenant", async () => {
    const { post } = setUp({ default: { request_bytes: 100 } });
    expect(await post({ bytes: 101 })).toBe("too_large");
    expect(await post({ bytes: 100 })).toMatchObject({ status: "pending" });
  });

  test("an invalid request is refused first, and uses up no limit", async () => {
    const { post } = setUp({ default: { submits_per_second: 1 } });
    for (let count = 0; count < 5; count++) expect(await post({}, { type: "none" })).toBe("unknown_task_type");
    expect(await post()).toMatchObject({ status: "pending" });
  });

  test("the gate gives back what it counted when it refuses in the end", async () => {
    const { post, usage } = setUp({ default: { submits_per_second: 5, tasks_in_progress: 1 }, depth: { normal: 3 } });
    await post();
    for (let count = 0; count < 20; count++) expect(await post()).toBe("quota_exceeded");
    expect(usage.openOf("acme")).toBe(1);
  });

  test("the gate lets tasks through a full tier that wait in a schedule", async () => {
    const { post } = setUp({ depth: { normal: 1 } });
    await post();
    expect(await post({}, { delay_seconds: 3_600 })).toMatchObject({ status: "pending" });
    expect(await post({}, { delay_seconds: 60 })).toBe("queue_full");
  });
});

describe("a repeat with the same idempotency key", () => {
  const same = { idempotencyKey: "order-7" };

  test.each([
    ["a rate", { default: { submits_per_second: 1 } }],
    ["a quota", { default: { tasks_in_progress: 1 } }],
    ["a full tier", { depth: { normal: 1 } }],
  ])("the repeat is answered as before, whatever %s says", async (_, limits) => {
    const { post } = setUp(limits);
    const first = await post(same);
    expect(await post()).toEqual(expect.stringMatching(/rate_limited|quota_exceeded|queue_full/));
    expect(await post(same)).toEqual(first);
  });

  test("the repeat is not charged", async () => {
    const { post, usage } = setUp({ default: { submits_per_second: 5, tasks_in_progress: 2 } });
    for (let count = 0; count < 50; count++) expect(await post(same)).toMatchObject({ status: "pending" });
    expect(usage.openOf("acme")).toBeLessThanOrEqual(2);
    expect(await post()).toMatchObject({ status: "pending" });
  });
});

describe("a submit that fails after the gate", () => {
  test("the submit gives its place back when there is no task", async () => {
    const { post, ports, usage } = setUp({ default: { tasks_in_progress: 1 } });
    const { send } = ports.queues;
    ports.queues.send = () => Promise.reject(new PortUnavailable("the queue"));
    expect(await post()).toBe("unavailable");
    ports.queues.send = send.bind(ports.queues);
    expect(await post()).toMatchObject({ counted: true });
    expect(usage.openOf("acme")).toBe(1);
  });

  test("the submit keeps its place when a repeat with its key will find the task", async () => {
    const { post, ports } = setUp({ default: { tasks_in_progress: 1 } });
    const { send } = ports.queues;
    ports.queues.send = () => Promise.reject(new PortUnavailable("the queue"));
    expect(await post({ idempotencyKey: "k" })).toBe("unavailable");
    ports.queues.send = send.bind(ports.queues);
    expect(await post()).toBe("quota_exceeded");
    expect(await post({ idempotencyKey: "k" })).toMatchObject({ counted: true });
  });
});

test("a place in the quota is free again when its task has ended", async () => {
  const { post, ports, queues, clock } = setUp({ default: { tasks_in_progress: 2 } });
  const { workBatch } = await import("../../../src/core/pipeline/work/work.ts");
  await post();
  await post();
  expect(await post()).toBe("quota_exceeded");
  await workBatch(ports, queues.take("normal", 10, 60), clock.now() + 900_000);
  await clock.advance(1_000);
  expect(await post()).toMatchObject({ status: "pending" });
});
