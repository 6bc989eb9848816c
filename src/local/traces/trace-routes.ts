import type { createRouter } from "../../api/http/api.ts";
import type { KeptSpan } from "./kept-span.ts";
import { inTree, readTrace } from "./read-trace.ts";

/** Most spans in an answer. */
const maxSpans = 1_000;

/** A trace of the local server, for its console. */
export interface TraceView {
  /** Null: no span of it is kept, as the server keeps none, or none has ended yet. */
  trace_id: string | null;
  /** Each span follows its parent. */
  spans: (KeptSpan & { depth: number })[];
  /** False: the trace may have further spans. */
  complete: boolean;
}

/** Adds the route that answers the trace of a task, from the file in which a server with `--trace` keeps its spans. */
export function addTraceRoutes(api: ReturnType<typeof createRouter>, env: NodeJS.ProcessEnv): void {
  api.on("GET", "/_local/traces/{id}", async (call) => {
    call.header("cache-control", "no-store");
    return call.json(await traceView(env, call.req.params.id ?? ""));
  });
}

async function traceView({ OFFLOAD_TRACING, OFFLOAD_SPANS_FILE: file }: NodeJS.ProcessEnv, id: string) {
  const isKept = OFFLOAD_TRACING === "1" && file !== undefined;
  const spans = isKept ? await readTrace(file, id, maxSpans).catch(noneIfAbsent) : [];
  return {
    trace_id: spans[0]?.trace_id ?? null,
    spans: inTree(spans).map(({ span, depth }) => ({ ...span, depth })),
    complete: spans.length < maxSpans,
  } satisfies TraceView;
}

/** The file appears with the first span. */
function noneIfAbsent(error: NodeJS.ErrnoException): [] {
  if (error.code === "ENOENT") return [];
  throw error;
}
