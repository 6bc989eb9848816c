import type { WebhookTry } from "../../../src/api/acts/views.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { count, counted, duration } from "../format.ts";
import { type Line, type Mark, ms, type Told, waiting } from "./task-line.ts";
import type { Bar, Round } from "./task-rounds.ts";
import { type Held, spanOf, stepLines, waitsIn } from "./task-waits.ts";

/** Lines of steps and attempts that are told at first. */
const mostParts = 40;

/** The story of a round, in the order of its times. @param all True: also what is left out at first. */
export function linesOf(told: Told, all: boolean): { lines: Line[]; hidden: number } {
  const { round, isLast } = told;
  const bars = all ? round.bars : round.bars.slice(-mostParts);
  const attempts = bars.flatMap((bar, index) => attemptLines(told, bar, bars[index - 1]));
  const parts = isLast ? stepLines(told) : [];
  const shown = all ? parts : parts.slice(-mostParts);
  const lines = [...beforeLines(told), ...attempts, ...shown, ...childLines(told), ...tryLines(told)];
  return { lines, hidden: round.bars.length - bars.length + parts.length - shown.length };
}

/** The wait of a task for its own start. */
function beforeLines({ task, round, nowMs }: Told): Line[] {
  const fromMs = Date.parse(task.created_at);
  const toMs = ms(task.run_at) ?? fromMs;
  if (round.number !== 1 || toMs <= fromMs) return [];
  const isOver = toMs <= nowMs || task.status !== "scheduled";
  const name = isOver ? "waited for its start" : "waits for its start";
  return [{ key: "start", icon: "scheduled", name, ...waiting(fromMs, toMs, nowMs, isOver) }];
}

/** True when the handler of this attempt's round had returned before it: its children have ended, and it aggregates. */
const follows = (before: Bar | undefined): boolean => before?.outcome === "completed";

function attemptLines(told: Told, bar: Bar, before: Bar | undefined): Line[] {
  const closes = told.round.bars.some((one) => one.number < bar.number && one.outcome === "completed");
  const name = closes ? "Closing" : `Attempt ${bar.number}`;
  const wait = waitLine(told, bar, before, name);
  const run = runLine(told, bar, name);
  return [...(wait ? [wait] : []), ...(run ? [run] : [])];
}

const waitsFor: Readonly<Record<string, [string, string]>> = {
  pause: ["paused", "paused"],
  breaker: ["breaker", "breaker open"],
  concurrency: ["waiting", "waits for a place"],
  rate: ["waiting", "waits for its rate"],
};

function waitLine({ task, round, nowMs }: Told, bar: Bar, before: Bar | undefined, name: string): Line | undefined {
  const fromMs = Date.parse(round.startedAt) + bar.fromMs;
  const toMs = fromMs + bar.waitMs;
  const isOpen = bar.runMs === undefined;
  if (bar.waitMs === 0 && !isOpen) return undefined;
  const nextMs = isOpen ? ms(task.next_attempt_at) : undefined;
  const key = `wait ${bar.number}`;
  if (follows(before)) return { key, icon: "waiting", name: "waited for its children", ...past(fromMs, toMs) };
  const [icon, what] = (isOpen && waitsFor[task.waiting_for?.kind ?? ""]) || [
    before === undefined ? ("pending" as const) : ("retrying" as const),
    `${isOpen ? "waits" : "waited"} ${before === undefined ? "for a worker" : `before ${name.toLowerCase()}`}`,
  ];
  const look = before === undefined ? "wait" : "retrying";
  const more = nextMs !== undefined && nextMs > nowMs ? waiting(fromMs, nextMs, nowMs, false, look) : undefined;
  return { key, icon, name: what, ...(more ?? past(fromMs, toMs, look)) };
}

const past = (fromMs: number, toMs: number, look: Mark["look"] = "wait") => ({
  marks: [{ fromMs, toMs, isWait: true, look }],
  took: duration(toMs - fromMs),
});

/** Icon, word and look of an outcome. */
const outcomes: Readonly<Record<string, [string, string, Mark["look"]]>> = {
  running: ["processing", "runs", "run"],
  waiting: ["waiting", "waits", "run"],
  completed: ["completed", "", "completed"],
  failed: ["failed", "failed", "failed"],
  retried: ["failed", "failed", "failed"],
  crashed: ["failed", "crashed", "failed"],
  timed_out: ["failed", "timed out", "failed"],
  cancelled: ["cancelled", "cancelled", "cancelled"],
};

