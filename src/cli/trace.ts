import { defaultSpansFile, type KeptSpan } from "../local/traces/kept-span.ts";
import { inTree, readTrace } from "../local/traces/read-trace.ts";
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
    .action(async (id: string, { file, json }: { file: string; json?: boolean }) => {
      const spans = await spansOf(file, id);
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

/** @throws CommandFailed when the file cannot be read, or has no span of the trace */
async function spansOf(file: string, id: string): Promise<KeptSpan[]> {
  const spans = await readTrace(file, id).catch(() => {
    throw new CommandFailed(`cannot read ${file}; \`npx offload dev --trace\` saves spans there`);
  });
  if (spans.length === 0) throw new CommandFailed(`${file} has no span of ${id}`);
  return spans;
}
