import type { Grant } from "../model/grant.ts";
import { inLanes } from "../model/in-lanes.ts";
import { leaseSeconds, longestLeaseSeconds } from "../model/lease.ts";
import type { Line } from "../model/line.ts";
import type { AuditLog } from "../ports/audit.ts";
import type { Breaker, FlowSettings, LineState, Lines, Pause, PlannedCheck, WaitingTask } from "../ports/flow.ts";
import type { Clock, Log, Metrics, NewId, Queues } from "../ports/tasks.ts";
import type { LimitedType } from "../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";
import { paceOf, placesOf } from "./limit-lines.ts";
import { tasksNow } from "./opened.ts";
import { onTheWayUntilMs } from "./place-end.ts";
import type { Taker } from "./taker.ts";
import { takeTry } from "./try-breaker.ts";
import type { Held } from "./watch-line.ts";

export interface LinePorts {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  queues: Queues;
  lines: Lines;
  flowSettings: FlowSettings;
  flow: FlowBook;
  /** Has what a type did by itself. */
  audit: Pick<AuditLog, "add">;
  /** The types of this process. */
  registry: ReadonlyMap<string, LimitedType>;
  newId: NewId;
  /** Takes the next task of a line for this worker. Absent: each goes by message. */
  taker?: Taker | undefined;
}

/** Tasks that one call lets go at most. */
const mostLetGo = 100;

/** Tasks that get a place together. */
const mostTogether = 10;

/** Messages that are sent at the same time. */
const lanes = 10;

/**
 * A spare message comes this long after the first lease of its task's attempt, in seconds: what precedes the claim
 * takes its time.
 */
const spareMarginSeconds = 15;

/** Tries while others change the line. */
export const mostTries = 10;

/**
 * Starts of a rate are given away this long ahead, in milliseconds: a changed rate applies to the tasks behind them.
 */
export const aheadMs = 4_000;

/** A worker waits for the start of the next task of a rate at most this long, in milliseconds. */
const nearMs = 1_500;

/** A line that could go on is looked at again after this time, in milliseconds. */
export const soonMs = 1_000;

/** A line that nobody goes on with is looked at after this time at the latest, in milliseconds. */
const latestMs = 60_000;

/** The rest of a line after a call. */
export interface Rest extends Held {
  /** Epoch milliseconds at which it must be looked at again. Absent: nothing waits. */
  nextMs?: number;
  /** True when no task waits. */
  empty: boolean;
  /** The line's state as it was read. Absent: it was not. */
  state?: LineState;
}

const nothing: Rest = { empty: true };

/** The knowledge of a caller about a line. */
export interface Known {
  /** Its state, if the caller has just read it. */
  state?: LineState | undefined;
  /** The task that the caller has just added. Absent: it has added none. */
  added?: WaitingTask;
  /** The id of the check that the caller is. Absent: it is none. */
  checkId?: string | undefined;
}

/**
 * Lets the tasks of a line go that may: sends their messages, in order of submission. Repeatable at each step; of two
 * calls at the same time, one lets a task go.
 * @throws PortUnavailable
 */
export async function letGo(ports: LinePorts, line: Line, known: Known = {}): Promise<Rest> {
  const type = line.type === undefined ? undefined : ports.registry.get(line.type);
  if (line.kind === "pause") return letGoUnlessPaused(ports, line, known);
  if (line.kind === "breaker") return letOneTry(ports, line, type, known);
  if (line.kind === "concurrency") {
    const limit = await placesOf(ports.flow, type);
    // The type was removed, or no longer has the limit.
    return limit === undefined ? letAllGo(ports, line, known) : letGoByPlaces(ports, line, limit, known);
  }
  const pace = await paceOf(ports.flow, type);
  return pace === undefined ? letAllGo(ports, line, known) : letGoByRate(ports, line, pace.intervalMs, known);
}

/**
 * An operator's act ends the pause. Until then its line is looked at now and then, so that nobody forgets it; of a type
 * that was paused by itself each minute, for the alarm on breakers.
 */
async function letGoUnlessPaused(ports: LinePorts, line: Line, known: Known): Promise<Rest> {
  const pause = (await ports.flowSettings.find(line.name)) as Pause | undefined;
  if (pause === undefined) return letAllGo(ports, line, known);
  const isByItself = pause.reason !== undefined;
  const nextMs = ports.clock.now() + (isByItself ? latestMs : longestDelayMs);
  return { nextMs, empty: false, pausedMs: Date.parse(pause.since), open: isByItself };
}

