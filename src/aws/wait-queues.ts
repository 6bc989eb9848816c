import type { WrittenLater } from "../core/model/errors.ts";
import { isOfLimit } from "../core/model/wait-queue.ts";
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
import { JoinedReads } from "../util/joined-reads.ts";
import type { Consistency, DynamoTable, Item } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { WaitQueueEntries } from "./line-entries.ts";
import { permitAttribute, stateOf } from "./permits.ts";
import { keys, lineListPartitions } from "./table.ts";

/**
 * A line's state is kept for this time after its last write, in seconds, and its entry in the list after it was
 * written: longer than a permit, a start and a check are ahead.
 */
const keepSeconds = 7 * 86_400;

/**
 * A turn of strict order has no end of its own, and nothing writes to its line while its task sleeps: the state is kept
 * for longer than a task can wait, in seconds.
 */
const keepTurnSeconds = 500 * 86_400;

/** A check writes its line's entry in the list anew when that is older than this, in milliseconds. */
const listAgainMs = 86_400_000;

/**
 * Lines in DynamoDB: an item for each waiting task, its entry, and one for the state. Each permit is an attribute of
 * the state, so that an update gives or takes it without a look; `places` counts them.
 */
export class DynamoWaitQueues implements WaitQueues {
  readonly #table: DynamoTable;
  readonly #now: () => number;
  readonly #entries: WaitQueueEntries;
  /** A batch of tasks that are put into one line reads its state and its first task once or twice. */
  readonly #states = new JoinedReads<Item | undefined>();
  readonly #firsts = new JoinedReads<WaitingEntry[]>();

  /**
   * @param now Epoch milliseconds, from which the items' expiry counts.
   * @param onLater Hears of a task's entry that only a later release can read.
   */
  constructor(table: DynamoTable, now: () => number, onLater?: (error: WrittenLater) => void) {
    this.#table = table;
    this.#now = now;
    this.#entries = new WaitQueueEntries(table, onLater);
  }

  add(line: string, task: WaitingTask, purgeAt: number): Promise<void> {
    return this.#entries.add(line, task, purgeAt);
  }

  first(line: string, limit: number, shards?: readonly number[]): Promise<WaitingEntry[]> {
    const read = () => this.#entries.first(line, limit, shards);
    return limit === 1 ? this.#firsts.read(`${line} ${shards}`, read) : read();
  }

  withEnvelopes(line: string, tasks: readonly WaitingEntry[]): Promise<WaitingTask[]> {
    return this.#entries.withEnvelopes(line, tasks);
  }

  find(line: string, task: WaitingKey): Promise<WaitingTask | undefined> {
    return this.#entries.find(line, task);
  }

  keep(line: string, wait: Wait, purgeAt: number): Promise<void> {
    return this.#entries.keep(line, wait, purgeAt);
  }

  remove(line: string, wait: Wait): Promise<void> {
    return this.#entries.remove(line, wait);
  }

  orders(line: string, limit: number, after?: string, shards?: readonly number[]): Promise<string[]> {
    return this.#entries.orders(line, limit, after, shards);
  }

