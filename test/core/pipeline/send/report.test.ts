import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cancel, retry } from "../../../../src/core/control/control.ts";
import { PermanentError, RetryAfter } from "../../../../src/core/model/errors.ts";
import { type MetricName, metricTable } from "../../../../src/core/model/metrics.ts";
import { reportSettled } from "../../../../src/core/pipeline/send/report.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children);

const trace = "a".repeat(32);
const traceparent = `00-${trace}-${"b".repeat(16)}-01`;

function setUp(handler: (input: never, task: TaskContext) => unknown, more: Parameters<typeof typeOf>[1] = {}) {
  const pipeline = memoryPipeline([typeOf(handler, { maxAttempts: 1, timeoutSeconds: 10, ...more })]);
  const { metrics } = pipeline.ports;
  const counts = () =>
    Object.fromEntries(
      (Object.keys(metricTable) as MetricName[])
        .filter((name) => metricTable[name].unit === "Count" && metrics.sum(name) > 0)
        .map((name) => [name, metrics.sum(name)]),
    );
  const outcomes = () =>
    pipeline.ports.log.lines.map(({ fields }) => fields.outcome).filter((outcome) => outcome !== undefined);
  const last = () => pipeline.ports.log.lines.at(-1);
  return { ...pipeline, counts, outcomes, last };
}

describe("log lines and counts of each transition", () => {
  test("a task that completes is logged and counted", async () => {
    const { accept, work, clock, ports, counts, outcomes, last } = setUp(() => "done");
    const record = await accept({}, { traceparent });
    await clock.advance(1_500);
    await work();
    expect(outcomes()).toEqual(["submitted", "started", "completed"]);
    expect(counts()).toEqual({ submitted: 1, started: 1, completed: 1 });
    expect(ports.metrics.sum("queue_wait_ms")).toBe(1_500);
    expect(last()).toEqual({
      level: "info",
      message: "attempt settled",
      fields: {
        task_id: record.task_id,
        tenant_id: "acme",
        type: "test.task",
        tier: "normal",
        correlation_id: "corr-1",
        trace_id: trace,
        attempt: 1,
        outcome: "completed",
        status: "completed",
        duration_ms: 0,
        queue_wait_ms: 1_500,
      },
    });
  });

  test.each([
    [undefined, 3_000],
    ["container", 0],
  ] as const)("the duration of an attempt with runs_on %s counts in its tier as %d ms", async (runs_on, expected) => {
    const { accept, work, recordOf, clock, ports } = setUp(() => advance());
    const advance = () => clock.advance(3_000);
    const submitted = await accept();
    await work();
    const record = { ...(await recordOf(submitted)), ...(runs_on && { runs_on }) };
    const before = ports.metrics.sum("processing_ms");
    expect(before).toBe(3_000);
    reportSettled(ports, record, { as: "completed", record }, false);
    expect(ports.metrics.sum("processing_ms") - before).toBe(expected);
  });

  test("a task that is retried, throttled and fails for good is logged and counted", async () => {
    const failures = [new RetryAfter(5, "later"), new Error("no luck"), new PermanentError("never")];
    const { accept, drain, counts, outcomes, ports } = setUp(
      () => {
        throw failures.shift();
      },
      { maxAttempts: 5 },
    );
    await accept();
    await drain();
    expect(outcomes()).toEqual(["submitted", "started", "retried", "started", "retried", "started", "failed"]);
    expect(counts()).toEqual({
      submitted: 1,
      started: 3,
      retried: 2,
      throttled: 1,
      failed: 1,
      dead_lettered: 1,
      new_failure: 1,
    });
    const settled = ports.log.lines.filter(({ message }) => message === "attempt settled");
    expect(settled.map(({ level, fields }) => [level, fields.error_kind, fields.error, fields.status])).toEqual([
      ["warn", "rate_limited", "later", "pending"],
      ["warn", "transient", "no luck", "pending"],
      ["error", "permanent", "never", "failed"],
    ]);
  });

  test("a task that times out is logged and counted", async () => {
    const started = Promise.withResolvers<void>();
    const { accept, work, clock, counts, last } = setUp(() => {
      started.resolve();
      return new Promise(() => {});
    });
    await accept();
    const working = work();
    await started.promise;
    await clock.advance(10_000);
    await working;
    expect(last()?.fields).toMatchObject({ outcome: "timed_out", status: "failed", duration_ms: 10_000 });
    expect(counts()).toEqual({ submitted: 1, started: 1, failed: 1, timed_out: 1, dead_lettered: 1, new_failure: 1 });
  });

  test("a task whose worker died is logged and counted by the worker that finds it", async () => {
    const { accept, work, clock, ports, counts, last } = setUp(() => "done", { maxAttempts: 2 });
    const { task_id, tenant_id } = await accept();
    await ports.records.change(
      { task_id, tenant_id },
      {
        when: {},
        set: { status: "processing", started_at: new Date(clock.now()).toISOString(), lease_until: "2000-01-01" },
        add: { attempts: 1, attempts_total: 1 },
      },
    );
    await clock.advance(2_000);
    await work();
    expect(last()).toMatchObject({
      level: "warn",
      fields: { task_id, outcome: "crashed", status: "pending", attempt: 1, duration_ms: 2_000 },
    });
    expect(counts()).toEqual({ submitted: 1, retried: 1, crashed: 1 });
  });

  test("a message that comes twice is logged and counted", async () => {
    const { accept, work, ports, counts, last } = setUp(() => "done");
    const record = await accept();
    const [message] = ports.queues.waiting("normal");
    await work();
    await ports.queues.send({
      ...{ tier: "normal", envelope: JSON.parse(message?.body ?? ""), delaySeconds: 0, solo: false, redrives: 0 },
    });
    await work();
    expect(last()?.fields).toMatchObject({
      task_id: record.task_id,
      outcome: "skipped_duplicate",
      status: "completed",
    });
    expect(counts()).toEqual({ submitted: 1, started: 1, completed: 1, duplicates: 1 });
  });

  test("a cancelled, expired or replayed task is logged and counted", async () => {
    const { accept, work, clock, ports, records, counts, outcomes, last } = setUp(() => {
      throw new PermanentError("never");
    });
    const cancelled = await accept({ delay_seconds: 60 });
    await cancel(ports, cancelled);
    expect(last()?.fields).toMatchObject({ task_id: cancelled.task_id, outcome: "cancelled", status: "cancelled" });
    await accept({ expires_in_seconds: 1 });
    await clock.advance(2_000);
    await work();
    expect(last()?.fields).toMatchObject({ outcome: "expired", status: "expired" });
    const failed = await accept();
    await work();
    await retry(ports, (await records.get(failed)) ?? failed);
    expect(last()?.fields).toMatchObject({ task_id: failed.task_id, outcome: "replayed", status: "pending" });
    // With the sweep that deletes the retried one's message.
    expect(outcomes().filter((outcome) => outcome === "submitted")).toHaveLength(4);
    expect(counts()).toMatchObject({ submitted: 4, cancelled: 1, failed: 1 });
  });

  test("an unreadable message is logged and counted", async () => {
    const { ports, work, counts, last } = setUp(() => "done");
    ports.queues.put("normal", "no JSON");
    await work();
    expect(last()).toMatchObject({ level: "error", fields: { tier: "normal", error_kind: "validation" } });
    expect(counts()).toEqual({ dead_lettered: 1 });
  });
});

