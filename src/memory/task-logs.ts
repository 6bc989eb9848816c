import type { TaskKey } from "../core/model/record.ts";
import type { LogLine, LogSource, LogSpan, TaskLogs } from "../core/ports/task-logs.ts";
import type { Page } from "../core/ports/tasks.ts";

/** Lines of tasks in memory. */
export class MemoryTaskLogs implements TaskLogs {
  readonly sources: readonly LogSource[] = ["submit", "worker"];
  readonly lateMs: number;
  readonly #lines: (TaskKey & { source: LogSource; line: LogLine })[] = [];

  constructor(lateMs = 0) {
    this.lateMs = lateMs;
  }

  add({ tenant_id, task_id }: TaskKey, source: LogSource, line: LogLine): void {
    this.#lines.push({ tenant_id, task_id, source, line });
  }

  async page(
    { tenant_id, task_id }: TaskKey,
    { source, fromMs, untilMs }: LogSpan,
    { limit, from = "0" }: { limit: number; from?: string | undefined },
  ): Promise<Page<LogLine> & { bytes: number }> {
    const found = this.#lines
      .filter((one) => one.source === source && one.tenant_id === tenant_id && one.task_id === task_id)
      .map(({ line }) => line)
      .filter(({ at }) => Date.parse(at) >= fromMs && Date.parse(at) <= untilMs)
      .sort((a, b) => (a.at < b.at ? -1 : 1));
    const end = Number(from) + limit;
    const items = found.slice(Number(from), end);
    return { items, next: end < found.length ? String(end) : undefined, bytes: JSON.stringify(items).length };
  }
}
