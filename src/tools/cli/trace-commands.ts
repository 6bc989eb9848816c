import { defaultSpansFile, type KeptSpan } from "../../local/traces/kept-span.ts";
import { inTree, readTrace } from "../../local/traces/read-trace.ts";
import type { Register } from "./group.ts";
import { CommandFailed } from "./terminal.ts";
import { type Columns, type Screen, tableOf } from "./text-table.ts";

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

const columns: Columns<ReturnType<typeof inTree>[number]> = {
  span: ({ span, depth }) => `${"  ".repeat(Math.min(depth, deepestIndent))}${span.name}`,
  start: ({ span }) => span.started_at.slice(11, 23),
  ms: ({ span }) => span.duration_ms,
  end: ({ span: { failed, reason, attributes } }) =>
    failed ? `failed: ${reason ?? "-"}` : (attributes["offload.outcome"] ?? attributes["http.response.status_code"]),
  attempt: ({ span }) => span.attributes["offload.attempt"],
  task: ({ span }) => span.attributes["offload.task_id"],
};

const options = [
  ["<id>", "trace id, or id of a task in the trace"],
  ["--file <path>", "file with the spans", { initial: defaultSpansFile }],
  ["--json", "print JSON"],
] as const;

/** `offload trace` */
export const register: Register = (group) => {
  group.help(examples).does(options, async ({ file }, id) => {
    const spans = await spansOf(file, id);
    const text = (screen: Screen) => `trace ${spans[0]?.trace_id}\n\n${tableOf(inTree(spans), columns, screen)}`;
    return { json: { spans }, text };
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
