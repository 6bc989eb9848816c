import * as z from "zod";

/** Where spans are kept unless something else is said, from the folder in which the server was started. */
export const defaultSpansFile = ".offload/spans.jsonl";

const keptSpanSchema = z.object({
  trace_id: z.string(),
  span_id: z.string(),
  /** Null: it began the trace, or was begun by somebody who is not traced here. */
  parent_id: z.string().nullable(),
  name: z.string(),
  kind: z.string(),
  /** ISO 8601 UTC. */
  started_at: z.string(),
  duration_ms: z.number(),
  failed: z.boolean(),
  /** Why it failed, in one word. Null: it did not, or did not say. */
  reason: z.string().nullable(),
  attributes: z.record(z.string(), z.unknown()),
});

/** A span as a line of the file has it. */
export type KeptSpan = z.output<typeof keptSpanSchema>;

/** Reads a line. Undefined: it is no span, as the last line where a process was killed while it wrote. */
export function parseSpan(line: string): KeptSpan | undefined {
  try {
    return keptSpanSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