  async reserve(line: string, task: Sharded, nowMs: number, untilMs: number): Promise<boolean> {
    const reserved = await this.#table.updated(keys.reservation(line, task), {
      UpdateExpression: "SET until_ms = :until, purge_at = :purge_at",
      ConditionExpression: "attribute_not_exists(until_ms) OR until_ms <= :now",
      ExpressionAttributeValues: { ":until": untilMs, ":now": nowMs, ":purge_at": Math.ceil(untilMs / 1000) },
    });
    return reserved !== undefined;
  }

  async release(line: string, task: Sharded): Promise<void> {
    await this.#table.delete(keys.reservation(line, task));
  }

  async state(line: string): Promise<WaitQueueState> {
    const key = keys.lineState(line);
    return stateOf(await this.#states.read(key.pk, () => this.#table.get(key)));
  }

  async states(lines: readonly string[]): Promise<WaitQueueState[]> {
    if (lines.length === 1) return [await this.state(String(lines[0]))];
    const items = await getMany(this.#table, lines.map(keys.lineState));
    const byKey = new Map(items.map((item) => [String(item.pk), item]));
    return lines.map((line) => stateOf(byKey.get(keys.lineState(line).pk)));
  }

  async acquirePermits(
    line: string,
    tasks: readonly string[],
    untilMs: number,
    limit: number,
    isTurn = false,
  ): Promise<boolean> {
    const names = tasks.map((task, index) => [`#p${index}`, permitAttribute(task)] as const);
    if (tasks.length > limit) return false;
    const taken = await this.#update(line, {
      isTurn,
      set: names.map(([name]) => `${name} = :until`),
      add: "places :count",
      when: [
        "(attribute_not_exists(places) OR places <= :room)",
        ...names.map(([name]) => `attribute_not_exists(${name})`),
      ],
      names: Object.fromEntries(names),
      values: { ":until": untilMs, ":count": tasks.length, ":room": limit - tasks.length },
    });
    return taken !== undefined;
  }

  async renewPermit(line: string, from: TaskPermit, untilMs: number): Promise<boolean> {
    const kept = await this.#update(line, {
      isTurn: from.turn,
      set: ["#place = :until"],
      when: ["#place = :from"],
      names: { "#place": permitAttribute(from.task) },
      values: { ":from": from.untilMs, ":until": untilMs },
    });
    return kept !== undefined;
  }

  async releasePermit(line: string, task: string, untilMs: number): Promise<WaitQueueState | undefined> {
    const dropped = await this.#update(line, {
      remove: "#place, turn_until",
      add: "places :less",
      when: ["#place = :until"],
      names: { "#place": permitAttribute(task) },
      values: { ":less": -1, ":until": untilMs },
    });
    return dropped && stateOf(dropped);
  }

  async passPermit(line: string, from: TaskPermit, to: TaskPermit, limit: number): Promise<WaitQueueState | undefined> {
    const passed = await this.#update(line, {
      isTurn: to.turn,
      set: ["#to = :to"],
      remove: "#from",
      when: ["#from = :from", "attribute_not_exists(#to)", "places <= :limit"],
      names: { "#from": permitAttribute(from.task), "#to": permitAttribute(to.task) },
      values: { ":from": from.untilMs, ":to": to.untilMs, ":limit": limit },
    });
    return passed && stateOf(passed);
  }

  async awaitPermit(line: string, { id, untilMs }: Successor, nowMs: number): Promise<boolean> {
    const noted = await this.#update(line, {
      set: ["successor = :id", "successor_until_ms = :until"],
      when: ["(attribute_not_exists(successor) OR successor_until_ms <= :now)"],
      values: { ":id": id, ":until": untilMs, ":now": nowMs },
    });
    return noted !== undefined;
  }

  async endWait(line: string, id: string): Promise<boolean> {
    const ended = await this.#update(line, {
      remove: "successor, successor_until_ms",
      when: ["successor = :id"],
      values: { ":id": id },
    });
    return ended !== undefined;
  }

  async givePermit(line: string, from: TaskPermit, { id, untilMs }: Successor): Promise<boolean> {
    const given = await this.#update(line, {
      set: ["#to = :to"],
      remove: "#from, successor, successor_until_ms",
      when: ["#from = :from", "successor = :id"],
      names: { "#from": permitAttribute(from.task), "#to": permitAttribute(id) },
      values: { ":from": from.untilMs, ":to": untilMs, ":id": id },
    });
    return given !== undefined;
  }

  async acquireToken(line: string, want: WantedToken): Promise<number | undefined> {
    const { nowMs, knownMs = 0 } = want;
    const free = knownMs < nowMs ? await this.#acquireFree(line, want) : undefined;
    return free ?? (await this.#acquireAhead(line, want));
  }

  /** The start that is now, where the rate has not been reached. */
  async #acquireFree(line: string, { nowMs, intervalMs, count = 1 }: WantedToken): Promise<number | undefined> {
    const taken = await this.#update(line, {
      set: ["next_slot_ms = :next"],
      when: ["(attribute_not_exists(next_slot_ms) OR next_slot_ms < :now)"],
      values: { ":next": nowMs + count * intervalMs, ":now": nowMs },
    });
    return taken && nowMs;
  }

  /**
   * The first start that nobody has, by one sum: of many tasks at the same time, each gets its own without a second
   * try.
   */
  async #acquireAhead(
    line: string,
    { nowMs, intervalMs, aheadMs, count = 1 }: WantedToken,
  ): Promise<number | undefined> {
    const taken = await this.#update(line, {
      set: ["next_slot_ms = next_slot_ms + :taken"],
      when: ["next_slot_ms BETWEEN :now AND :until"],
      values: { ":taken": count * intervalMs, ":now": nowMs, ":until": nowMs + aheadMs },
    });
    return taken && Number(taken.next_slot_ms) - count * intervalMs;
  }

  async acquireTokens(
    line: string,
    seenMs: number | undefined,
    nextMs: number,
    starts?: CountedTokens,
  ): Promise<boolean> {
    const taken = await this.#update(line, {
      set: ["next_slot_ms = :next", ...(starts === undefined ? [] : ["starts = :starts"])],
      when: [seenMs === undefined ? "attribute_not_exists(next_slot_ms)" : "next_slot_ms = :seen"],
      values: {
        ":next": nextMs,
        ...(seenMs === undefined ? {} : { ":seen": seenMs }),
        ...(starts && { ":starts": starts }),
      },
    });
    return taken !== undefined;
  }

  async planCheck(line: string, { id, atMs, sharded }: NextCheck, seen: PlannedCheck | undefined): Promise<boolean> {
    const isListed = isOfLimit(line);
    const listedMs = isListed && seen !== undefined ? await this.#keepListed(line, seen) : atMs;
    const planned = await this.#update(line, {
      set: [
        ...["check_id = :id", "check_at_ms = :at"],
        ...(isListed ? ["listed_ms = :listed"] : []),
        ...(sharded ? ["sharded = :sharded"] : []),
      ],
      when: [seen === undefined ? "attribute_not_exists(check_id)" : "check_id = :seen"],
      values: {
        ...{ ":id": id, ":at": atMs },
        ...(isListed && { ":listed": listedMs }),
        ...(sharded && { ":sharded": true }),
        ...(seen !== undefined && { ":seen": seen.id }),
      },
    });
    if (planned === undefined) return false;
    if (isListed && seen === undefined) await this.#list(line, listedMs);
    return true;
  }

  /**
   * Makes sure that a line with a planned check is in the list. Its first check lists it after the state has noted the
   * check, so the second one does it again: that process may have died in between. Later ones do so once a day.
   * @returns Epoch milliseconds that the entry has: the time of the check that was planned when it was written.
   */
  async #keepListed(line: string, { atMs, listedMs }: PlannedCheck): Promise<number> {
    const isSure = listedMs !== undefined && listedMs !== atMs;
    if (isSure && listedMs > this.#now() - listAgainMs) return listedMs;
    await this.#list(line, atMs);
    if (listedMs === undefined) await this.#table.delete(keys.earlierLineEntry(line));
    return atMs;
  }

  /** Writes a line's entry in the list. A late try of an earlier check changes no later entry. */
  async #list(line: string, listedMs: number): Promise<void> {
    await this.#table.updateIf(keys.lineEntry(line), {
      UpdateExpression: "SET listed_ms = :listed, purge_at = :purge_at",
      ConditionExpression: "attribute_not_exists(listed_ms) OR listed_ms <= :listed",
      ExpressionAttributeValues: { ":listed": listedMs, ":purge_at": this.#purgeAt() },
    });
  }

  async noteLimit(line: string, limit: NotedLimit): Promise<boolean> {
    const noted = await this.#update(line, {
      set: ["key_limit = :limit"],
      when: ["(attribute_not_exists(key_limit) OR key_limit.atMs <= :at)"],
      values: { ":limit": limit, ":at": limit.atMs },
    });
    return noted !== undefined;
  }

  async shard(line: string): Promise<WaitQueueState> {
    return stateOf(await this.#update(line, { set: ["sharded = :sharded"], values: { ":sharded": true } }));
  }

  async unshard(line: string): Promise<void> {
    await this.#update(line, {
      remove: "sharded",
      when: ["attribute_exists(sharded)", "attribute_not_exists(check_id)"],
      values: {},
    });
  }

  async endChecks(line: string, id: string): Promise<void> {
    const ended = await this.#update(line, {
      remove: "check_id, check_at_ms",
      when: ["(attribute_not_exists(check_id) OR check_id = :id)"],
      values: { ":id": id },
    });
    if (ended === undefined || !isOfLimit(line)) return;
    const { listed_ms: listedMs } = ended;
    if (listedMs === undefined) return this.#table.delete(keys.earlierLineEntry(line));
    // Another check may have listed the line since.
    await this.#table.deleteIf(keys.lineEntry(line), {
      ConditionExpression: "listed_ms <= :listed",
      ExpressionAttributeValues: { ":listed": listedMs },
    });
  }

  async list(prefix: string, limit: number): Promise<string[]> {
    const of = lineListPartitions(prefix).map((pk) =>
      this.#items(limit, {
        when: "begins_with(sk, :prefix)",
        values: { ":pk": pk, ":prefix": prefix },
        only: "sk",
      }),
    );
    const names = (await Promise.all(of)).flat().map(({ sk }) => String(sk));
    return [...new Set(names)].sort().slice(0, limit);
  }

  /** The first items of a partition, `:pk`. */
  #items(limit: number, { when, values, only, how = "consistently" }: Range): Promise<Item[]> {
    return this.#table.all({
      KeyConditionExpression: `pk = :pk AND ${when}`,
      ExpressionAttributeValues: values,
      Limit: limit,
      ConsistentRead: how === "consistently",
      ...(only === undefined ? {} : { ProjectionExpression: only }),
    });
  }

  #purgeAt(): number {
    return Math.ceil(this.#now() / 1000) + keepSeconds;
  }

  /** Returns the state's item after the update, or undefined when a condition did not hold. */
  #update(line: string, update: Update): Promise<Item | undefined> {
    const { isTurn, set = [], remove, add, when = [], names, values } = update;
    const purgeAt = this.#purgeAt() + (isTurn ? keepTurnSeconds - keepSeconds : 0);
    const keeps = isTurn
      ? ["purge_at = :purge_at", "turn_until = :purge_at"]
      : [remove?.includes("turn_until") ? "purge_at = :purge_at" : "purge_at = if_not_exists(turn_until, :purge_at)"];
    const clauses = [
      `SET ${[...set, ...keeps].join(", ")}`,
      ...(remove === undefined ? [] : [`REMOVE ${remove}`]),
      ...(add === undefined ? [] : [`ADD ${add}`]),
    ];
    return this.#table.updated(keys.lineState(line), {
      UpdateExpression: clauses.join(" "),
      ...(when.length === 0 ? {} : { ConditionExpression: when.join(" AND ") }),
      ...(names === undefined ? {} : { ExpressionAttributeNames: names }),
      ExpressionAttributeValues: { ...values, ":purge_at": purgeAt },
    });
  }
}

interface Range {
  /** The condition of the sort keys. */
  when: string;
  values: Item;
  /** The attribute that is read. Absent: all. */
  only?: string;
  how?: Consistency;
}

interface Update {
  /** True where a task gets, or keeps, the turn of a line. */
  isTurn?: boolean | undefined;
  set?: readonly string[];
  remove?: string;
  add?: string;
  when?: readonly string[];
  names?: Record<string, string>;
  values: Item;
}
