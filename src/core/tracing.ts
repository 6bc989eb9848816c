/** What is known of a piece of work when it begins. */
export interface SpanStart {
  /** For people: what kind of work, never an id. */
  name: string;
  /** `server`: a request that came in. `consumer`: work that was asked for earlier. */
  kind: "server" | "consumer";
  /** The W3C trace context that it goes on from. Absent: it begins a trace. */
  traceparent: string | undefined;
  /** Never payload. */
  attributes?: Record<string, string | number>;
}

/** A piece of work while it lasts. */
export interface Span {
  /** The W3C trace context for what this work asks of others. Undefined: there is no trace. */
  readonly traceparent: string | undefined;
  set(attributes: Record<string, string | number>): void;
  /** Marks the work as failed, for a reason in one word. */
  fail(reason: string): void;
}

/** Makes the pieces of work of one trace visible as such, wherever they happen. */
export interface Tracing {
  /** Runs a piece of work as a span, which ends when the work does. */
  span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}

/** Makes no spans, and hands a trace on as it came. */
export const noTracing: Tracing = {
  span: ({ traceparent }, work) => work({ traceparent, set: () => {}, fail: () => {} }),
};

/** The trace's id: 32 hex digits. Undefined without a trace. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split("-")[1];
