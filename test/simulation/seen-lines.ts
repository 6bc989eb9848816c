import { allShards, shardOf } from "../../src/core/extras/limits/place-book.ts";
import type {
  CountedTokens,
  Successor,
  TaskPermit,
  Wait,
  WaitingEntry,
  WaitingKey,
  WaitingTask,
  WaitQueueState,
} from "../../src/core/ports/flow.ts";
import { MemoryWaitQueues } from "../../src/memory/wait-queues.ts";
import type { FlowLaws } from "./flow-laws.ts";
import { listedType } from "./rate-laws.ts";
import type { TurnLaws } from "./turn-laws.ts";

/** The arguments of `acquireTokens` behind the line. */
type Taken = [seenMs: number | undefined, nextMs: number, starts?: CountedTokens];

/** The line of a bucket of places. */
const lineOf = (bucket: string): string => bucket.replace(/^places\/\d+\//, "");

/** The message of a task in a line, which is written and deleted by itself. */
interface Apart {
  /** The wait that wrote it. */
  id: string;
  envelope: WaitingTask["envelope"];
}

/**
 * The lines of a world, with a witness of who goes first. In some worlds a message is no part of its entry: a late try
 * of an addition may bring the entry alone.
 */
export class SeenLines extends MemoryWaitQueues {
  readonly #laws: () => FlowLaws;
  /** Names of all lines that tasks ever waited in. */
  readonly names = new Set<string>();
  /** Names of the buckets of each line's places. */
  readonly #buckets = new Map<string, Set<string>>();

  /** Messages that are no part of their entries. Undefined: all are. */
  readonly #apart: Map<string, Apart> | undefined;
  readonly #added = new Set<string>();
  readonly #turns: Pick<TurnLaws, "waits" | "took">;

  /** True when the tasks of each limit's line wait in shards. */
  readonly #sharded: boolean;

  /** True when each place is a bucket: a line of more places has several, also before anybody has used the second. */
  readonly #split: boolean;

  constructor(
    laws: () => FlowLaws,
    {
      apart,
      sharded,
      split,
      turns,
    }: { apart: boolean; sharded: boolean; split: boolean; turns: Pick<TurnLaws, "waits" | "took"> },
  ) {
    super();
    this.#split = split;
    this.#turns = turns;
    this.#sharded = sharded;
    this.#laws = laws;
    this.#apart = apart ? new Map() : undefined;
  }

  /** Epoch seconds until which the entry of a task is kept, by line and task. */
  readonly #keptUntil = new Map<string, number>();

  /** Epoch seconds until which the entry of a task in a line is kept. Undefined: it was never in it. */
  keptUntil(line: string, taskId: string): number | undefined {
    return this.#keptUntil.get(`${line} ${taskId}`);
  }

  /** The tasks that have places in a line's own state, as they are now. */
  turnsOf(line: string): ReadonlyMap<string, number> {
    return this.placesNow(line);
  }

  override async keep(line: string, { taskId }: Wait, purgeAt: number): Promise<void> {
    this.#keptUntil.set(`${line} ${taskId}`, purgeAt);
  }

  override async add(line: string, task: WaitingTask, purgeAt: number): Promise<void> {
    this.#keptUntil.set(`${line} ${task.taskId}`, purgeAt);
    this.#laws().parks += 1;
    this.#laws().waits(line, task.taskId);
    this.#turns.waits(line, task.taskId);
    this.#laws().parked(line, task.envelope);
    this.names.add(line);
    const { id, envelope } = task;
    // A late try brings the entry alone: the message was written before.
    if (!this.#added.has(id)) this.#apart?.set(`${line} ${task.taskId}`, { id, envelope });
    this.#added.add(id);
    await super.add(line, task);
  }

  override async first(line: string, limit: number, shards?: readonly number[]): Promise<WaitingEntry[]> {
    const tasks = await super.first(line, limit, shards);
    if (this.#apart === undefined) return tasks;
    return tasks.map(({ envelope: _, ...task }) => task);
  }

  override async withEnvelopes(line: string, tasks: readonly WaitingEntry[]): Promise<WaitingTask[]> {
    const apart = this.#apart;
    if (apart === undefined) return super.withEnvelopes(line, tasks);
    return tasks.flatMap((task) => {
      const found = apart.get(`${line} ${task.taskId}`);
      return found === undefined ? [] : [{ ...task, envelope: found.envelope }];
    });
  }

  override async remove(line: string, wait: Wait): Promise<void> {
    const entry = await super.find(line, wait);
    await super.remove(line, wait);
    if (entry?.id === wait.id) this.#laws().left(line, wait.taskId);
    const name = `${line} ${wait.taskId}`;
    if (entry?.id === wait.id && this.#apart?.get(name)?.id === wait.id) this.#apart.delete(name);
  }

  override async find(line: string, task: WaitingKey): Promise<WaitingTask | undefined> {
    const found = await super.find(line, task);
    return found && (await this.withEnvelopes(line, [found]))[0];
  }

  override async acquirePermits(
    bucket: string,
    tasks: readonly string[],
    untilMs: number,
    limit: number,
    _isTurn?: boolean,
  ): Promise<boolean> {
    const see = await this.#witness(bucket);
    const taken = await super.acquirePermits(bucket, tasks, untilMs, limit);
    if (taken) see(tasks);
    if (taken) for (const task of tasks) this.#turns.took(lineOf(bucket), task);
    else for (const task of tasks) this.#laws().refused(lineOf(bucket), task);
    return taken;
  }

  /** Other lines are not looked at: a further turn of the event loop would make other worlds of their seeds. */
  override acquireTokens(line: string, ...how: Taken): Promise<boolean> {
    return line.startsWith(`rate/${listedType}/`) ? this.#takeListed(line, how) : super.acquireTokens(line, ...how);
  }

  async #takeListed(line: string, how: Taken): Promise<boolean> {
    const before = await this.state(line);
    const taken = await super.acquireTokens(line, ...how);
    this.#laws().rates.gave(line, before, await this.state(line));
    return taken;
  }

  override async releasePermit(bucket: string, task: string, untilMs: number): Promise<WaitQueueState | undefined> {
    this.#laws().waits(lineOf(bucket), task);
    this.#turns.waits(lineOf(bucket), task);
    return super.releasePermit(bucket, task, untilMs);
  }

  override async passPermit(bucket: string, from: TaskPermit, to: TaskPermit, limit: number) {
    const see = await this.#witness(bucket);
    const state = await super.passPermit(bucket, from, to, limit);
    if (state !== undefined) {
      see([to.task]);
      this.#turns.took(lineOf(bucket), to.task);
      this.#laws().handOvers.handedOver(lineOf(bucket), from.task, to.task);
    } else this.#laws().refused(lineOf(bucket), to.task);
    this.#laws().waits(lineOf(bucket), from.task);
    return state;
  }

  override async givePermit(bucket: string, from: TaskPermit, to: Successor): Promise<boolean> {
    const given = await super.givePermit(bucket, from, to);
    if (given) this.#laws().waits(lineOf(bucket), from.task);
    if (given) this.#laws().handOvers.givenToSuccessor(from.task, to.id);
    return given;
  }

  /** Sees who waits before tasks get places. */
  async #witness(bucket: string): Promise<(going: readonly string[]) => void> {
    const line = lineOf(bucket);
    const buckets = new Set([...(this.#buckets.get(line) ?? [line]), bucket]);
    this.#buckets.set(line, buckets);
    const [waiting, states] = await Promise.all([this.first(line, 1_000, allShards), this.states([...buckets])]);
    const placed = new Set(states.flatMap(({ permits: places }) => [...places.keys()]));
    // Of several buckets, each takes one of the first sixteen tasks.
    const isOne = buckets.size === 1 && !(this.#split && this.#laws().mostPlacesOf(line) > 1);
    const atOnce = isOne ? 1 : 16;
    return (going) => {
      const shards = new Set(going.map((task) => this.#shardOf(task)));
      const ids = waiting.map(({ taskId }) => taskId).filter((task) => shards.has(this.#shardOf(task)));
      this.#laws().letGo(line, going, ids, { placed, atOnce });
    };
  }

  /** Tasks of different shards may overtake each other. */
  #shardOf(task: string): number {
    return this.#sharded ? shardOf(task) : 0;
  }
}