/**
 * Lets the tasks go that nothing stops any more. Only checks of the line do so: a worker that has just put a task into
 * it, as it did not know yet, sends this one alone.
 */
async function letAllGo(ports: LinePorts, line: Line, { added }: Known): Promise<Rest> {
  const now = ports.clock.now();
  if (added !== undefined) ports.flow.forget();
  const most = added === undefined ? await tasksNow(ports.lines, line, now) : 1;
  const tasks = added === undefined ? await ports.lines.first(line.name, most) : [added];
  await sendAll(ports, line, tasks);
  return tasks.length < most ? nothing : { nextMs: now + soonMs, empty: false };
}

/** The longest delay of a message, in milliseconds. */
export const longestDelayMs = 900_000;

/** After the cool-down one task tries. Its end closes the breaker, or opens it again. */
async function letOneTry(ports: LinePorts, line: Line, type: LimitedType | undefined, known: Known): Promise<Rest> {
  const breaker = (await ports.flowSettings.find(line.name)) as Breaker | undefined;
  if (breaker?.openUntilMs === undefined || type?.breaker === undefined) return letAllGo(ports, line, known);
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

async function letGoByPlaces(ports: LinePorts, line: Line, limit: number, known: Known): Promise<Rest> {
  let fresh = known.state;
  for (let tries = 0; tries < mostTries; tries++) {
    const state: LineState = fresh ?? (await ports.lines.state(line.name));
    fresh = undefined;
    const places = await withoutEnded(ports, line, state);
    const free = Math.min(limit - places.size, mostTogether);
    const full: Rest = { nextMs: nextEndMs(ports.clock.now(), places), empty: false, state };
    if (free <= 0 && known.added !== undefined) return full;
    const { next, empty } = await nextWithoutPlace(ports, line, places, Math.max(1, free));
    if (empty) return nothing;
    const going = next.slice(0, Math.max(0, free));
    if (going.length === 0) return { ...full, oldest: next[0] };
    const ids = going.map(({ envelope }) => envelope.task_id);
    const untilMs = onTheWayUntilMs(ports.clock.now());
    if (!(await ports.lines.takePlaces(line.name, ids, untilMs, limit))) continue;
    await sendAll(ports, line, going, { held: true });
  }
  return { nextMs: ports.clock.now() + soonMs, empty: false };
}

/** A place that was not renewed ends: its worker died, or its message did not arrive in time. */
async function withoutEnded(ports: LinePorts, line: Line, { places }: LineState): Promise<ReadonlyMap<string, number>> {
  const now = ports.clock.now();
  const ended = [...places].filter(([, untilMs]) => untilMs <= now);
  for (const [task, untilMs] of ended) await ports.lines.dropPlace(line.name, task, untilMs);
  return ended.length === 0 ? places : new Map([...places].filter(([, untilMs]) => untilMs > now));
}

/** A task that has a place can be in its line, too, when a sender died between the two. */
async function nextWithoutPlace(
  ports: LinePorts,
  line: Line,
  places: ReadonlyMap<string, number>,
  count: number,
): Promise<{ next: WaitingTask[]; empty: boolean }> {
  const without = (tasks: readonly WaitingTask[]) => tasks.filter(({ envelope }) => !places.has(envelope.task_id));
  const few = await ports.lines.first(line.name, count);
  const next = without(few);
  if (next.length > 0 || few.length < count) return { next, empty: few.length === 0 };
  return { next: without(await ports.lines.first(line.name, count + places.size)), empty: false };
}

const nextEndMs = (nowMs: number, places: ReadonlyMap<string, number>): number =>
  Math.max(nowMs + soonMs, Math.min(nowMs + latestMs, ...[...places.values()].map((untilMs) => untilMs + soonMs)));

/**
 * Sets a next start nearer that a lower rate left. The last start that was given away is at least an interval before
 * `latestMs`.
 */
async function setNearer(ports: LinePorts, line: Line, nextMs: number | undefined, latestMs: number): Promise<boolean> {
  if (nextMs === undefined || nextMs <= latestMs) return false;
  await ports.lines.takeSlots(line.name, nextMs, latestMs);
  return true;
}

/** True for a check that comes long after its time: its tier is behind. */
const isLate = (planned: PlannedCheck | undefined, checkId: string | undefined, nowMs: number): boolean =>
  planned !== undefined && planned.id === checkId && nowMs - planned.atMs > aheadMs;

/** The number of starts that a call gives away, from a first one on. */
function countOfStarts({ taker, clock }: LinePorts, slotMs: number, intervalMs: number, late: boolean): number {
  const untilMs = clock.now() + (taker === undefined ? aheadMs : nearMs);
  const most = taker === undefined && !late ? mostLetGo : 1;
  return Math.min(most, Math.floor((untilMs - slotMs) / intervalMs) + 1);
}

/**
 * Assigns the next starts, and sends each message for its start. A worker assigns a start that is near, and takes its
 * task. A check assigns the starts of a few seconds, unless it is late itself: the messages would be, too, and their
 * starts lost.
 */
async function letGoByRate(ports: LinePorts, line: Line, intervalMs: number, { checkId }: Known): Promise<Rest> {
  for (let tries = 0; tries < mostTries; tries++) {
    const state = await ports.lines.state(line.name);
    const { nextSlotMs } = state;
    const now = ports.clock.now();
    if (await setNearer(ports, line, nextSlotMs, now + aheadMs + intervalMs)) continue;
    const slotMs = Math.max(now, nextSlotMs ?? 0);
    const count = countOfStarts(ports, slotMs, intervalMs, isLate(state.check, checkId, now));
    if (count < 1) {
      const [oldest] = await ports.lines.first(line.name, 1);
      return oldest === undefined ? nothing : { nextMs: slotMs - aheadMs / 2, empty: false, state, oldest };
    }
    const tasks = await ports.lines.first(line.name, count);
    if (tasks.length === 0) return nothing;
    if (!(await ports.lines.takeSlots(line.name, nextSlotMs, slotMs + tasks.length * intervalMs))) continue;
    const started = tasks.map((task, index) => ({ ...task, slotMs: Math.ceil(slotMs + index * intervalMs) }));
    await sendAll(ports, line, started);
    return tasks.length < count ? nothing : { nextMs: now + soonMs, empty: false, state, oldest: tasks[0] };
  }
  return { nextMs: ports.clock.now() + soonMs, empty: false };
}

/**
 * Sends the messages of tasks, each with what earlier lines granted it and with `more`, and removes the tasks from
 * their line. A message for a later start arrives up to a second before it. A task that is sent and not removed is sent
 * again, which makes a twin.
 */
export async function sendAll(
  { queues, lines, clock, taker, registry }: LinePorts,
  line: Line,
  tasks: readonly WaitingTask[],
  more: Grant = {},
): Promise<void> {
  await inLanes(tasks, lanes, async (task) => {
    const { id, tier, runsOn, envelope, createdAt } = task;
    const granted: Grant = { ...earlierGrant(task), ...more };
    // While no message is sent, the task is still in its line. What a pause or a breaker lets go may still be stopped
    // by what this process knows.
    const spare = (line.kind === "concurrency" || line.kind === "rate") && taker?.take(task, granted) === true;
    const grant: Grant = spare ? { ...granted, spare } : granted;
    const leftMs = grant.slotMs === undefined ? 0 : grant.slotMs - clock.now();
    const delaySeconds = spare ? spareSeconds(registry.get(envelope.type)) : Math.max(0, Math.floor(leftMs / 1000));
    await queues.send({ tier, runsOn, envelope, delaySeconds, solo: false, redrives: 0, grant });
    await lines.remove(line.name, { id, createdAt, taskId: envelope.task_id });
  });
}

/** The grants that a task had when it was put into its line. */
const earlierGrant = ({ slotMs, tryUntilMs }: WaitingTask): Grant => ({
  ...(slotMs !== undefined && { slotMs }),
  ...(tryUntilMs !== undefined && { tryUntilMs }),
});

/**
 * The delay of a spare message, in seconds: the first lease of an attempt that starts now is over then, unless it was
 * renewed.
 */
const spareSeconds = (type: LimitedType | undefined): number =>
  leaseSeconds(type?.timeoutSeconds ?? longestLeaseSeconds) + spareMarginSeconds;
