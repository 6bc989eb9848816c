import { isOwnName } from "../../core/model/internal-names.ts";
import { LogTail } from "../cloudwatch/log-tail.ts";

/** The outcome of a move of the clock: numbers of starts and ends within the move. */
export interface Counts {
  schedule_firings: number;
  /** Attempts after the first one of a round. */
  retries: number;
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
}

export const none: Counts = { schedule_firings: 0, retries: 0, completed: 0, failed: 0, cancelled: 0, expired: 0 };

/** Kinds of firings that are times of schedules. The others end waits, or are Offload's own. */
const scheduleKinds = ["schedule", "app_schedule"];

/** The kind of a firing's payload for fire. */
export const kindOf = (payload: unknown): string | undefined => (payload as { kind?: string } | null)?.kind;

/**
 * Counts what happens in a move, from the firings of schedules and from the lines that all processes log of tasks. A
 * task that waits in a line expires by its record alone, of which a line comes later.
 */
export class Played {
  readonly #tail: LogTail;
  readonly #readExpired: () => Promise<string[]>;
  #expiredBefore: ReadonlySet<string> = new Set();
  #counts = { ...none };

  /**
   * @param logFile File of the lines of tasks.
   * @param readExpired Returns the ids of the tasks that have expired by their records, and are not ended yet.
   */
  constructor(logFile: string, readExpired: () => Promise<string[]>) {
    this.#tail = new LogTail(logFile);
    this.#readExpired = readExpired;
  }

  fired(payload: unknown): void {
    const kind = kindOf(payload);
    if (kind !== undefined && scheduleKinds.includes(kind)) this.#counts.schedule_firings += 1;
  }

  async begin(): Promise<void> {
    this.#expiredBefore = new Set(await this.#readExpired());
    this.#tail.read();
    this.#counts = { ...none };
  }

  /** Returns the counts since the begin. */
  async end(): Promise<Counts> {
    for (const text of this.#tail.read()) this.#count(text);
    const expired = (await this.#readExpired()).filter((id) => !this.#expiredBefore.has(id));
    return { ...this.#counts, expired: this.#counts.expired + expired.length };
  }

  close(): void {
    this.#tail.close();
  }

  #count(text: string): void {
    const { message, outcome, attempt, status, type, task_id: id } = lineOf(text);
    if (isOwnName(String(type)) || (outcome === "expired" && this.#expiredBefore.has(String(id)))) return;
    const settled = message === "attempt settled";
    if (settled && Number(attempt) > 1 && outcome !== "suspended" && outcome !== "waiting") this.#counts.retries += 1;
    const ended = settled ? status : String(message).startsWith("task ") && outcome === status ? status : undefined;
    if (isEnd(ended)) this.#counts[ended] += 1;
  }
}

type End = "completed" | "failed" | "cancelled" | "expired";

const isEnd = (status: unknown): status is End =>
  status === "completed" || status === "failed" || status === "cancelled" || status === "expired";

function lineOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A process died while it wrote the line.
    return {};
  }
}

const units = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** A number of seconds in its two largest units: `2 days`, `1 hour 30 minutes`. */
export function spanInWords(seconds: number): string {
  let left = Math.round(seconds);
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0 && parts.length < 2) parts.push(plural(count, unit));
    else if (parts.length > 0) break;
  }
  return parts.length === 0 ? "0 seconds" : parts.join(" ");
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** The outcome of a move in one line: `2 days: 96 schedule firings, 14 retries, 3 expired`. */
export function inWords(seconds: number, counts: Counts): string {
  const { schedule_firings, retries, ...ends } = counts;
  const parts = [
    ...(schedule_firings > 0 ? [plural(schedule_firings, "schedule firing")] : []),
    ...(retries > 0 ? [retries === 1 ? "1 retry" : `${retries} retries`] : []),
    ...Object.entries(ends).flatMap(([end, count]) => (count > 0 ? [`${count} ${end}`] : [])),
  ];
  return `${spanInWords(seconds)}: ${parts.length === 0 ? "nothing was due" : parts.join(", ")}`;
}
