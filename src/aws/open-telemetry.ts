import {
  type Context,
  context,
  isSpanContextValid,
  type Span as OpenTelemetrySpan,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { Span, SpanStart } from "../core/ports/tasks.ts";
import type { SentTracing } from "./observed.ts";

const kinds = { server: SpanKind.SERVER, producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER };

/** Tracing with OpenTelemetry's API. Without a registered SDK, spans do nothing but pass the trace on. */
export function openTelemetry(): SentTracing {
  const tracer = trace.getTracer("offload");
  return {
    async span(start, work) {
      const parent = parentOf(start);
      const span = tracer.startSpan(
        start.name,
        { kind: kinds[start.kind], attributes: start.attributes ?? {} },
        parent,
      );
      try {
        // The span is active during the work, so that instrumented HTTP clients find it.
        return await context.with(trace.setSpan(parent, span), () => work(spanOf(span)));
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "Error" });
        throw error;
      } finally {
        span.end();
      }
    },
    async flush() {
      await flushable()
        .forceFlush?.()
        .catch(() => {});
    },
  };
}

/**
 * The SDK's provider, which the API wraps. A layer's own instrumentation also flushes it, but only where it can wrap
 * the handler, and it cannot wrap the handlers of ES modules such as our bundles.
 */
function flushable(): TracerProvider & { forceFlush?(): Promise<void> } {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}

/**
 * The caller's span. A request without one continues the active span, as a layer may have started one for the
 * invocation.
 */
function parentOf({ traceparent, kind }: SpanStart): Context {
  if (traceparent !== undefined) return trace.setSpanContext(ROOT_CONTEXT, contextOf(traceparent));
  return kind === "consumer" ? ROOT_CONTEXT : context.active();
}

function contextOf(traceparent: string): SpanContext {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

const spanOf = (span: OpenTelemetrySpan): Span => ({
  traceparent: traceparentOf(span.spanContext()),
  set: (attributes) => {
    span.setAttributes(attributes);
  },
  fail: (reason) => {
    span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
  },
});

function traceparentOf(of: SpanContext): string | undefined {
  if (!isSpanContextValid(of)) return undefined;
  return `00-${of.traceId}-${of.spanId}-${of.traceFlags.toString(16).padStart(2, "0")}`;
}
