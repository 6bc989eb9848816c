import type { Attempt, TaskKey, TaskRecord } from "../model/record.ts";
import { isTerminal, type LogLevel, type Tier } from "../model/words.ts";
import type { Clock, Page } from "../ports/tasks.ts";

/** A line of a task's log: what its handler wrote with `task.log` or `console`, or one of Offload's own. */
export interface LogLine {
  /** ISO 8601 UTC with milliseconds. */
  at: string;
  level: LogLevel;
  message: string;
  /** The attempt's number in its round, from 1. Null: the line belongs to no attempt. */
  attempt: number | null;
  fields: Record<string, unknown>;
}

/** Writers of lines: the submit, or the workers of a tier in Lambda or in containers. */
export type LogSource = "submit" | "worker" | "container";

/** Lines of one source within a time. */
export interface LogSpan {
  source: LogSource;
  /** Epoch milliseconds, both inclusive. */
  fromMs: number;
  untilMs: number;
}

/** Reads the log lines of tasks. Throws `PortUnavailable`. */
export interface TaskLogs {
  /** The sources that the deployment has. */
  readonly sources: readonly LogSource[];
  /** True when the lines of each tier's workers are read apart. */
  readonly byTier: boolean;
  /** A line can be read at most this long after it was written, in milliseconds. */
  readonly lateMs: number;
  /**
   * Reads lines of a task, of workers those of one tier, oldest first. A page may have fewer than `limit` lines, also
   * none, and others after it.
   */
  page(
    task: TaskKey & { tier: Tier },
    span: LogSpan,
    page: { limit: number; from?: string | undefined },
  ): Promise<Page<LogLine> & { bytes: number }>;
}

/** Clocks of functions differ by less than this, in milliseconds; own lines of an attempt's end come within it, too. */
const marginMs = 1_000;

/** The line of a submit comes within this time after the record, in milliseconds: usually, and at most. */
const soonMs = 200;
const submitMs = 5_000;

/** Calls of one request, at most: each may read a part of its span and find nothing. */
const maxCalls = 6;

/** No further call is made after so many bytes of lines: an answer has at most 6 MB. */
const maxBytes = 1_500_000;

/** No further call is made after this time, in milliseconds: the request must be answered. */
const maxReadMs = 3_000;

export interface TaskLogPorts {
  clock: Clock;
  logs: TaskLogs;
}

export interface LogQuery {
  record: TaskRecord;
  /** The stored attempts, oldest first. */
  attempts: readonly Attempt[];
  limit: number;
  /** `next` of the page before. Undefined: the start. */
  from: string | undefined;
}

export interface LogPage {
  lines: LogLine[];
  /** The place from which the log goes on. Undefined: it is complete. */
  next: string | undefined;
}

/** Lines of a source that are read apart: of workers, those of one tier. */
interface Part {
  source: LogSource;
  /** Absent: all of them. */
  tier?: Tier;
}

/** A place in a log: everything before `fromMs` of these sources has been read. */
interface Position {
  fromMs: number;
  /** The span that is being read, with the place in it. Undefined: the next one begins. */
  open?: Part & { untilMs: number; token?: string };
}

/** The parts of a log for one time. An attempt of a task that was moved may have run in any of its tiers. */
const partsOf = ({ sources, byTier }: TaskLogs, { priority, earlier_tiers: earlier = [] }: TaskRecord): Part[] =>
  sources.flatMap((source): Part[] => {
    if (source === "submit") return [];
    return source === "worker" && byTier ? [priority, ...earlier].map((tier) => ({ source, tier })) : [{ source }];
  });

/**
 * Reads lines of a task, oldest first: those of its submit, then those of its attempts, within the times that the
 * record has for them. The calls, the bytes and the time of one request are bounded, so that a page may be short, or
 * empty, and still not be the last.
 * @throws PortUnavailable
 */
