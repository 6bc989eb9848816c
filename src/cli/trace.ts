import { readFileSync } from "node:fs";
import { defaultSpansFile, type KeptSpan, parseSpan } from "../local/kept-span.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";
import { Failure } from "./terminal.ts";

const examples = `
Reads the spans that a local server keeps when it is started by \`npx offload start --trace\`; the next such start moves them to
spans.jsonl.old. An attempt whose worker died has none: \`npx offload tasks attempts\` shows it. Of a deployment with tracing,
X-Ray or whatever its OpenTelemetry layer reports to has them, under the same id.

Examples:
  npx offload trace 4bf92f3577b34da6a3ce929d0e0e4736
  npx offload trace 019ab3c2-5d0e-7b53-9c0a-6d1c7f4a2e11
`;

/** Spans further down stand at this depth, so that their names still fit into the column. */
const deepestIndent = 12;

/** `offload trace` */
export const register: Register = (command, terminal) => {
  command
    .argument("<id>", "the id of a trace, or of a task in it")
    .option("--file <path>", "where the spans are", defaultSpansFile)
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
      terminal.out(table(["span", "start", "ms", "end", "attempt", "task"], rows));
    });
};

/** The spans of a trace, the earliest first. */
function spansOf(file: string, id: string): KeptSpan[] {
  const all = readSpans(file);
  const traceId = all.find((span) => span.trace_id === id || span.attributes["offload.task_id"] === id)?.trace_id;
  if (traceId === undefined) throw new Failure(`no span of ${id} is in ${file}`);
  const spans = all.filter((span) => span.trace_id === traceId);
  return spans.sort((one, other) => one.started_at.localeCompare(other.started_at));
}

function readSpans(file: string): KeptSpan[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new Failure(`there are no spans in ${file}; \`npx offload start --trace\` keeps them`);
  }
  return text.split("\n").flatMap((line) => parseSpan(line) ?? []);
}

/** Each span below the one that it came from. Those whose parents lead in a circle, which no tracer writes, stand at the end. */
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
