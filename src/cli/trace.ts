import { readFileSync } from "node:fs";
import { defaultSpansFile, type KeptSpan, parseSpan } from "../local/kept-span.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";
import { CommandFailed } from "./terminal.ts";

const examples = `
Reads the spans that a local server saves when started with \`npx offload dev --trace\`. The next such start moves them to
spans.jsonl.old. An attempt whose worker died has no span; \`npx offload tasks attempts\` shows it. The spans of a deployment with
tracing are in X-Ray, or where its OpenTelemetry layer sends them, under the same trace id.

Examples:
  npx offload trace 4bf92f3577b34da6a3ce929d0e0e4736
  npx offload trace 019ab3c2-5d0e-7b53-9c0a-6d1c7f4a2e11
`;

/** Maximum indentation, so that span names fit into the column. */
const deepestIndent = 12;

/** `offload trace` */
export const register: Register = (command, terminal) => {
  command
    .argument("<id>", "trace id, or id of a task in the trace")
    .option("--file <path>", "file with the spans", defaultSpansFile)
    .option("--json", "print JSON")
    .addHelpText("after", examples)
    .action((id: string, { file, json }: { file: string; json?: boolean }) => {
      const spans = spansOf(file, id);
      if (json) return terminal.out(JSON.stringify({ spans }, null, 2));
      const rows = inTree(spans).map(({ span, depth }) => [
        `${"  ".repeat(Math.min(depth, deepestIndent))}${span.name}`,
        span.started_at.slice(11, 23),
        span.duration_ms,
        span.failed
          ? `failed: ${span.reason ?? "-"}`
          : (span.attributes["offload.outcome"] ?? span.attributes["http.response.status_code"]),
        span.attributes["offload.attempt"],
        span.attributes["offload.task_id"],
      ]);
      terminal.out(`trace ${spans[0]?.trace_id}\n`);
      terminal.out(table(["span", "start", "ms", "end", "attempt", "task"], rows, terminal));
    });
};

/** Returns the spans of a trace, earliest first. */
function spansOf(file: string, id: string): KeptSpan[] {
  const all = readSpans(file);
  const traceId = all.find((span) => span.trace_id === id || span.attributes["offload.task_id"] === id)?.trace_id;
  if (traceId === undefined) throw new CommandFailed(`${file} has no span of ${id}`);
  const spans = all.filter((span) => span.trace_id === traceId);
  return spans.sort((one, other) => one.started_at.localeCompare(other.started_at));
}

function readSpans(file: string): KeptSpan[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new CommandFailed(`cannot read ${file}; \`npx offload dev --trace\` saves spans there`);
  }
  return text.split("\n").flatMap((line) => parseSpan(line) ?? []);
}

/** Orders spans as a tree, each below its parent. Spans with circular parents, which no tracer writes, come last. */
function inTree(spans: readonly KeptSpan[]): { span: KeptSpan; depth: number }[] {
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
