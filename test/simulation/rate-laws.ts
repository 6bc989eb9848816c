import type { TaskRecord } from "../../src/core/model/record.ts";
import { type PauseTarget, pauseName, pausesOf } from "../../src/core/model/wait-queue.ts";
import type { CountedTokens, WaitQueueState } from "../../src/core/ports/flow.ts";
import { keyIn } from "./breaker-laws.ts";
import type { Lives, Watched } from "./lives.ts";

/** The type with a list of rates, each of a key. */
export const listedType = "listed";

/** Its rates. The worlds have at most `most` tasks of a key, so that the last of them wait for the slowest rate once. */
export const listedRates = [
  { limit: 3, perSeconds: 10 },
  { limit: 5, perSeconds: 60 },
  { limit: 8, perSeconds: 600 },
] as const;
export const mostListed = 13;

/** Two workers' clocks may differ by 800 ms, and a claim takes some time, in milliseconds. */
const slackMs = 2_000;

/** A task of a list waits at most so long, in milliseconds: for the slowest rate, with a sixteenth; then for the others. */
const longestWaitMs = 600_000 * (17 / 16) + 3 * 60_000;

/** A line, or a task, whose message waits for a free worker is judged again after this time, in milliseconds. */
export const againMs = 60_000;

/** The promises of a list of rates. */
export class RateLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isPrompt: () => boolean;
  readonly #hasMessage: (line: string) => boolean;
  /** True after a pause that stops its tasks, too: a task that meets one loses its start. */
  #wasPaused = false;
  /** Times of starts, by tenant and key. */
  readonly #starts = new Map<string, number[]>();
  /** Tasks that waited for a start of a list. */
  stopped = 0;

  constructor(watched: Watched, lives: Lives, isPrompt: () => boolean, hasMessage: (line: string) => boolean) {
    this.#watched = watched;
    this.#hasMessage = hasMessage;
    this.#lives = lives;
    this.#isPrompt = isPrompt;
  }

  paused(target: PauseTarget): void {
    const stops = pausesOf({ tier: "normal", type: listedType, tenantId: "acme" });
    if (stops.includes(pauseName(target))) this.#wasPaused = true;
  }

  /** No window of any rate has more starts than its limit. */
  started(type: string, taskId: string, tenantId: string): void {
    if (type !== listedType) return;
    const name = `${tenantId} ${keyIn(this.#lives.life(taskId)?.input)}`;
    const { now } = this.#watched.time;
    const starts = [...(this.#starts.get(name) ?? []), now];
    this.#starts.set(name, starts);
    if (!this.#isPrompt()) return;
    for (const { limit, perSeconds } of listedRates) {
      const within = starts.filter((at) => at > now - perSeconds * 1000 + slackMs);
      if (within.length > limit)
        this.#lives.violated(
          `${within.length} tasks of one key start in ${perSeconds} s, at a limit of ${limit}`,
          taskId,
        );
    }
  }

  /** Nobody waits for longer than the slowest rate asks. */
  parked(line: string, { tenant_id, task_id }: Pick<TaskRecord, "tenant_id" | "task_id">): void {
    if (!line.startsWith(`rate/${listedType}/`)) return;
    this.stopped += 1;
    const { time, table } = this.#watched;
    const since = time.now;
    const judge = () => {
      const record = table.read({ tenant_id, task_id });
      const waits = record?.status === "pending" && record.line === line;
      if (!waits || Date.parse(record.updated_at) > since + 1000 || !this.#isPrompt() || this.#wasPaused) return;
      // The only worker of a tier may have a long batch.
      if (this.#hasMessage(line) || this.#hasMessage(task_id)) return void time.after(againMs, judge);
      this.#lives.violated("it waits for longer than the slowest rate of its list asks", task_id);
    };
    time.after(longestWaitMs, judge);
  }

  /** A start is taken from all rates, or from none. */
  gave(line: string, before: WaitQueueState, after: WaitQueueState): void {
    if (!line.startsWith(`rate/${listedType}/`) || before.starts === after.starts) return;
    const grown = listedRates
      .slice(1)
      .map(({ perSeconds }) => grownBy(before.starts, after.starts, String(perSeconds)));
    if (new Set(grown).size > 1) this.#lives.violated(`${line} counts ${grown.join(" and ")} starts by its rates`);
  }
}

/** The starts by which the count of a rate has grown. The oldest of its parts is left out where there are many. */
function grownBy(before: CountedTokens | undefined, after: CountedTokens | undefined, time: string): number {
  const [one, other] = [before?.parts[time] ?? [], after?.parts[time] ?? []];
  const count = (numbers: readonly number[]) => numbers.reduce((sum, value, index) => sum + (index % 2) * value, 0);
  const isLeftOut = one.length > 2 && other.length === one.length && one[0] !== other[0];
  return count(other) - count(one) + (isLeftOut ? (one[1] ?? 0) : 0);
}
