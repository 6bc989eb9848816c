import type { WaitQueue } from "../../model/wait-queue.ts";
import type { Breaker, Pause, PlannedCheck, WaitingEntry, WaitQueueState } from "../../ports/flow.ts";
import type { Puller } from "../../task/puller.ts";
import type { LimitedType } from "../../task/type-limits.ts";
import { acquireNear } from "./acquire.ts";
import { admitByPermits } from "./admit-by-permits.ts";
import { isOfType, takeTry, tasksNow } from "./keyed-breakers.ts";
import { type Pace, paceOf, permitsOf } from "./limit-lines.ts";
import { reserved, sendAll } from "./send-all.ts";
import { firstOfOne, shardsIn } from "./shards.ts";
import {
  aheadMs,
  type LookContext,
  maxAdmitted,
  maxIntervalMs,
  maxTries,
  nothing,
  type Rest,
  soonMs,
  stands,
  type WaitQueuePorts,
} from "./wait-queue-ports.ts";

/**
 * Admits the waiters of a line that may start: sends their messages, in order of submission. Repeatable at each step;
 * of two calls at the same time, one admits a task.
 * @throws PortUnavailable
 */
export async function admitWaiters(ports: WaitQueuePorts, line: WaitQueue, known: LookContext): Promise<Rest> {
  const type = line.type === undefined ? undefined : ports.registry.get(line.type);
  // A limit is not known where the type was removed, or no longer has it.
  switch (line.kind) {
    case "pause":
      return admitUnlessPaused(ports, line, known);
    case "breaker":
      return admitOneTry(ports, line, type, known);
    case "concurrency": {
      const limit = await permitsOf(ports, type, line);
      return limit === undefined ? admitAll(ports, line, known) : admitByPermits(ports, line, limit, known);
    }
    case "rate": {
      const pace = await paceOf(ports, type, line);
      return pace === undefined ? admitAll(ports, line, known) : admitByRate(ports, line, pace, known);
    }
  }
}

/**
 * An operator's act ends the pause. Until then its line is looked at now and then, so that nobody forgets it; of a type
 * that was paused by itself as often as an open breaker, for its alarm.
 */
async function admitUnlessPaused(ports: WaitQueuePorts, line: WaitQueue, known: LookContext): Promise<Rest> {
  const pause = (await ports.flowSettings.find(line.name)) as Pause | undefined;
  if (pause === undefined) return admitAll(ports, line, known);
  const isByItself = pause.reason !== undefined;
  const nextMs = ports.clock.now() + (isByItself ? maxIntervalMs : longestDelayMs);
  return { nextMs, empty: false, pausedMs: Date.parse(pause.since), open: isByItself };
}

/**
 * Admits the tasks that nothing stops any more. Only checks of the line do so: a worker that has just put a task into
 * it, as it did not know yet, sends this one alone.
 */
async function admitAll(ports: WaitQueuePorts, line: WaitQueue, { added, checkId }: LookContext): Promise<Rest> {
  const { clock, flow, lines } = ports;
  const now = clock.now();
  const soon: Rest = { nextMs: now + soonMs, empty: false };
  if (added !== undefined) {
    flow.forget();
    await sendAll(ports, line, [added]);
    return soon;
  }
  const state = await lines.state(line.name);
  // Tasks that joined together have planned a check each: one of them admits the tasks.
  if (checkId !== undefined && !(await isNoted(ports, line, state, checkId))) return soon;
  const shards = shardsIn(ports, line, state, {});
  const max = tasksNow(line, state, now);
  // The next check continues where the processor is slower: no check takes as long as its message is hidden.
  for (let sent = 0; sent < max && clock.now() < now + soonMs; ) {
    const count = Math.min(max - sent, maxAdmitted);
    const tasks = await lines.first(line.name, count, shards);
    await sendAll(ports, line, tasks);
    if (tasks.length < count) return nothing;
    sent += count;
  }
  return soon;
}

/**
 * True for the noted check of a line. Another one takes its part if that is lost or comes later: of several at the same
 * time, one does.
 */
