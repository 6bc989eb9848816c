import { createHash } from "../../../util/node-crypto.ts";
import { leaseSeconds } from "../../model/change.ts";
import type { CountedTokens, WaitingKey, WaitQueues } from "../../ports/flow.ts";
import type { Clock } from "../../ports/tasks.ts";

/**
 * The state of a place: an attempt has taken it; a task that had it before has kept it, which another message of the
 * task may need; or its task was admitted and is on the way to a worker.
 */
export type PermitState = "taken" | "kept" | "onTheWay";

/** A permit outlasts the lease of its attempt by this many seconds: the claim follows, and its answer may be late. */
const permitMarginSeconds = 15;

/**
 * A task that was admitted has its permit for this time, in seconds, until its worker renews it. Then the permit is
 * free again.
 */
const waySeconds = 60;

/*
 * The time at which a permit ends tells its state, so that a condition on this one number compares both: a worker that
 * gives back what it took does not give back what another message of the task has kept since, also within a
 * millisecond. A field for the state would make each permit a third larger, and an item of one write unit would have
 * fewer of them (`permitsPerUnit`). This file alone writes and reads the code.
 */

/** Epoch milliseconds, an even number: the end of a place that an attempt takes now. */
export const takenUntilMs = (nowMs: number, { timeoutSeconds }: { timeoutSeconds: number }): number =>
  2 * Math.floor(nowMs / 2) + (leaseSeconds(timeoutSeconds) + permitMarginSeconds) * 1000;

/** Epoch milliseconds, an odd number: the end of a place that its task keeps now. */
export const keptUntilMs = (nowMs: number, type: { timeoutSeconds: number }): number => takenUntilMs(nowMs, type) + 1;

/**
 * Epoch milliseconds, an odd number: the end of a place that its task keeps now. Not before the end that an attempt or
 * another message, perhaps by another clock, has given it.
 */
export function keptAfterMs(seenMs: number, nowMs: number, type: { timeoutSeconds: number }): number {
  const own = keptUntilMs(nowMs, type);
  return permitStateOf(seenMs) === "onTheWay" ? own : Math.max(own, seenMs + 1 + (seenMs % 2));
}

/** Epoch milliseconds and a half: the end of the permit of a task that is admitted now. */
export const onTheWayUntilMs = (nowMs: number): number => Math.floor(nowMs) + waySeconds * 1000 + 0.5;

/** The state that the end of a place tells. */
export function permitStateOf(untilMs: number): PermitState {
  if (!Number.isInteger(untilMs)) return "onTheWay";
  return untilMs % 2 === 0 ? "taken" : "kept";
}

/** The last place that is counted. */
const lastPlace = 100;

/** The first task of a line is looked at again after this time, in milliseconds. */
const freshMs = 5_000;

/** A line is counted anew after this time, in milliseconds: a retried task may have come between others. */
const oldMs = 60_000;

/** Lines that a process knows at most. */
const maxLines = 200;

/** Readings may miss the changes of the last second. */
interface PlaceReads extends Pick<WaitQueues, "orders"> {
  /** True when tasks of a limit's line may wait in its shards above 0. */
  isSharded(line: string): Promise<boolean>;
  /** The task that has the turn of a line in strict order. Undefined: none has. */
  holderOf(line: string): Promise<string | undefined>;
  /** The starts that a list of rates counts. Undefined: none was given. */
  startsOf(line: string): Promise<CountedTokens | undefined>;
}

interface Front {
  shards: readonly number[];
  /** The orders of the first tasks, the first one first. */
  orders: string[];
  seenMs: number;
  countedMs: number;
}

/** The shards of a limit's line: 0, and those of a line whose limit is large. */
export const allShards: readonly number[] = Array.from({ length: 16 }, (_, shard) => shard);

/** The shard of a task in a line whose limit is large: 1 to 15. */
export const shardOf = (taskId: string): number => 1 + (numberOf(`shard ${taskId}`) % (allShards.length - 1));

/** Any shard: that of a task which joined before its line was sharded, too. */
export const anyShard = (salt: string): number => numberOf(`any ${salt}`) % allShards.length;

/** A number of 32 bits that a text gives at random. */
export const numberOf = (text: string): number => createHash("md5").update(text).digest().readUInt32BE();

/** The order of a task in its line: texts compare as the tasks follow each other. */
export const orderOf = ({ createdAt, taskId }: WaitingKey): string => `${createdAt}#${taskId}`;

/**
 * The places of tasks in lines, as one process knows them. A count reads whole entries, so a process makes one a
 * minute for a line at most, however many tasks of it are polled. In between it looks at the line's first task every
 * five seconds, and at the tasks that were added behind those it knows.
 */
export class PlaceBook {
  readonly #clock: Clock;
  readonly #lines: PlaceReads;
  readonly #fronts = new Map<string, Front>();

  constructor(clock: Clock, lines: PlaceReads) {
    this.#clock = clock;
    this.#lines = lines;
  }

  /**
   * The place of a task, from 1. Null: beyond the last place that is counted.
   * @throws PortUnavailable
   */
  async placeOf(line: string, task: WaitingKey): Promise<number | null> {
    const own = orderOf(task);
    const front = await this.#frontOf(line);
    const last = front.orders.at(-1);
    // The task may have been added behind those that are known.
    if (front.orders.length <= lastPlace && (last === undefined || last < own)) {
      const left = lastPlace + 1 - front.orders.length;
      front.orders.push(...(await this.#lines.orders(line, left, last, front.shards)));
    }
    const before = front.orders.filter((order) => order < own).length;
    return before < lastPlace ? before + 1 : null;
  }

  /**
   * The task that has the turn of a line in strict order. Undefined: none has.
   * @throws PortUnavailable
   */
  holderOf(line: string): Promise<string | undefined> {
    return this.#lines.holderOf(line);
  }

  /**
   * The starts that a list of rates counts. Undefined: none was given.
   * @throws PortUnavailable
   */
  startsOf(line: string): Promise<CountedTokens | undefined> {
    return this.#lines.startsOf(line);
  }

  async #frontOf(line: string): Promise<Front> {
    const now = this.#clock.now();
    const known = this.#fronts.get(line);
    if (known === undefined || now - known.countedMs >= oldMs) return this.#count(line, now);
    if (now - known.seenMs < freshMs) return known;
    const [first] = await this.#lines.orders(line, 1, undefined, known.shards);
    if (first === undefined || first > (known.orders.at(-1) ?? "")) return this.#count(line, now);
    const rest = known.orders.filter((order) => order > first);
    known.orders = [first, ...rest].slice(0, lastPlace + 1);
    known.seenMs = now;
    return known;
  }

  async #count(line: string, nowMs: number): Promise<Front> {
    const shards = (await this.#lines.isSharded(line)) ? allShards : [0];
    const orders = await this.#lines.orders(line, lastPlace + 1, undefined, shards);
    const front = { shards, orders, seenMs: nowMs, countedMs: nowMs };
    this.#fronts.delete(line);
    this.#fronts.set(line, front);
    const [oldest] = this.#fronts.keys();
    if (this.#fronts.size > maxLines && oldest !== undefined) this.#fronts.delete(oldest);
    return front;
  }
}
