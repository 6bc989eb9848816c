import { appendFileSync } from "node:fs";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import type { KeptSpan } from "./kept-span.ts";

/** Records this process's spans in a file, one JSON object per line. Several processes may append to the same file. */
export function keepSpans(file: string): void {
  const exporter: SpanExporter = {
    export: (spans, done) => {
      try {
        appendFileSync(file, spans.map((span) => `${JSON.stringify(kept(span))}\n`).join(""));
        done({ code: 0 });
      } catch (error) {
        // The disk is full, for example. The work that the span describes goes on.
        done({ code: 1, error: error as Error });
      }
    },
    shutdown: async () => {},
  };
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ sampler: new AlwaysOnSampler(), spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
}

const kept = (span: ReadableSpan): KeptSpan => ({
  trace_id: span.spanContext().traceId,
  span_id: span.spanContext().spanId,
  parent_id: span.parentSpanContext?.spanId ?? null,
  name: span.name,
  kind: SpanKind[span.kind].toLowerCase(),
  started_at: new Date(millisOf(span.startTime)).toISOString(),
  duration_ms: Math.round(millisOf(span.duration)),
  failed: span.status.code === SpanStatusCode.ERROR,
  reason: span.status.message ?? null,
  attributes: span.attributes,
});

const millisOf = ([seconds, nanos]: readonly [number, number]): number => seconds * 1000 + nanos / 1e6;