async function isNoted(
  ports: WaitQueuePorts,
  line: WaitQueue,
  state: WaitQueueState,
  checkId: string,
): Promise<boolean> {
  const { check: planned, sharded } = state;
  if (planned?.id === checkId) return true;
  const now = ports.clock.now();
  if (stands(ports, planned) && planned.atMs <= now + soonMs) return false;
  return ports.lines.planCheck(line.name, { id: checkId, atMs: now, ...(sharded && { sharded }) }, planned);
}

/** The longest delay of a message, in milliseconds. */
export const longestDelayMs = 900_000;

/** After the cool-down one task tries. Its end closes the breaker, or opens it again. */
async function admitOneTry(
  ports: WaitQueuePorts,
  line: WaitQueue,
  type: LimitedType | undefined,
  known: LookContext,
): Promise<Rest> {
  const breaker = (await ports.flowSettings.find(line.name)) as Breaker | undefined;
  if (breaker?.openUntilMs === undefined || type?.breaker === undefined || !isOfType(line, type))
    return admitAll(ports, line, known);
  const now = ports.clock.now();
  if (now < breaker.openUntilMs) return { nextMs: breaker.openUntilMs, empty: false, open: true };
  const [task] = await ports.lines.first(line.name, 1);
  if (task === undefined) return nothing;
  const tryUntilMs = await takeTry(ports, line, { ...type, breaker: type.breaker }, breaker.openUntilMs);
  // Another call lets one try.
  if (tryUntilMs === undefined) return { nextMs: now + soonMs, empty: false, open: true };
  await sendAll(ports, line, [task], { tryUntilMs });
  return { nextMs: tryUntilMs, empty: false, open: true };
}

/** A worker waits for the start of the next task of a rate at most this long, in milliseconds. */
const nearMs = 1_500;

/**
 * Workers leave a rate of more than 20 a second to the planned check while their tier keeps pace, in milliseconds
 * between two starts: many would take the same start, and one call lets a hundred tasks go with three more.
 */
const fastMs = 50;

/** Workers choose among this many first tasks then, or among those of one shard. */
const [firstOfMany, manyOfShard] = [48, 24];

/** The planned check lets this many hundreds of tasks go at most: the starts of four seconds of a rate of 1,000. */
const maxRounds = 40;

/** The starts that a call gives away. */
interface Giving {
  /** True for the planned check. */
  isPlanned: boolean;
  /** The most starts. */
  max: number;
  /** Milliseconds from now to the last one. */
  untilMs: number;
  /** The time by which the caller's queue is behind, in milliseconds. */
  behindMs: number;
  /** Takes the task. Absent: it goes by message. */
  puller?: Puller | undefined;
}

/**
 * Assigns the next starts, and sends each message for its start. A worker assigns a start that is near, and takes its
 * task. The planned check assigns the starts of a few seconds. When it comes late, messages would, too, and their
 * starts would be lost: it and the further checks of a tier that is behind are workers.
 */
async function admitByRate(ports: WaitQueuePorts, line: WaitQueue, pace: Pace, known: LookContext): Promise<Rest> {
  let refused = 0;
  for (let rounds = 0; rounds < maxRounds && refused < maxTries; ) {
    const step = await admitSome(ports, line, pace, known);
    if (typeof step === "object") return step;
    if (step === "refused") refused += 1;
    else rounds += 1;
  }
  return { nextMs: ports.clock.now() + soonMs, empty: false };
}

