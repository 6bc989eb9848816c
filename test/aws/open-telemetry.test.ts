import { context, type ProxyTracerProvider, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { submitApi } from "../../src/api/http/submit.ts";
import { observed } from "../../src/aws/observed.ts";
import { createTracing } from "../../src/aws/tracing.ts";
import { submitChild } from "../../src/core/extras/children/child.ts";
import { noTracing } from "../../src/core/ports/tasks.ts";
import { memoryPipeline } from "../support/memory-pipeline.ts";
import { ask } from "../support/served.ts";
import { echo, typeOf } from "../support/task-types.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const callerId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${callerId}-01`;

const on = () => createTracing({ OFFLOAD_TRACING: "1" });

/** A pipeline whose first task fails once, then submits a child and asks somebody else. */
async function tracedPipeline() {
  const asked: (string | undefined)[] = [];
  const parent = typeOf(
    async (_input, task) => {
      asked.push(task.traceHeaders().traceparent);
      if (task.attempt === 1) throw new Error("not yet");
      await task.submit({ type: "echo", input: { value: 1 } });
      return trace.getActiveSpan()?.spanContext().spanId;
    },
    { name: "parent", maxAttempts: 2 },
  );
  const pipeline = memoryPipeline([parent, echo]);
  const { ports } = pipeline;
  ports.tracing = await on();
  ports.submitChild = submitChild(ports) as typeof ports.submitChild;
  const api = submitApi({ ...ports, newCorrelationId: () => "c" });
  const post = (headers: Record<string, string>) => ask(api, "/tasks", { headers, json: { type: "parent" } });
  return { ...pipeline, post, asked };
}

describe("with an OpenTelemetry SDK", () => {
  const exporter = new InMemorySpanExporter();

  beforeEach(() => {
    const processor = new SimpleSpanProcessor(exporter);
    const provider = new BasicTracerProvider({ sampler: new AlwaysOnSampler(), spanProcessors: [processor] });
    trace.setGlobalTracerProvider(provider);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });

  afterEach(() => {
    exporter.reset();
    trace.disable();
    context.disable();
  });

  const spans = () =>
    exporter.getFinishedSpans().map((span) => ({
      name: span.name,
      trace: span.spanContext().traceId,
      id: span.spanContext().spanId,
      parent: span.parentSpanContext?.spanId,
      attempt: span.attributes["offload.attempt"],
      failed: span.status.code === SpanStatusCode.ERROR,
    }));

  test("a request, both attempts of a retried task, and its child belong to one trace", async () => {
    const { post, drain, records, asked } = await tracedPipeline();
    expect(await post({ traceparent })).toMatchObject({ status: 202 });
    await drain();
    const [request, first, second, child, ...more] = spans();
    expect(more).toEqual([]);
    expect(request).toMatchObject({ name: "POST /tasks", trace: traceId, parent: callerId, failed: false });
    expect(first).toMatchObject({ name: "task parent", attempt: 1, trace: traceId, parent: request?.id, failed: true });
    expect(second).toMatchObject({
      name: "task parent",
      attempt: 2,
      trace: traceId,
      parent: request?.id,
      failed: false,
    });
    expect(child).toMatchObject({ name: "task echo", attempt: 1, trace: traceId, parent: second?.id });
    // What the handler asks of others comes from its attempt; so does what an instrumentation makes of it.
    expect(asked).toEqual([`00-${traceId}-${first?.id}-01`, `00-${traceId}-${second?.id}-01`]);
    expect(records.all().find(({ type }) => type === "parent")?.result).toBe(second?.id);
  });

  test("a request without a trace starts one, which its task continues", async () => {
    const { post, drain } = await tracedPipeline();
    await post({});
    await drain();
    const [request, ...others] = spans();
    expect(request?.parent).toBeUndefined();
    expect(others).toHaveLength(3);
    expect(new Set(spans().map((span) => span.trace)).size).toBe(1);
  });

  test("spans are sent before an invocation ends, even when it fails or sending fails", async () => {
    const flushed: string[] = [];
    const provider = trace.getTracerProvider() as ProxyTracerProvider;
    const delegate = provider.getDelegate() as unknown as { forceFlush(): Promise<void> };
    delegate.forceFlush = async () => {
      flushed.push("asked");
      throw new Error("nobody takes them");
    };
    const tracing = await on();
    expect(await observed({ tracing }, async () => "answer")()).toBe("answer");
    const failing = observed({ tracing }, () => Promise.reject(new Error("it broke")));
    await expect(failing()).rejects.toThrow("it broke");
    expect(flushed).toEqual(["asked", "asked"]);
  });

  test("work that throws fails its span, and the error is thrown on", async () => {
    const tracing = await on();
    const failing = tracing.span({ name: "work", kind: "consumer", traceparent }, async () => {
      throw new TypeError("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(spans()).toMatchObject([{ name: "work", trace: traceId, failed: true }]);
    expect(exporter.getFinishedSpans()[0]?.status.message).toBe("TypeError");
  });
});

test("without an SDK there are no spans, and a task gets the trace that its request had", async () => {
  const { post, drain, asked, records } = await tracedPipeline();
  await post({ traceparent });
  await drain();
  expect(asked).toEqual([traceparent, traceparent]);
  expect(records.all().map((record) => record.traceparent)).toEqual([traceparent, traceparent]);
});

test("without the setting no part of OpenTelemetry is used", async () => {
  for (const env of [{}, { OFFLOAD_TRACING: "0" }]) expect((await createTracing(env)).span).toBe(noTracing.span);
});
