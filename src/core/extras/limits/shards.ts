import { isThrottled } from "../../model/errors.ts";
import { isOfLimit, type WaitQueue } from "../../model/wait-queue.ts";
import type { WaitingEntry, WaitingTask, WaitQueueState, WaitQueues } from "../../ports/flow.ts";
import type { Clock } from "../../ports/tasks.ts";
import { type LimitedType, permitsPerUnit, strictOf } from "../../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";
import { paceOf, permitsOf } from "./limit-lines.ts";
import { allShards, anyShard, numberOf, shardOf } from "./place-book.ts";
import type { LookContext, WaitQueuePorts } from "./wait-queue-ports.ts";

/**
 * A part of a line's permits, which is one item: an item of all permits would make each start and end as dear as there
 * are permits. Each bucket has its own share of the limit, so that no call looks at more than one for a permit.
 */
export interface Bucket {
  /** From 0. The permits of bucket 0 are in the line's own state. */
  index: number;
  /** The name under which `WaitQueues` knows its permits. */
  name: string;
  /** The most permits that it may have. */
  room: number;
}

/** The sizes of a line's buckets. */
export interface Sizes {
  /** The permits of the line. */
  limit: number;
  /** The permits of a bucket. Absent: as many as one write unit pays for. */
  size?: number | undefined;
}

/** A task asks this many buckets for a permit at most: where most are free, a second question is rare. */
const maxAsked = 3;

/**
 * Workers that end tasks at the same time choose among this many first tasks: a line of 1,000 permits starts some 250 a
 * second (`npm run test:lines`).
 */
const maxFirst = 16;

/** The name of a bucket's permits. No line's name begins with `places/`. */
export const bucketName = ({ name }: WaitQueue, index: number): string =>
  index === 0 ? name : `places/${index}/${name}`;

export const bucketCount = ({ limit, size = permitsPerUnit }: Sizes): number => Math.max(1, Math.ceil(limit / size));

export const bucketOf = (line: WaitQueue, index: number, { limit, size = permitsPerUnit }: Sizes): Bucket => ({
  index,
  name: bucketName(line, index),
  room: Math.min(size, Math.max(0, limit - index * size)),
});

export const bucketsOf = (line: WaitQueue, sizes: Sizes): Bucket[] =>
  Array.from({ length: bucketCount(sizes) }, (_, index) => bucketOf(line, index, sizes));

/**
 * The buckets that a task asks for a permit, in this order: spread evenly over tasks, and the same for each message.
 */
export function bucketsFor(line: WaitQueue, taskId: string, sizes: Sizes): Bucket[] {
  const count = bucketCount(sizes);
  const first = numberOf(taskId) % count;
  const asked = Array.from({ length: Math.min(count, maxAsked) }, (_, step) => (first + step) % count);
  return asked.map((index) => bucketOf(line, index, sizes));
}

/**
 * The first task of a line with one bucket goes. The tasks behind it are for others of this process that end at the
 * same time: as many as one read unit pays for.
 */
const firstOfOneBucket = 3;

/** The number of first tasks that a call reads which admits one. */
export const firstTasks = (sizes: Sizes): number => (bucketCount(sizes) === 1 ? firstOfOneBucket : maxFirst);

/*
 * A partition of the table takes a thousand write units a second, and a task that waits costs it two. The tasks of a
 * line whose limit is large, or whose shard 0 has refused one, therefore wait in shards, 1 to 15, each a partition of
 * its own; those of other lines in shard 0, which is also that of the line's state. The state of a line has a mark
 * while tasks may wait in the shards above 0: without it nobody looks there.
 *
 * A task is added before its caller makes sure of the mark, and the caller looks at the line after it. Who removes the
 * mark has found all shards empty while no check was planned, and looks once more after it. Who plans a check of a line
 * with a mark notes the mark again with it. So in any order of two callers, one of them finds the task.
 */

/** Places, or starts a second, of a line whose tasks wait in shard 0. */
export const maxInOne = 128;

/** A task that joins a line without a mark waits for less than this before its caller notes one, in milliseconds. */
const longestJoinMs = 500;

/** A join is tried this often. */
const maxJoins = 4;

/** The shortest wait after a shard has refused a join, and the longest addition to it for each try, in milliseconds. */
const [minJoinWaitMs, spreadJoinMs] = [500, 1_500];

interface ShardPorts {
  flow: FlowBook;
  lines: Pick<WaitQueues, "state">;
  registry: ReadonlyMap<string, LimitedType>;
  maxInOne?: number | undefined;
}

