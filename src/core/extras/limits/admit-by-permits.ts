import { permitIn } from "../../model/envelope.ts";
import type { WaitQueue } from "../../model/wait-queue.ts";
import type { PlannedCheck, WaitingEntry, WaitQueueState } from "../../ports/flow.ts";
import { strictOf } from "../../task/type-limits.ts";
import { onTheWayUntilMs, permitStateOf } from "./place-book.ts";
import { leaveToOthers, ownMessages, sendAll } from "./send-all.ts";
import {
  type Bucket,
  bucketCount,
  bucketOf,
  bucketsOf,
  firstOfOne,
  firstOfShard,
  firstTasks,
  isSharded,
  type Sizes,
  shardsIn,
} from "./shards.ts";
import { turnsOf } from "./strict-order.ts";
import { hasPermit, sureWrite } from "./sure-write.ts";
import {
  type LookContext,
  latestMs,
  maxAdmitted,
  maxIntervalMs,
  maxTries,
  nothing,
  planSooner,
  type Rest,
  soonMs,
  type WaitQueuePorts,
} from "./wait-queue-ports.ts";

/** Tasks that get a permit together. */
const maxTogether = 10;

/**
 * The number of tasks that a call lets go together. A worker admits one, which it takes itself: the other free permits
 * are those of workers that end tasks at this moment, and a task that went there by message would pass the queue.
 */
const maxOf = ({ puller }: WaitQueuePorts): number => (puller === undefined ? maxTogether : puller.isFree ? 1 : 0);

/** The permits of a bucket, as a call knows them. */
interface Seen {
  bucket: Bucket;
  state: WaitQueueState;
  permits: Map<string, number>;
}

/**
 * Lets the first tasks of a line go, into the free permits: of the bucket that the caller has changed, or of all
 * buckets. A caller that has added a task looks at several buckets only for the first one: for those behind it, someone
 * else has done so.
 * @throws PortUnavailable
 */
export async function admitByPermits(
  ports: WaitQueuePorts,
  line: WaitQueue,
  limit: number,
  known: LookContext,
): Promise<Rest> {
  const { changed, added } = known;
  const sizes = { limit, size: ports.bucketSize };
  const buckets = changed === undefined ? bucketsOf(line, sizes) : [bucketOf(line, changed.index, sizes)];
  if (added !== undefined && buckets.length > 1 && !(await isFirst(ports, line, added)))
    return { nextMs: ports.clock.now() + maxIntervalMs, empty: false };
  const apart = await stateApart(ports, line, known);
  if (apart !== undefined && isIdle(apart)) return nothing;
  let seen = changed && (await withoutEnded(ports, line, buckets, [changed.state], known));
  for (let tries = 0; tries < maxTries; tries++) {
    seen ??= await withoutEnded(ports, line, buckets, await ports.lines.states(buckets.map(({ name }) => name)), known);
    const step = await admitSome(ports, line, sizes, seen, { ...known, apart });
    if (step.as === "rest") return step.rest;
    // A line of one bucket is read again, as others may have changed it. Of many, this call knows its own changes.
    if (step.as === "refused" || buckets.length === 1) seen = undefined;
  }
  return { nextMs: ports.clock.now() + soonMs, empty: false };
}

type Step = { as: "rest"; rest: Rest } | { as: "admitted" | "refused" };

/**
 * The line's own state, for a caller that has changed another bucket of a sharded line. Undefined: it is among the
 * states that the caller reads, or the line is not sharded.
 */
async function stateApart(
  ports: WaitQueuePorts,
  line: WaitQueue,
  { changed }: LookContext,
): Promise<WaitQueueState | undefined> {
  if (changed === undefined || changed.index === 0 || !(await isSharded(ports, line))) return undefined;
  return ports.lines.state(line.name);
}

/** True for a line in whose shards no task waits, and which has no check for a task in shard 0. */
export const isIdle = ({ sharded, check }: WaitQueueState): boolean => sharded === undefined && check === undefined;

/** Lets up to ten tasks go, into the bucket that has most room, and notes their permits. */
async function admitSome(
  ports: WaitQueuePorts,
  line: WaitQueue,
  sizes: Sizes,
  seen: readonly Seen[],
  known: LookContext & { apart: WaitQueueState | undefined },
): Promise<Step> {
  const { clock, lines } = ports;
  const { tier, added } = known;
  const state = ownState(seen) ?? known.apart;
  const full: Rest = { nextMs: nextLookMs(clock.now(), seen, known), empty: false, state };
  const { bucket, permits } = roomiest(seen);
  const room = roomIn(seen);
  const free = Math.min(room, maxOf(ports));
  const soon: Rest = { ...full, nextMs: clock.now() + soonMs };
  if (free === 0 && room > 0) return { as: "rest", rest: soon };
  if (free === 0 && added !== undefined) return { as: "rest", rest: full };
  const read = readerOf(ports, line, sizes, { ...known, state });
  const { next, empty } = await nextWithoutPermit(ports, read, seen, Math.max(firstTasks(sizes), free));
  if (empty) return { as: "rest", rest: nothing };
  // Their messages are read before they have permits: a call that fails leaves no permit that nobody uses.
  const going = await ownMessages(ports, line, next, { max: free, sizes });
  if (going.length === 0)
    return { as: "rest", rest: { ...(free > 0 && next.length > 0 ? soon : full), oldest: next[0] } };
  const ids = going.map(({ taskId }) => taskId);
  const untilMs = onTheWayUntilMs(clock.now());
  const isTurn = strictOf(ports.registry.get(String(line.type))) !== undefined;
  const taking = lines.acquirePermits(bucket.name, ids, untilMs, bucket.room, isTurn);
  if (!(await sureWrite(lines, bucket.name, taking, hasPermit(ids, untilMs)))) {
    await leaveToOthers(ports, line, going, sizes);
    return { as: "refused" };
  }
  await planSooner(ports, line, { tier, atMs: untilMs + soonMs }, checkToMove(known, seen));
  await sendAll(ports, line, going, permitIn(bucket.index));
  for (const id of ids) permits.set(id, untilMs);
  if (ports.puller !== undefined) return { as: "rest", rest: room > 1 ? { ...soon, hasRoom: true } : full };
  return { as: "admitted" };
}

