import type { Line } from "../model/line.ts";
import type { PlannedCheck } from "../ports/flow.ts";
import { aheadMs, type Known, type LinePorts, mostLetGo, mostTries, nothing, type Rest, soonMs } from "./line-ports.ts";
import { sendAll } from "./send-all.ts";
import type { Taker } from "./taker.ts";

/** A worker waits for the start of the next task of a rate at most this long, in milliseconds. */
const nearMs = 1_500;

/** The starts that a call gives away. */
interface Giving {
  /** The most starts. */
  most: number;
  /** Milliseconds from now to the last one. */
  untilMs: number;
  /** The time by which the caller's queue is behind, in milliseconds. */
  behindMs: number;
  /** Takes the task. Absent: it goes by message. */
  taker?: Taker | undefined;
}

/**
 * Assigns the next starts, and sends each message for its start. A worker assigns a start that is near, and takes its
 * task. The planned check assigns the starts of a few seconds. When it comes late, messages would, too, and their
 * starts would be lost: it and the further checks of a tier that is behind are workers.
 */
export async function letGoByRate(ports: LinePorts, line: Line, intervalMs: number, known: Known): Promise<Rest> {
  const { clock, lines } = ports;
  for (let tries = 0; tries < mostTries; tries++) {
    const state = await lines.state(line.name);
    const { nextSlotMs, check } = state;
    const now = clock.now();
    if (await setNearer(ports, line, nextSlotMs, now + aheadMs + intervalMs)) continue;
    const slotMs = Math.max(now, nextSlotMs ?? 0);
    const giving = givingOf(ports, intervalMs, check, known);
    const rest = (startMs: number): Rest => ({ ...nextLook(startMs, intervalMs, now, giving), empty: false, state });
    const count = Math.min(giving.most, Math.floor((now + giving.untilMs - slotMs) / intervalMs) + 1);
    const tasks = await lines.first(line.name, Math.max(1, count));
    const [oldest] = tasks;
    if (oldest === undefined) return nothing;
    if (count < 1) return { ...rest(slotMs), oldest };
    const endMs = slotMs + tasks.length * intervalMs;
    if (!(await lines.takeSlots(line.name, nextSlotMs, endMs))) continue;
    const started = tasks.map((task, index) => ({ ...task, slotMs: Math.ceil(slotMs + index * intervalMs) }));
    await sendAll({ ...ports, taker: giving.taker }, line, started);
    return tasks.length < count ? nothing : { ...rest(endMs), oldest };
  }
  return { nextMs: clock.now() + soonMs, empty: false };
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

function givingOf(
  { taker, clock }: LinePorts,
  intervalMs: number,
  planned: PlannedCheck | undefined,
  { checkId }: Known,
): Giving {
  const isPlanned = checkId !== undefined && planned?.id === checkId;
  if (isPlanned) taker?.isBehindBy(clock.now() - planned.atMs);
  const isLate = isPlanned && clock.now() - planned.atMs > aheadMs;
  const sendsAhead = isPlanned ? !isLate : checkId === undefined && taker === undefined;
  if (sendsAhead) return { most: mostLetGo, untilMs: aheadMs, behindMs: 0 };
  const behindMs = taker?.behindMs ?? 0;
  // A start of a slow rate that is missed is dear, and nobody else may come for it.
  const untilMs = behindMs > aheadMs ? Math.min(aheadMs, Math.max(nearMs, intervalMs)) : nearMs;
  return { most: 1, untilMs, behindMs, taker };
}

/** The next looks at a line whose first start that nobody has is at a time. */
function nextLook(startMs: number, intervalMs: number, nowMs: number, { most, behindMs }: Giving) {
  if (most > 1) return { nextMs: startMs > nowMs + aheadMs + soonMs ? startMs - aheadMs / 2 : nowMs + soonMs };
  const nextMs = startMs - aheadMs / 2;
  if (behindMs <= aheadMs) return { nextMs };
  return { nextMs: nextMs - behindMs, furtherMs: furtherLooks(startMs, intervalMs, nowMs, behindMs) };
}

/**
 * The times of further messages in a tier that is behind: one for each start between the arrivals of the next planned
 * check and of that after it, at most as many as a check lets go. Two for each start of a slow rate: starts move when
 * tasks come between them, and a message that is too early for one finds the next one far away.
 */
function furtherLooks(startMs: number, intervalMs: number, nowMs: number, behindMs: number): number[] {
  const eachMs = intervalMs > nearMs ? intervalMs / 2 : intervalMs;
  const stepMs = Math.max(eachMs, behindMs / mostLetGo);
  const arrivesMs = nowMs + behindMs;
  const firstMs = startMs + Math.max(0, Math.ceil((arrivesMs - startMs) / stepMs)) * stepMs;
  const count = Math.max(0, Math.ceil((arrivesMs + behindMs - firstMs) / stepMs));
  return Array.from({ length: count }, (_, index) => firstMs + index * stepMs - behindMs - soonMs);
}