function runLine(told: Told, bar: Bar, name: string): Line | undefined {
  const span = spanOf(told.round, bar);
  if (span === undefined) return undefined;
  const { task, round, isLast } = told;
  const [icon, word, look] = outcomes[bar.outcome] ?? ["open", bar.outcome, "run"];
  const isReturn =
    bar.outcome === "completed" && (round.bars.at(-1) !== bar || (isLast && task.status !== "completed"));
  const about = isReturn
    ? "handler returned"
    : bar.outcome === "running" && task.progress
      ? `${task.progress} %`
      : word;
  const held = isLast ? waitsIn(told).filter(({ ofBar }) => ofBar === bar) : [];
  return {
    ...{ key: `attempt ${bar.number}`, icon, name, about, took: duration(span.toMs - span.fromMs) },
    marks: pieces(span, held, look, bar.outcome === "waiting"),
    isBad: look === "failed",
    ...(bar.attempt?.error != null && { attempt: bar.attempt }),
  };
}

/** An attempt: a thin line while its handler sleeps or waits, and bars before and after it. */
function pieces(
  { fromMs, toMs }: { fromMs: number; toMs: number },
  held: readonly Held[],
  look: Mark["look"],
  isSuspended: boolean,
): Mark[] {
  if (held.length === 0) return [{ fromMs, toMs, isWait: isSuspended, look: isSuspended ? "held" : look }];
  const first = held[0]?.fromMs ?? toMs;
  const last = Math.min(toMs, held.at(-1)?.toMs ?? fromMs);
  const line: Mark = { fromMs, toMs, isWait: true, look: "held" };
  const start: Mark = { fromMs, toMs: first, isWait: false, look };
  return isSuspended ? [line, start] : [line, start, { fromMs: last, toMs, isWait: false, look }];
}

/** The children as one line: a bar each, one below the other. */
function childLines({ task, children, isLast, nowMs }: Told): Line[] {
  if (task.children === null || task.children.total === 0 || !isLast) return [];
  const { total, open, failed } = task.children;
  const types = [...new Set(children.map(({ type }) => type))];
  const marks = children.flatMap(({ task_id: id, started_at, finished_at, status }): Mark[] => {
    const fromMs = ms(started_at);
    if (fromMs === undefined) return [];
    const look = status === "failed" ? "failed" : "child";
    return [{ id, fromMs, toMs: Math.max(fromMs, ms(finished_at) ?? nowMs), isWait: false, look }];
  });
  const fromMs = Math.min(...marks.map((mark) => mark.fromMs));
  const toMs = Math.max(...marks.map((mark) => mark.toMs));
  return [
    {
      key: "children",
      icon: open > 0 ? "processing" : failed > 0 ? "failed" : "completed",
      name: counted(total, "child", "children"),
      about: [
        types.length === 1 ? types[0] : "",
        total > children.length ? `the first ${children.length} are drawn` : "",
      ]
        .filter(Boolean)
        .join(", "),
      ...{
        marks,
        took: marks.length === 0 ? "" : duration(toMs - fromMs),
        isBad: open === 0 && failed > 0,
        isStack: true,
      },
    },
  ];
}

/** The tries of the webhook, which come after the end of a round. */
function tryLines({ tries, isLast }: Told): Line[] {
  const last = tries.at(-1);
  if (last === undefined || !isLast) return [];
  const isOk = ({ status }: WebhookTry) => status !== null && status < 300;
  const marks = tries.slice(-100).map((one): Mark => {
    const fromMs = Date.parse(one.at);
    const look = isOk(one) ? "completed" : "failed";
    return { id: `${one.webhook_id} ${one.number}`, fromMs, toMs: fromMs + one.duration_ms, isWait: false, look };
  });
  const about = `${last.status ?? "no answer"}${tries.length === 1 ? "" : ` at try ${tries.length}`}`;
  const icon = isOk(last) ? "delivered" : "failed";
  return [
    { key: "webhook", icon, name: "Webhook", about, marks, isBad: !isOk(last), took: duration(last.duration_ms) },
  ];
}

/** The story of a round in one line, for rounds that are over. */
export function roundText({ bars }: Round): string {
  const failed = bars.filter(({ outcome }) => outcomes[outcome]?.[2] === "failed").length;
  if (failed === bars.length) return `${counted(failed, "attempt")} failed`;
  return failed === 0 ? counted(bars.length, "attempt") : `${counted(bars.length, "attempt")}, ${count(failed)} failed`;
}

/** Time within the task's life, and the part of it in which an attempt ran, in milliseconds. */
export function timesOf(task: TaskView, lines: readonly Line[], nowMs: number): { wholeMs: number; ranMs: number } {
  const toMs = ms(task.finished_at) ?? Math.max(nowMs, Date.parse(task.updated_at));
  const runs = lines.filter(({ key }) => key.startsWith("attempt ")).flatMap(({ marks }) => marks);
  const ranMs = runs.reduce((sum, mark) => sum + (mark.isWait ? 0 : mark.toMs - mark.fromMs), 0);
  return { wholeMs: Math.max(0, toMs - Date.parse(task.created_at)), ranMs };
}
