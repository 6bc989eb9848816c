import { orderOf, shardOf } from "../core/extras/limits/place-book.ts";
import type {
  CountedTokens,
  NextCheck,
  NotedLimit,
  PlannedCheck,
  Sharded,
  Successor,
  TaskPermit,
  Wait,
  WaitingEntry,
  WaitingKey,
  WaitingTask,
  WaitQueueState,
  WaitQueues,
  WantedToken,
} from "../core/ports/flow.ts";
import { copy } from "./copy.ts";

/** The waiting tasks of a shard. */
interface Shard {
  /** By their order; the order of the map itself, unless a task came late. */
  waiting: Map<string, WaitingTask>;
  last: string;
  late: boolean;
}

interface StoredLine {
  shards: Map<number, Shard>;
  permits: Map<string, number>;
  reserved: Map<string, number>;
  nextTokenMs?: number;
  starts?: CountedTokens;
  check?: PlannedCheck;
  sharded?: true;
  successor?: Successor;
  keyLimit?: NotedLimit;
}

/** The shards in which a task may wait. */
const shardsOf = (task: Sharded): readonly number[] =>
  task.shard === undefined ? [0, shardOf(task.taskId)] : [task.shard];

/** Lines in memory. */
export class MemoryWaitQueues implements WaitQueues {
  readonly #lines = new Map<string, StoredLine>();
  readonly #listed = new Set<string>();

  async add(line: string, task: WaitingTask, _purgeAt?: number): Promise<void> {
    const order = orderOf(task);
    const shard = this.#shard(line, task.shard ?? 0);
    if (order < shard.last) shard.late = true;
    else shard.last = order;
    shard.waiting.set(order, copy(task));
  }

  async first(line: string, limit: number, shards?: readonly number[]): Promise<WaitingEntry[]> {
    return this.#first(line, limit, shards).map(copy);
  }

