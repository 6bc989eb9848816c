import * as z from "zod";

/** Default file of the recorded spans, relative to the folder in which the server was started. */
export const defaultSpansFile = ".offload/spans.jsonl";

const keptSpanSchema = z.object({
  trace_id: z.string(),
  span_id: z.string(),
  /** Null: the span has no parent, or its parent was not recorded here. */
  parent_id: z.string().nullable(),
  name: z.string(),
  kind: z.string(),
  /** ISO 8601 UTC. */
  started_at: z.string(),
  duration_ms: z.number(),
  failed: z.boolean(),
  /** Reason of the failure, in one word. Null: the span did not fail, or has no reason. */
  reason: z.string().nullable(),
  attributes: z.record(z.string(), z.unknown()),
});

/** A span as stored in one line of the file. */
export type KeptSpan = z.output<typeof keptSpanSchema>;

/**
 * Reads a line. Returns undefined when it is not a span, such as a last line whose process was killed during the write.
 */
export function parseSpan(line: string): KeptSpan | undefined {
  try {
    return keptSpanSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
