import type { LogLine, LogSource, LogSpan, TaskLogs } from "../core/control/task-log.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Tier } from "../core/model/words.ts";
import type { Page } from "../core/ports/tasks.ts";

/** Lines of tasks in memory. */
export class MemoryTaskLogs implements TaskLogs {
  readonly sources: readonly LogSource[];
  readonly byTier: boolean;
  readonly lateMs: number;
  readonly #lines: (TaskKey & { source: LogSource; tier: Tier | undefined; line: LogLine })[] = [];

  constructor(lateMs = 0, { byTier = true, containers = false } = {}) {
    this.lateMs = lateMs;
    this.byTier = byTier;
    this.sources = ["submit", "worker", ...(containers ? (["container"] as const) : [])];
  }

  /** @param tier Tier of the workers that write the line. Undefined: of all tiers. */
  add({ tenant_id, task_id }: TaskKey, source: LogSource, line: LogLine, tier?: Tier): void {
    this.#lines.push({ tenant_id, task_id, source, tier: this.byTier ? tier : undefined, line });
  }

  async page(
    { tenant_id, task_id, tier }: TaskKey & { tier: Tier },
    { source, fromMs, untilMs }: LogSpan,
    { limit, from = "0" }: { limit: number; from?: string | undefined },
  ): Promise<Page<LogLine> & { bytes: number }> {
    const found = this.#lines
      .filter((one) => one.source === source && one.tenant_id === tenant_id && one.task_id === task_id)
      .filter((one) => source !== "worker" || one.tier === undefined || one.tier === tier)
      .map(({ line }) => line)
      .filter(({ at }) => Date.parse(at) >= fromMs && Date.parse(at) <= untilMs)
      .sort((a, b) => (a.at < b.at ? -1 : 1));
    const end = Number(from) + limit;
    const items = found.slice(Number(from), end);
    return { items, next: end < found.length ? String(end) : undefined, bytes: JSON.stringify(items).length };
  }
}
