import type { LineState, Lines, WaitingKey, WaitingTask } from "../core/flow/ports.ts";

interface StoredLine {
  waiting: Map<string, WaitingTask>;
  places: Map<string, number>;
  nextSlotMs?: number;
  checkAtMs?: number;
}

const orderOf = ({ createdAt, taskId }: WaitingKey): string => `${createdAt}#${taskId}`;

/** Lines in memory. */
export class MemoryLines implements Lines {
  readonly #lines = new Map<string, StoredLine>();
  readonly #listed = new Set<string>();

  async add(line: string, task: WaitingTask): Promise<void> {
    const order = orderOf({ createdAt: task.createdAt, taskId: task.envelope.task_id });
    this.#of(line).waiting.set(order, structuredClone(task));
  }

  async first(line: string, limit: number): Promise<WaitingTask[]> {
    return this.#ordered(line)
      .slice(0, limit)
      .map(([, task]) => structuredClone(task));
  }

  async remove(line: string, task: WaitingKey): Promise<void> {
    this.#of(line).waiting.delete(orderOf(task));
  }

  async before(line: string, task: WaitingKey, most: number): Promise<number> {
    const own = orderOf(task);
    return Math.min(most, this.#ordered(line).filter(([order]) => order < own).length);
  }

  async state(line: string): Promise<LineState> {
    const { waiting: _, places, ...rest } = this.#of(line);
    return { places: new Map(places), ...rest };
  }

  async takePlaces(line: string, tasks: readonly string[], untilMs: number, limit: number): Promise<boolean> {
    const { places } = this.#of(line);
    if (tasks.some((task) => places.has(task)) || places.size + tasks.length > limit) return false;
    for (const task of tasks) places.set(task, untilMs);
    return true;
  }

  async keepPlace(line: string, task: string, untilMs: number): Promise<boolean> {
    const { places } = this.#of(line);
    if (!places.has(task)) return false;
    places.set(task, untilMs);
    return true;
  }

  async dropPlace(line: string, task: string, untilMs?: number): Promise<LineState | undefined> {
    const { places } = this.#of(line);
    const held = places.get(task);
    if (held === undefined || (untilMs !== undefined && held !== untilMs)) return undefined;
    places.delete(task);
    return this.state(line);
  }

  async takeSlots(line: string, seenMs: number | undefined, nextMs: number): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.nextSlotMs !== seenMs) return false;
    stored.nextSlotMs = nextMs;
    return true;
  }

  async planCheck(line: string, { atMs, list }: { atMs: number; list: boolean }): Promise<void> {
    this.#of(line).checkAtMs = atMs;
    if (list) this.#listed.add(line);
  }

  async endChecks(line: string, atMs: number): Promise<void> {
    const stored = this.#of(line);
    if (stored.checkAtMs !== undefined && stored.checkAtMs !== atMs) return;
    delete stored.checkAtMs;
    this.#listed.delete(line);
  }

  async list(prefix: string, limit: number): Promise<string[]> {
    return [...this.#listed]
      .filter((line) => line.startsWith(prefix))
      .sort()
      .slice(0, limit);
  }

  #of(line: string): StoredLine {
    const stored = this.#lines.get(line) ?? { waiting: new Map(), places: new Map() };
    this.#lines.set(line, stored);
    return stored;
  }

  #ordered(line: string): [string, WaitingTask][] {
    return [...this.#of(line).waiting].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