export async function taskLogPage(ports: TaskLogPorts, query: LogQuery): Promise<LogPage> {
  const { record, limit } = query;
  const { logs, clock } = ports;
  const startedMs = clock.now();
  const { tenant_id, task_id, priority } = record;
  const lines: LogLine[] = [];
  let position = positionOf(query);
  let bytes = 0;
  for (let calls = 0; calls < maxCalls && lines.length < limit; calls++) {
    if (bytes > maxBytes || clock.now() - startedMs > maxReadMs) break;
    const span = nextSpan(ports, query, position);
    if (span === undefined) return { lines, next: isComplete(ports, query, position) ? undefined : textOf(position) };
    const token = position.open?.token;
    const task = { tenant_id, task_id, tier: span.tier ?? priority };
    const page = await logs.page(task, span, { limit: limit - lines.length, from: token });
    lines.push(...page.items);
    bytes += page.bytes;
    position =
      page.next === undefined
        ? after(partsOf(logs, record), span)
        : { fromMs: span.fromMs, open: { ...span, token: page.next } };
  }
  return { lines, next: textOf(position) };
}

/** The place after a span: the same time of the next part, or the time after it. */
function after(parts: readonly Part[], { source, tier, fromMs, untilMs }: LogSpan & Part): Position {
  if (source === "submit") return { fromMs };
  const next = parts[parts.findIndex((part) => part.source === source && (tier ?? part.tier) === part.tier) + 1];
  return next === undefined ? { fromMs: untilMs + 1 } : { fromMs, open: { ...next, untilMs } };
}

function positionOf({ record, from }: LogQuery): Position {
  if (from !== undefined) return JSON.parse(from) as Position;
  const createdMs = Date.parse(record.created_at);
  return { fromMs: createdMs - marginMs, open: { source: "submit", untilMs: createdMs + submitMs } };
}

const textOf = (position: Position): string => JSON.stringify(position);

/** The next span of lines that can be read now. */
function nextSpan(
  { clock, logs }: TaskLogPorts,
  query: LogQuery,
  { fromMs, open }: Position,
): (LogSpan & Part) | undefined {
  const readableMs = clock.now() - logs.lateMs;
  if (open?.source === "submit" && readableMs < Date.parse(query.record.created_at) + soonMs) return undefined;
  if (open !== undefined) {
    const { token: _, ...part } = open;
    return { ...part, fromMs };
  }
  const found = windowsOf(query, readableMs).find(({ untilMs }) => untilMs >= fromMs);
  const [first] = partsOf(logs, query.record);
  if (found === undefined || first === undefined) return undefined;
  const untilMs = Math.min(found.untilMs, readableMs);
  const startMs = Math.max(found.fromMs, fromMs);
  return startMs > untilMs ? undefined : { ...first, fromMs: startMs, untilMs };
}

/** The times of the attempts, oldest first, without overlaps. */
function windowsOf({ record, attempts }: LogQuery, nowMs: number) {
  const ended = attempts.map(({ started_at, finished_at }) => ({
    fromMs: Date.parse(started_at) - marginMs,
    untilMs: Date.parse(finished_at) + marginMs,
  }));
  const running =
    record.status === "processing" && record.started_at !== undefined
      ? [{ fromMs: Date.parse(record.started_at) - marginMs, untilMs: nowMs }]
      : [];
  const merged: { fromMs: number; untilMs: number }[] = [];
  for (const window of [...ended, ...running].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last !== undefined && window.fromMs <= last.untilMs) last.untilMs = Math.max(last.untilMs, window.untilMs);
    else merged.push({ ...window });
  }
  return merged;
}

/** True when the task has ended, and its last line has been read or can no longer come. */
function isComplete({ clock, logs }: TaskLogPorts, query: LogQuery, { fromMs, open }: Position): boolean {
  const { record, attempts } = query;
  if (!isTerminal(record.status) || open !== undefined) return false;
  const lastMs = Math.max(Date.parse(record.created_at), ...attempts.map(({ finished_at }) => Date.parse(finished_at)));
  const endMs = lastMs + marginMs;
  return clock.now() - logs.lateMs > endMs && (attempts.length === 0 || fromMs > endMs);
}