describe("contents of reports", () => {
  const secret = "4111-1111";

  test("the report of a sensitive type has nothing of its payload: no line, no metric, no span", async () => {
    const told: unknown[] = [];
    const type = typeOf(
      (input: never, task: TaskContext) => {
        task.log.info(`charging ${String(input)}`, { input });
        throw new Error(`the card ${String(input)} was declined`);
      },
      { sensitive: true, maxAttempts: 2, input: z.string() },
    );
    const { ports, accept, drain } = memoryPipeline([type]);
    ports.tracing = {
      span: (start, work) =>
        work({ traceparent, set: (attributes) => told.push(attributes), fail: (reason) => told.push(reason) }).finally(
          () => told.push(start),
        ),
    };
    await accept({ input: secret });
    await drain();
    expect(told.length).toBeGreaterThan(2);
    expect(ports.log.lines.length).toBeGreaterThan(4);
    expect(JSON.stringify([told, ports.log.lines, ports.metrics.added])).not.toContain(secret);
  });

  test.each([
    ["Card4111", "Card4111"],
    ["N".repeat(64), "N".repeat(64)],
    ["N".repeat(65), "Error"],
    [`Declined ${secret}`, "Error"],
    [`Declined\n${secret}`, "Error"],
    ["", "Error"],
  ])("the error's class %j of a sensitive type is logged and stored as %j", async (name, expected) => {
    const told: unknown[] = [];
    const type = typeOf(
      () => {
        throw Object.assign(new PermanentError("no"), { name });
      },
      { sensitive: true },
    );
    const { ports, accept, drain, recordOf, queues } = memoryPipeline([type]);
    ports.tracing = {
      span: (_, work) => work({ traceparent, set: () => {}, fail: (reason) => told.push(reason) }),
    };
    const record = await accept();
    await drain();
    expect(await recordOf(record)).toMatchObject({ error_type: expected, history: [{ error_type: expected }] });
    expect(ports.log.lines.find(({ message }) => message === "attempt settled")?.fields.error_type).toBe(expected);
    expect(JSON.parse(queues.deadLettersOf("normal")[0]?.body ?? "").failure_type).toBe(expected);
    expect(told).toEqual([expected]);
  });

  test("the class of a response that a sensitive type throws stays, and so does any class of another type", async () => {
    const name = `Declined ${secret}`;
    const typeStored = async (error: unknown, sensitive: boolean) => {
      const { accept, drain, recordOf } = memoryPipeline([
        typeOf(() => Promise.reject(error), { sensitive, maxAttempts: 1 }),
      ]);
      const record = await accept();
      await drain();
      return (await recordOf(record)).error_type;
    };
    expect(await typeStored(new Response("", { status: 404 }), true)).toBe("HTTP 404");
    expect(await typeStored(Object.assign(new Error("no"), { name }), false)).toBe(name);
  });

  test("a metric never has an id", async () => {
    const { accept, drain, ports } = setUp(() => "done");
    const { task_id } = await accept();
    await drain();
    expect(JSON.stringify(ports.metrics.added)).not.toMatch(new RegExp(`${task_id}|acme|olga`));
    for (const { of } of ports.metrics.added) expect(of).toEqual({ tier: "normal", type: "test.task" });
  });
});