/** True for a line whose tasks wait in the shards above 0, by its limit or as this process knows. */
export async function isSharded(ports: ShardPorts, line: WaitQueue) {
  const { flow, registry, maxInOne: max = maxInOne } = ports;
  const type = registry.get(line.type ?? "");
  if (strictOf(type) !== undefined && line.kind === "concurrency") return false;
  if (flow.lines.isSharded(line.name)) return true;
  if (line.kind === "concurrency") return ((await permitsOf(ports, type, line)) ?? 0) > max;
  if (line.kind !== "rate") return false;
  const pace = await paceOf(ports, type, line);
  return pace !== undefined && pace.intervalMs * max < 1000;
}

/** The shard in which a task waits, or would. Absent: 0. */
export async function shardFor(ports: ShardPorts, line: WaitQueue, taskId: string): Promise<{ shard?: number }> {
  return (await isSharded(ports, line)) ? { shard: shardOf(taskId) } : {};
}

/**
 * Adds a task to a line. A task that the line's partition refuses, as more join than it takes, waits in a shard, and so
 * do the next tasks that this process adds. If its shard refuses it, it is added a moment later: its message would pass
 * the queue again.
 * @returns The task as it waits.
 * @throws PortUnavailable
 */
export async function join(
  { lines, flow, clock, registry }: Pick<WaitQueuePorts, "lines" | "flow" | "clock" | "registry">,
  { name, kind, type }: WaitQueue,
  task: WaitingTask,
  purgeAt: number,
): Promise<WaitingTask> {
  let joining = task;
  // Tasks of different shards have no order.
  const isStrict = kind === "concurrency" && strictOf(registry.get(type ?? "")) !== undefined;
  for (let tries = 1; ; tries++) {
    try {
      await lines.add(name, joining, purgeAt);
      return joining;
    } catch (error) {
      if (tries === maxJoins || !isOfLimit(name) || !isThrottled(error)) throw error;
    }
    if (joining.shard === undefined && !isStrict) flow.lines.noteSharded(name, true);
    else await after(clock, minJoinWaitMs + (numberOf(`join ${tries} ${task.taskId}`) % (tries * spreadJoinMs)));
    if (!isStrict) joining = { ...task, shard: shardOf(task.taskId) };
  }
}

const after = (clock: Clock, ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));

/**
 * The shards in which tasks of a line wait. Notes what the line's own state tells. The mark may have been removed since
 * the caller that has added a task made sure of it.
 */
export function shardsIn(
  { flow }: Pick<WaitQueuePorts, "flow">,
  { name }: WaitQueue,
  state: WaitQueueState | undefined,
  { added }: Pick<LookContext, "added">,
): readonly number[] {
  if (state !== undefined) flow.lines.noteSharded(name, state.sharded === true);
  return state?.sharded || added?.shard !== undefined ? allShards : [0];
}

/**
 * Makes sure that a task that was added to a shard above 0 is found. Where many join a line in the same moment, nobody
 * has noted the mark: each waits for up to half a second, so that a few of them write it. Returns the line's state.
 */
export async function markSharded(
  ports: WaitQueuePorts,
  { name }: WaitQueue,
  { taskId }: WaitingEntry,
): Promise<WaitQueueState> {
  const { lines, clock } = ports;
  const early = await lines.state(name);
  if (early.sharded) return early;
  await after(clock, numberOf(`mark ${taskId}`) % longestJoinMs);
  const state = await lines.state(name);
  return state.sharded ? state : lines.shard(name);
}

/** Removes the mark of a line without tasks, which had one and has no check any more. */
export async function unmark(
  { lines, flow }: Pick<WaitQueuePorts, "lines" | "flow">,
  { name }: WaitQueue,
): Promise<void> {
  const isEmpty = async (): Promise<boolean> => (await lines.first(name, 1, allShards)).length === 0;
  if (!(await isEmpty())) return;
  await lines.unshard(name);
  flow.lines.noteSharded(name, false);
  if (!(await isEmpty())) await lines.shard(name);
}

/** Workers that end tasks choose among this many first tasks of a shard. */
export const firstOfShard = 8;

/** The first tasks of a line's shard, at random. Shard 0 has the tasks that joined before the line was sharded. */
export async function firstOfAny(
  { lines, newId }: Pick<WaitQueuePorts, "lines" | "newId">,
  { name }: WaitQueue,
  max: number,
): Promise<WaitingEntry[]> {
  const shard = anyShard(newId());
  const some = await lines.first(name, max, [shard]);
  return some.length > 0 || shard > 0 ? some : lines.first(name, max, [shardOf(newId())]);
}

/** The first tasks of one of a line's shards, at random; of all when that has none. */
export async function firstOfOne(
  ports: Pick<WaitQueuePorts, "lines" | "newId">,
  line: WaitQueue,
  { max, maxOfOne }: { max: number; maxOfOne: number },
): Promise<WaitingEntry[]> {
  const some = await firstOfAny(ports, line, maxOfOne);
  return some.length > 0 ? some : ports.lines.first(line.name, max, allShards);
}