/** @returns `refused`: another call has changed the line. `more`: there are further starts. */
async function admitSome(
  ports: WaitQueuePorts,
  line: WaitQueue,
  pace: Pace,
  known: LookContext,
): Promise<Rest | "refused" | "more"> {
  const { clock, lines, flow } = ports;
  const { intervalMs, list } = pace;
  const state = await lines.state(line.name);
  const now = clock.now();
  const { nextTokenMs, nextTokenMs: dueMs = now, check } = state;
  if (nextTokenMs !== undefined) flow.lines.noteNextToken(line.name, nextTokenMs);
  const latestMs = now + aheadMs + intervalMs;
  // A lower rate left it. The last start that was given away is at least an interval before this.
  if (dueMs > latestMs) {
    await lines.acquireTokens(line.name, nextTokenMs, latestMs);
    return "refused";
  }
  const giving = givingOf(ports, intervalMs, check, known);
  const slotMs = list?.freeFrom(state, Math.max(now, dueMs)) ?? Math.max(now, dueMs);
  const near = Math.floor((now + giving.untilMs - slotMs) / intervalMs) + 1;
  const count = Math.min(giving.max, near, list?.roomAt(state, slotMs) ?? near);
  const found = { intervalMs, nowMs: now, isPlanned: giving.isPlanned, isEarly: count < 1 };
  const lateMs = now - dueMs;
  const rest = (startMs: number): Rest => ({
    ...nextLook({ ...found, startMs, lateMs }, giving),
    ...{ empty: false, state },
  });
  const isOneOfMany = intervalMs < fastMs && count === 1 && giving.puller !== undefined;
  // Nobody waits for an answer about the tasks: the planned check looks at them.
  if (count < 1 && known.checkId === undefined && stands(ports, check)) return rest(slotMs);
  const tasks = await firstToStart(ports, line, { count, isOneOfMany, state, known });
  const [oldest] = tasks;
  if (oldest === undefined) return nothing;
  if (isOneOfMany) await acquireOne(ports, line, tasks, { pace, untilMs: giving.untilMs });
  if (isOneOfMany || count < 1) return { ...rest(slotMs), oldest };
  const endMs = slotMs + tasks.length * intervalMs;
  const starts = list?.after(state, { slotMs, count: tasks.length });
  if (!(await lines.acquireTokens(line.name, nextTokenMs, endMs, starts))) return "refused";
  const started = tasks.map((task, index) => ({ ...task, slotMs: Math.ceil(slotMs + index * intervalMs) }));
  await sendAll({ ...ports, puller: giving.puller }, line, started);
  if (tasks.length < count) return nothing;
  return count === maxAdmitted ? "more" : { ...rest(starts?.free_ms ?? endMs), oldest };
}

interface Wanted {
  /** Starts that the caller gives away. */
  count: number;
  isOneOfMany: boolean;
  state: WaitQueueState;
  known: LookContext;
}

/** The first tasks of a line. A caller that gives no start away and has added a task looks at this one's shard only. */
function firstToStart(
  ports: WaitQueuePorts,
  line: WaitQueue,
  { count, isOneOfMany, state, known }: Wanted,
): Promise<WaitingEntry[]> {
  const shards = shardsIn(ports, line, state, known);
  if (isOneOfMany && state.sharded) return firstOfOne(ports, line, { max: firstOfMany, maxOfOne: manyOfShard });
  const { shard } = known.added ?? {};
  if (count < 1 && shard !== undefined) return ports.lines.first(line.name, 1, [shard]);
  return ports.lines.first(line.name, isOneOfMany ? firstOfMany : Math.max(1, count), shards);
}

/** Takes one of the first tasks for this worker, while others do so: each has its own task and its own start. */
async function acquireOne(
  ports: WaitQueuePorts,
  line: WaitQueue,
  first: readonly WaitingEntry[],
  { pace, untilMs }: { pace: Pace; untilMs: number },
): Promise<void> {
  const slotMs = await acquireNear(ports, line, pace, untilMs);
  if (slotMs === undefined) return;
  const [own] = await reserved(ports, line, first, 1);
  if (own !== undefined) await sendAll(ports, line, [{ ...own, slotMs: Math.ceil(slotMs) }]);
}

function givingOf(
  { puller, clock }: WaitQueuePorts,
  intervalMs: number,
  planned: PlannedCheck | undefined,
  { checkId }: LookContext,
): Giving {
  const isPlanned = planned !== undefined && planned.id === checkId;
  if (isPlanned) puller?.limitBehind(clock.now() - planned.atMs);
  const isLate = isPlanned && clock.now() - planned.atMs > aheadMs;
  const sendsAhead = isPlanned ? !isLate : checkId === undefined && puller === undefined;
  if (sendsAhead) return { isPlanned, max: maxAdmitted, untilMs: aheadMs, behindMs: 0 };
  const behindMs = puller?.behindMs ?? 0;
  if (intervalMs < fastMs && behindMs <= aheadMs) return { isPlanned, max: 0, untilMs: 0, behindMs };
  // A start of a slow rate that is missed is dear, and nobody else may come for it.
  const untilMs = behindMs > aheadMs ? Math.min(aheadMs, Math.max(nearMs, intervalMs)) : nearMs;
  return { isPlanned, max: 1, untilMs, behindMs, puller };
}