describe("log lines and counts of a family", () => {
  const familyOf = (options: { threshold?: number; aggregates?: boolean }) => {
    const child = defineTask({
      name: "child",
      input: z.object({ secret: z.string(), fails: z.boolean() }),
      handler: ({ fails }) => {
        if (fails) throw new PermanentError("no");
      },
    });
    const parent = defineTask({
      name: "parent",
      input: z.object({ secret: z.string() }),
      children: { threshold: options.threshold ?? 1 },
      ...(options.aggregates === true ? { aggregate: () => "done" } : {}),
      handler: async ({ secret }, task) => {
        await task.spawn(child, { secret, fails: false });
        await task.spawn(child, { secret, fails: true }, { delaySeconds: 60 });
      },
    });
    return memoryPipeline([parent, child]);
  };

  test.each([
    ["aggregates its results", { threshold: 0.5, aggregates: true }, "pending"],
    ["completes with its counts", { threshold: 0.5 }, "completed"],
    ["fails below its threshold", {}, "failed"],
  ] as const)(
    "a family that %s has a line when it waits and one when it closes, with counts",
    async (_, more, status) => {
      const { accept, drain, ports } = familyOf(more);
      const { task_id } = await accept({ input: { secret: "s3cret-input" } });
      await drain();
      const lines = ports.log.lines.filter(({ message }) => message.startsWith("family "));
      const parent = { task_id, tenant_id: "acme", type: "parent", tier: "normal", correlation_id: "corr-1" };
      expect(lines).toMatchObject([
        {
          message: "family waits",
          fields: { ...parent, outcome: "waiting", status: "processing", children: 2, threshold: expect.any(Number) },
        },
        {
          message: "family closed",
          fields: {
            ...{ ...parent, outcome: "closed", status, children: 2 },
            ...{ completed: 1, failed: 1, cancelled: 0, expired: 0, waited_ms: 60_000 },
          },
        },
      ]);
      expect(JSON.stringify(ports.log.lines)).not.toContain("s3cret");
      expect(
        ["family_waits", "family_closed", "family_wait_ms"].map((name) => ports.metrics.sum(name as MetricName)),
      ).toEqual([1, 1, 60_000]);
    },
  );

  test("the query of failures by type counts a failed family once", async () => {
    const { accept, drain, ports } = familyOf({});
    await accept({ input: { secret: "s" } });
    await drain();
    const counted = ports.log.lines.filter(
      ({ fields }) => fields.status === "failed" && fields.outcome === "failed" && fields.type === "parent",
    );
    expect(counted).toHaveLength(1);
  });
});
