import type { Tracing } from "./tasks.ts";

/** Records no spans, and passes on the given trace context. */
export const noTracing: Tracing = {
  span: ({ traceparent }, work) => work({ traceparent, set: () => {}, fail: () => {} }),
};

/** The trace's id: 32 hex digits. Undefined without a trace. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split("-")[1];

/** True for a valid W3C trace context. */
export const isTraceparent = (value: string): boolean =>
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(value);
