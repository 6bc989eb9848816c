import type { Line } from "../model/line.ts";
import type { Breaker, Pause, PlannedCheck } from "../ports/flow.ts";
import type { LimitedType } from "../task/type-limits.ts";
import { letGoByPlaces } from "./let-go-places.ts";
import { paceOf, placesOf } from "./limit-lines.ts";
import {
  aheadMs,
  type Known,
  type LinePorts,
  latestMs,
  mostLetGo,
  mostTries,
  nothing,
  type Rest,
  soonMs,
} from "./line-ports.ts";
import { tasksNow } from "./opened.ts";
import { sendAll } from "./send-all.ts";
import { takeTry } from "./try-breaker.ts";

/** A worker waits for the start of the next task of a rate at most this long, in milliseconds. */
const nearMs = 1_500;

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