  /** Of a task that waits in two shards, as its line was sharded between them, the later shard counts. */
  #first(line: string, limit: number, shards: readonly number[] = [0], after = ""): WaitingTask[] {
    const found = new Map<string, WaitingTask>();
    for (const shard of shards) {
      let count = 0;
      for (const [order, task] of this.#ordered(line, shard)) {
        if (count >= limit) break;
        if (order <= after) continue;
        found.set(order, task);
        count += 1;
      }
    }
    const inOrder = shards.length === 1 ? [...found] : [...found].sort(([a], [b]) => (a < b ? -1 : 1));
    return inOrder.slice(0, limit).map(([, task]) => task);
  }

  async withEnvelopes(line: string, tasks: readonly WaitingEntry[]): Promise<WaitingTask[]> {
    return tasks.flatMap((task) => {
      const found = this.#shard(line, task.shard ?? 0).waiting.get(orderOf(task));
      return found?.id === task.id ? [copy({ ...task, envelope: found.envelope })] : [];
    });
  }

  async find(line: string, task: WaitingKey & Sharded): Promise<WaitingTask | undefined> {
    return copy(shardsOf(task).flatMap((shard) => this.#shard(line, shard).waiting.get(orderOf(task)) ?? [])[0]);
  }

  async keep(_line: string, _wait: Wait, _purgeAt: number): Promise<void> {}

  async remove(line: string, wait: Wait): Promise<void> {
    const found = shardsOf(wait).map((shard) => this.#shard(line, shard).waiting);
    found.find((waiting) => waiting.get(orderOf(wait))?.id === wait.id)?.delete(orderOf(wait));
  }

  async reserve(line: string, { taskId }: Sharded, nowMs: number, untilMs: number): Promise<boolean> {
    const { reserved } = this.#of(line);
    if ((reserved.get(taskId) ?? 0) > nowMs) return false;
    reserved.set(taskId, untilMs);
    return true;
  }

  async release(line: string, { taskId }: Sharded): Promise<void> {
    this.#of(line).reserved.delete(taskId);
  }

  async orders(line: string, limit: number, after?: string, shards?: readonly number[]): Promise<string[]> {
    return this.#first(line, limit, shards, after).map(orderOf);
  }

  async state(line: string): Promise<WaitQueueState> {
    return stateOf(this.#of(line));
  }

  /** The permits of a line's own state. */
  protected placesNow(line: string): ReadonlyMap<string, number> {
    return this.#of(line).permits;
  }

  async states(lines: readonly string[]): Promise<WaitQueueState[]> {
    return lines.map((line) => stateOf(this.#of(line)));
  }

  async acquirePermits(line: string, tasks: readonly string[], untilMs: number, limit: number): Promise<boolean> {
    const { permits } = this.#of(line);
    if (tasks.some((task) => permits.has(task)) || permits.size + tasks.length > limit) return false;
    for (const task of tasks) permits.set(task, untilMs);
    return true;
  }

  async renewPermit(line: string, from: TaskPermit, untilMs: number): Promise<boolean> {
    const { permits } = this.#of(line);
    if (permits.get(from.task) !== from.untilMs) return false;
    permits.set(from.task, untilMs);
    return true;
  }

  async releasePermit(line: string, task: string, untilMs: number): Promise<WaitQueueState | undefined> {
    const { permits } = this.#of(line);
    if (permits.get(task) !== untilMs) return undefined;
    permits.delete(task);
    return stateOf(this.#of(line));
  }

  async passPermit(line: string, from: TaskPermit, to: TaskPermit, limit: number): Promise<WaitQueueState | undefined> {
    const { permits } = this.#of(line);
    if (permits.get(from.task) !== from.untilMs || permits.has(to.task) || permits.size > limit) return undefined;
    permits.delete(from.task);
    permits.set(to.task, to.untilMs);
    return stateOf(this.#of(line));
  }

  async awaitPermit(line: string, successor: Successor, nowMs: number): Promise<boolean> {
    const stored = this.#of(line);
    if ((stored.successor?.untilMs ?? 0) > nowMs) return false;
    stored.successor = { ...successor };
    return true;
  }

  async endWait(line: string, id: string): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.successor?.id !== id) return false;
    delete stored.successor;
    return true;
  }

  async givePermit(line: string, from: TaskPermit, { id, untilMs }: Successor): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.permits.get(from.task) !== from.untilMs || stored.successor?.id !== id) return false;
    delete stored.successor;
    stored.permits.delete(from.task);
    stored.permits.set(id, untilMs);
    return true;
  }

  async acquireToken(
    line: string,
    { nowMs, intervalMs, aheadMs, count = 1 }: WantedToken,
  ): Promise<number | undefined> {
    const stored = this.#of(line);
    const slotMs = Math.max(nowMs, stored.nextTokenMs ?? 0);
    if (slotMs > nowMs + aheadMs) return undefined;
    stored.nextTokenMs = slotMs + count * intervalMs;
    return slotMs;
  }

  async acquireTokens(
    line: string,
    seenMs: number | undefined,
    nextMs: number,
    starts?: CountedTokens,
  ): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.nextTokenMs !== seenMs) return false;
    stored.nextTokenMs = nextMs;
    if (starts !== undefined) stored.starts = copy(starts);
    return true;
  }

  async planCheck(line: string, check: NextCheck, seen: PlannedCheck | undefined): Promise<boolean> {
    const stored = this.#of(line);
    if (stored.check?.id !== seen?.id) return false;
    const { sharded, ...planned } = check;
    stored.check = planned;
    if (sharded) stored.sharded = true;
    this.#listed.add(line);
    return true;
  }

  async noteLimit(line: string, limit: NotedLimit): Promise<boolean> {
    const state = this.#of(line);
    if (state.keyLimit !== undefined && state.keyLimit.atMs > limit.atMs) return false;
    state.keyLimit = { ...limit };
    return true;
  }

  async shard(line: string): Promise<WaitQueueState> {
    const stored = this.#of(line);
    stored.sharded = true;
    return stateOf(stored);
  }

  async unshard(line: string): Promise<void> {
    const stored = this.#of(line);
    if (stored.check === undefined) delete stored.sharded;
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

  #shard(line: string, shard: number): Shard {
    const { shards } = this.#of(line);
    const stored = shards.get(shard) ?? { waiting: new Map(), last: "", late: false };
    shards.set(shard, stored);
    return stored;
  }

  #ordered(line: string, shard: number): ReadonlyMap<string, WaitingTask> {
    const stored = this.#shard(line, shard);
    if (stored.late) stored.waiting = new Map([...stored.waiting].sort(([a], [b]) => (a < b ? -1 : 1)));
    stored.late = false;
    return stored.waiting;
  }
}

const newLine = (): StoredLine => ({ shards: new Map(), permits: new Map(), reserved: new Map() });

const stateOf = ({
  permits,
  nextTokenMs,
  starts,
  check,
  sharded,
  successor,
  keyLimit,
}: StoredLine): WaitQueueState => ({
  permits: new Map(permits),
  ...(nextTokenMs !== undefined && { nextTokenMs }),
  ...(starts !== undefined && { starts: copy(starts) }),
  ...(check !== undefined && { check: { ...check } }),
  ...(sharded && { sharded }),
  ...(successor !== undefined && { successor: { ...successor } }),
  ...(keyLimit !== undefined && { keyLimit }),
});
