import { open } from "node:fs/promises";
import { type KeptSpan, parseSpan } from "./kept-span.ts";

/**
 * Reads the spans of a trace, earliest first. None: the file has no span of it.
 * @param id Id of the trace, or of a task in it.
 * @param max Number of spans after which it stops.
 * @throws the file system's error when the file cannot be read
 */
export async function readTrace(file: string, id: string, max = Number.POSITIVE_INFINITY): Promise<KeptSpan[]> {
  let traceId: string | undefined;
  for await (const span of spansWith(file, id)) {
    if (span.trace_id !== id && span.attributes["offload.task_id"] !== id) continue;
    traceId = span.trace_id;
    break;
  }
  const spans: KeptSpan[] = [];
  if (traceId === undefined) return spans;
  // A second look: a span is written when it ends, so spans of the trace without the task's id can stand before.
  for await (const span of spansWith(file, traceId)) {
    if (span.trace_id !== traceId) continue;
    spans.push(span);
    if (spans.length === max) break;
  }
  return spans.sort((one, other) => one.started_at.localeCompare(other.started_at));
}

/** The spans in whose lines a text occurs. */
async function* spansWith(file: string, text: string): AsyncGenerator<KeptSpan> {
  const handle = await open(file);
  try {
    for await (const line of handle.readLines({ autoClose: false })) {
      const span = line.includes(text) ? parseSpan(line) : undefined;
      if (span !== undefined) yield span;
    }
  } finally {
    await handle.close();
  }
}

/** Orders spans as a tree, each below its parent. Spans with circular parents, which no tracer writes, come last. */
export function inTree(spans: readonly KeptSpan[]): { span: KeptSpan; depth: number }[] {
  const ids = new Set(spans.map((span) => span.span_id));
  const below = Map.groupBy(spans, ({ parent_id }) => (parent_id !== null && ids.has(parent_id) ? parent_id : null));
  const seen = new Set<KeptSpan>();
  const open = (below.get(null) ?? []).map((span) => ({ span, depth: 0 })).reverse();
  const rows: { span: KeptSpan; depth: number }[] = [];
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    if (seen.has(row.span)) continue;
    seen.add(row.span);
    rows.push(row);
    const depth = row.depth + 1;
    open.push(...(below.get(row.span.span_id) ?? []).map((span) => ({ span, depth })).reverse());
  }
  return [...rows, ...spans.filter((span) => !seen.has(span)).map((span) => ({ span, depth: 0 }))];
}