/** The findings of a call, from which the times of the next looks follow. */
interface Found {
  /** Epoch milliseconds of the first start that nobody has. */
  startMs: number;
  intervalMs: number;
  nowMs: number;
  /** True for the planned check. */
  isPlanned: boolean;
  /** True when the first start was too far away. */
  isEarly: boolean;
  /** Milliseconds for which the first start had passed. */
  lateMs: number;
}

/** The next looks at a line. */
function nextLook(found: Found, { max, behindMs }: Giving): Pick<Rest, "nextMs" | "furtherMs"> {
  const { startMs, nowMs } = found;
  if (max > 1) return { nextMs: startMs > nowMs + aheadMs + soonMs ? startMs - aheadMs / 2 : nowMs + soonMs };
  if (behindMs <= aheadMs) return { nextMs: startMs - aheadMs / 2 };
  // Only a counted rate has no start for so long: one look is enough, which comes as late as the tier is behind.
  if (startMs > nowMs + aheadMs + found.intervalMs) return { nextMs: startMs - aheadMs / 2 - behindMs };
  return looksBehind(found, behindMs);
}

/** True for a rate whose next start is too far away for the worker that ends a task, and for most looks. */
const isSlow = ({ intervalMs }: Found): boolean => intervalMs > 3 * aheadMs;

/**
 * The looks in a tier that is behind: the planned check, and further messages, one for each start between its arrival
 * and that of the planned check after it, at most as many as a check lets go.
 */
function looksBehind(found: Found, behindMs: number) {
  const { startMs, nowMs } = found;
  const stepMs = Math.max(lookEachMs(found), behindMs / maxAdmitted);
  const soonestMs = nowMs + soonMs + behindMs;
  const comesMs = isSlow(found) ? inStepMs(found, stepMs, soonestMs) : Math.max(soonestMs, startMs - aheadMs / 2);
  const gridMs = isSlow(found) ? comesMs : startMs;
  // The planned check serves a start that is soon after its arrival.
  const fromMs = comesMs + Math.min(stepMs, aheadMs);
  const untilMs = comesMs + soonMs + behindMs;
  const firstMs = gridMs + Math.max(0, Math.ceil((fromMs - gridMs) / stepMs)) * stepMs;
  const count = Math.max(0, Math.ceil((untilMs - firstMs) / stepMs));
  const furtherMs = Array.from({ length: count }, (_, index) => firstMs + index * stepMs - behindMs);
  return { nextMs: comesMs - behindMs, furtherMs };
}

/**
 * The arrival of the next planned check of a slow rate: a whole number of steps after the start that this call found,
 * or after this check, which came too early for a start. The further looks follow it in steps: each finds a start, or
 * another call has taken a start since. Looks at the times of the starts would not: starts move when a look is late,
 * the next looks then come between those on their way and those that are sent now, and are late, too.
 */
function inStepMs({ startMs, nowMs, isPlanned, isEarly }: Found, stepMs: number, soonestMs: number): number {
  const fromMs = isPlanned && isEarly && startMs < soonestMs ? nowMs : startMs - soonMs / 2;
  return fromMs + Math.max(0, Math.ceil((soonestMs - fromMs) / stepMs)) * stepMs;
}

/**
 * The time between two looks. A planned check that comes late shows that the tier falls further behind, and that the
 * others come too seldom: a slow rate has two for each start then.
 */
const lookEachMs = (found: Found): number =>
  isSlow(found) && found.isPlanned && found.lateMs > found.intervalMs / 4 ? found.intervalMs / 2 : found.intervalMs;