type ReadFirst = (count: number) => Promise<WaitingEntry[]>;

/**
 * Reads the first tasks of a line: a worker that has ended a task of a sharded line reads those of one shard, as others
 * end theirs at the same time.
 */
function readerOf(
  ports: WaitQueuePorts,
  line: WaitQueue,
  sizes: Sizes,
  known: LookContext & { state: WaitQueueState | undefined },
): ReadFirst {
  const { changed, state } = known;
  const shards = shardsIn(ports, line, state, known);
  if (changed === undefined || state?.sharded === undefined || bucketCount(sizes) === 1)
    return (count) => ports.lines.first(line.name, count, shards);
  return (max) => firstOfOne(ports, line, { max, maxOfOne: firstOfShard });
}

async function isFirst(
  { lines }: WaitQueuePorts,
  line: WaitQueue,
  { taskId, shard = 0 }: WaitingEntry,
): Promise<boolean> {
  const [first] = await lines.first(line.name, 1, [shard]);
  return first === undefined || first.taskId === taskId;
}

/** The line's own state. Undefined: the call looks at another bucket alone. */
const ownState = ([first]: readonly Seen[]): WaitQueueState | undefined =>
  first?.bucket.index === 0 ? first.state : undefined;

/**
 * The check that must not be far away. A check and an added task have none: their message comes again if the worker
 * dies.
 */
const checkToMove = ({ changed }: LookContext, seen: readonly Seen[]): PlannedCheck | undefined =>
  changed === undefined ? undefined : ownState(seen)?.check;

const freeIn = ({ bucket, permits }: Seen): number => bucket.room - permits.size;

const roomiest = (seen: readonly Seen[]): Seen =>
  seen.reduce((best, one) => (freeIn(one) > freeIn(best) ? one : best), seen[0] as Seen);

/**
 * True while the line's own item has more permits than its share: an earlier release has put all permits there. Until
 * they have ended, the other buckets give none.
 */
const isClosed = ([first]: readonly Seen[]): boolean => first?.bucket.index === 0 && freeIn(first) < 0;

/** The free permits of the bucket that has most. */
const roomIn = (seen: readonly Seen[]): number => (isClosed(seen) ? 0 : Math.max(0, freeIn(roomiest(seen))));

/** A permit that was not renewed ends: its worker died, or its message did not arrive in time. */
async function withoutEnded(
  ports: WaitQueuePorts,
  line: WaitQueue,
  buckets: readonly Bucket[],
  states: readonly WaitQueueState[],
  { checkId }: LookContext,
): Promise<Seen[]> {
  const { clock, lines, registry } = ports;
  const hasTurns = strictOf(registry.get(String(line.type))) !== undefined;
  const seen: Seen[] = [];
  for (const [position, bucket] of buckets.entries()) {
    const state = states[position] ?? { permits: new Map() };
    const atMs = clock.now();
    const split = hasTurns
      ? await turnsOf(ports, line, state, checkId !== undefined)
      : {
          over: [...state.permits].filter(([, untilMs]) => untilMs <= atMs),
          stay: new Map([...state.permits].filter(([, untilMs]) => untilMs > atMs)),
        };
    for (const [task, untilMs] of split.over) await lines.releasePermit(bucket.name, task, untilMs);
    seen.push({ bucket, state, permits: split.stay });
  }
  return seen;
}

/**
 * The first tasks that have no permit. A task that has one can be in its line, too, when a sender died between the two.
 * Reads further tasks where all of these have one, or other calls of this process let them go.
 */
async function nextWithoutPermit(
  { flow, clock }: WaitQueuePorts,
  first: ReadFirst,
  seen: readonly Seen[],
  count: number,
): Promise<{ next: WaitingEntry[]; empty: boolean }> {
  const hasPermit = ({ taskId }: WaitingEntry) => seen.some(({ permits }) => permits.has(taskId));
  const without = (tasks: readonly WaitingEntry[]) => tasks.filter((task) => !hasPermit(task));
  const few = await first(count);
  const next = without(few);
  const now = clock.now();
  const isOneLeft = next.some((task) => !flow.going.has(task, now));
  if (isOneLeft || few.length < count) return { next, empty: few.length === 0 };
  const placed = seen.reduce((sum, { permits }) => sum + permits.size, 0);
  return { next: without(await first(count + Math.min(placed + next.length, maxAdmitted))), empty: false };
}

/**
 * The time of the next look at a line without a free permit. The worker of a permit lets the next task go, and the
 * message of a dead worker's task does so after its lease: so no other call has to look. A task that was admitted has
 * had its permit for less than a lease, and its sender may have died before the message was sent. In a line that was
 * not looked at yet, a permit may become free soon.
 */
function nextLookMs(nowMs: number, seen: readonly Seen[], { checkId }: LookContext): number {
  const ends = seen
    .flatMap(({ permits }) => [...permits.values()])
    .filter((untilMs) => permitStateOf(untilMs) !== "taken");
  const isLookedAt = checkId !== undefined || ownState(seen)?.check !== undefined;
  if (ends.length === 0 && isLookedAt) return nowMs + maxIntervalMs;
  return Math.max(nowMs + soonMs, Math.min(nowMs + latestMs, ...ends.map((untilMs) => untilMs + soonMs)));
}
