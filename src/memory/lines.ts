import { orderOf } from "../core/flow/place-book.ts";
import type {
  HeldPlace,
  LineState,
  Lines,
  PlannedCheck,
  Wait,
  WaitingEntry,
  WaitingKey,
  WaitingTask,
  WantedSlot,
} from "../core/ports/flow.ts";
import { copy } from "./copy.ts";

interface StoredLine {
  /** By their order; the order of the map itself, unless a task came late. */
  waiting: Map<string, WaitingTask>;
  last: string;
  late: boolean;
  places: Map<string, number>;
  reserved: Map<string, number>;
  nextSlotMs?: number;
  check?: PlannedCheck;
}

/** Lines in memory. */
export class MemoryLines implements Lines {
  readonly #lines = new Map<string, StoredLine>();
  readonly #listed = new Set<string>();

  async add(line: string, task: WaitingTask): Promise<void> {
    const order = orderOf(task);
    const stored = this.#of(line);
    if (order < stored.last) stored.late = true;
    else stored.last = order;
    stored.waiting.set(order, copy(task));
  }

  async first(line: string, limit: number): Promise<WaitingEntry[]> {
    const tasks: WaitingEntry[] = [];
    for (const task of this.#ordered(line).values()) {
      if (tasks.length >= limit) break;
      tasks.push(copy(task));
    }
    return tasks;
  }

  async withEnvelopes(line: string, tasks: readonly WaitingEntry[]): Promise<WaitingTask[]> {
    const { waiting } = this.#of(line);
    return tasks.flatMap((task) => {
      const found = waiting.get(orderOf(task));
      return found?.id === task.id ? [copy({ ...task, envelope: found.envelope })] : [];
    });
  }

  async find(line: string, task: WaitingKey): Promise<WaitingTask | undefined> {
    return copy(this.#of(line).waiting.get(orderOf(task)));
  }

  async keep(): Promise<void> {}

  async remove(line: string, wait: Wait): Promise<void> {
    const { waiting } = this.#of(line);
    if (waiting.get(orderOf(wait))?.id === wait.id) waiting.delete(orderOf(wait));
  }

  async reserve(line: string, task: string, nowMs: number, untilMs: number): Promise<boolean> {
    const { reserved } = this.#of(line);
    if ((reserved.get(task) ?? 0) > nowMs) return false;
    reserved.set(task, untilMs);
    return true;
  }

  async release(line: string, task: string): Promise<void> {
    this.#of(line).reserved.delete(task);
  }

  async orders(line: string, limit: number, after = ""): Promise<string[]> {
    return [...this.#ordered(line).keys()].filter((order) => order > after).slice(0, limit);
  }

  async state(line: string): Promise<LineState> {
    return stateOf(this.#of(line));
  }

  async states(lines: readonly string[]): Promise<LineState[]> {
    return lines.map((line) => stateOf(this.#of(line)));
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

  async dropPlace(line: string, task: string, untilMs: number): Promise<LineState | undefined> {
    const { places } = this.#of(line);
    if (places.get(task) !== untilMs) return undefined;
    places.delete(task);
    return stateOf(this.#of(line));
  }

  async passPlace(line: string, from: HeldPlace, to: HeldPlace, limit: number): Promise<LineState | undefined> {
    const { places } = this.#of(line);
    if (places.get(from.task) !== from.untilMs || places.has(to.task) || places.size > limit) return undefined;
    places.delete(from.task);
    places.set(to.task, to.untilMs);
    return stateOf(this.#of(line));
  }

  async takeSlot(line: string, { nowMs, intervalMs, aheadMs }: WantedSlot): Promise<number | undefined> {
    const stored = this.#of(line);
    const slotMs = Math.max(nowMs, stored.nextSlotMs ?? 0);
    if (slotMs > nowMs + aheadMs) return undefined;
    stored.nextSlotMs = slotMs + intervalMs;
    return slotMs;
  }

  async takeSlots(line: string, seenMs: number | undefined, nextMs: number): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.nextSlotMs !== seenMs) return false;
    stored.nextSlotMs = nextMs;
    return true;
  }

  async planCheck(line: string, check: PlannedCheck, seen: PlannedCheck | undefined): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.check?.id !== seen?.id) return false;
    stored.check = { ...check };
    this.#listed.add(line);
    return true;
  }

  async endChecks(line: string, id: string): Promise<void> {
    const stored = this.#of(line);
    if (stored.check !== undefined && stored.check.id !== id) return;
    delete stored.check;
    this.#listed.delete(line);
  }

  async list(prefix: string, limit: number): Promise<string[]> {
    return [...this.#listed]
      .filter((line) => line.startsWith(prefix))
      .sort()
      .slice(0, limit);
  }

  #of(line: string): StoredLine {
    const stored = this.#lines.get(line) ?? newLine();
    this.#lines.set(line, stored);
    return stored;
  }

  #ordered(line: string): ReadonlyMap<string, WaitingTask> {
    const stored = this.#of(line);
    if (stored.late) stored.waiting = new Map([...stored.waiting].sort(([a], [b]) => (a < b ? -1 : 1)));
    stored.late = false;
    return stored.waiting;
  }
}

const newLine = (): StoredLine => ({
  waiting: new Map(),
  places: new Map(),
  reserved: new Map(),
  last: "",
  late: false,
});

const stateOf = ({ places, nextSlotMs, check }: StoredLine): LineState => ({
  places: new Map(places),
  ...(nextSlotMs !== undefined && { nextSlotMs }),
  ...(check !== undefined && { check: { ...check } }),
});
