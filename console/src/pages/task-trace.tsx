import type { TaskView } from "../../../src/core/model/task-view.ts";
import { count, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { Section } from "../parts/layout.tsx";
import { Text } from "../parts/text.tsx";
import { api } from "../session.ts";
import { hasEnded, stateOf, useAgain } from "./task-data.ts";

/** A span, as the local server keeps it. */
interface Span {
  span_id: string;
  name: string;
  started_at: string;
  duration_ms: number;
  failed: boolean;
  reason: string | null;
  attributes: Readonly<Record<string, unknown>>;
  depth: number;
}

interface Trace {
  trace_id: string | null;
  /** Each span follows its parent. */
  spans: Span[];
  /** False: the trace may have more spans than the answer. */
  complete: boolean;
}

/** Levels that are indented. The style sheet has a class for each. */
const deepestLevel = 4;

/** The spans of the task's trace on a common scale. Only a local server with traces has them. */
export function TraceSection({ task }: { task: TaskView }) {
  const state = hasEnded(task) ? stateOf(task) : task.updated_at;
  const trace = useLoad(`trace ${task.task_id}`, (signal) =>
    api.get<Trace>(`/_local/traces/${task.task_id}`, undefined, { signal }),
  );
  useAgain(state, trace.reload);
  if (trace.value === undefined || trace.value.spans.length === 0) return null;
  return (
    <Section title="Trace">
      <Waterfall of={trace.value} />
      <p class="note">
        Trace <code>{trace.value.trace_id}</code>.{" "}
        {trace.value.complete ? "" : `It may have more than these ${count(trace.value.spans.length)} spans. `}
        The command <code>npx offload trace {task.task_id}</code> prints it.
      </p>
    </Section>
  );
}

function Waterfall({ of: { spans } }: { of: Trace }) {
  const startMs = Math.min(...spans.map(({ started_at }) => Date.parse(started_at)));
  const wholeMs = Math.max(1, ...spans.map((span) => Date.parse(span.started_at) - startMs + span.duration_ms));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="scroll" tabIndex={0} aria-label="Spans">
      <table class="timeline">
        <thead>
          <tr>
            <th scope="col">Span</th>
            <th scope="col" class="number">
              Begins after
            </th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col" class="track-head">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {spans.map((span) => (
            <SpanRow key={span.span_id} {...{ span, startMs, wholeMs }} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function SpanRow({ span, startMs, wholeMs }: { span: Span; startMs: number; wholeMs: number }) {
  const { name, started_at, duration_ms, failed, reason, attributes, depth } = span;
  const fromMs = Date.parse(started_at) - startMs;
  const end = attributes["offload.outcome"] ?? attributes["http.response.status_code"];
  const share = (ms: number) => `${((100 * ms) / wholeMs).toFixed(3)}%`;
  return (
    <tr>
      <th scope="row" class={`deep-${Math.min(depth, deepestLevel)}`}>
        <Text of={name} most={80} />
      </th>
      <td class="number">{duration(fromMs)}</td>
      <td class="number">{duration(duration_ms)}</td>
      <td>
        <svg class="track" width="100%" height="10" aria-hidden="true">
          <rect
            class={failed ? "m-failed" : "m-run"}
            x={share(fromMs)}
            width={share(Math.max(duration_ms, wholeMs / 300))}
            height="10"
            rx="2"
          />
        </svg>
        {failed ? (
          <span class="attempt failed">
            ✕ <Text of={reason ?? "failed"} most={80} />
          </span>
        ) : (
          end !== undefined && <Text of={String(end)} most={40} />
        )}
      </td>
    </tr>
  );
}
