import { nowMs, setImmediate, setTimeout } from "../machine/timers.ts";
import type { FakeClock } from "../memory/clock.ts";

/** Turns of the event loop that a handler gets before each advance of the kit's time. */
const turnsBetweenAdvances = 20;

/** After this number of turns, the kit waits a millisecond between two turns, to keep the processor free. */
const turnsWithoutWait = 500;

/** Progress of a piece of work. */
interface Work {
  isOver(): boolean;
  /** True: time passes without patience. */
  isHurried(): boolean;
}

/**
 * Passes time until work is over. First it waits in real time, as a handler can do real work, and the kit's time stays
 * the same. After `patienceMs` it advances the kit's time, so that an attempt that hangs ends by its time-out.
 */
export async function passTime(clock: FakeClock, patienceMs: number, { isOver, isHurried }: Work): Promise<void> {
  const impatientAt = nowMs() + patienceMs;
  let idle = 0;
  for (let turns = 0; !isOver(); turns++) {
    await turn(turns < turnsWithoutWait || isHurried() ? 0 : 1);
    if (!isOver()) await runDueTimers(clock);
    idle = isHurried() || nowMs() >= impatientAt ? idle + 1 : 0;
    if (idle <= turnsBetweenAdvances || isOver()) continue;
    await advanceToNextTimer(clock);
    idle = 0;
  }
}

/** Runs the timers that are due now, which need no patience. */
async function runDueTimers(clock: FakeClock): Promise<void> {
  const next = clock.nextTimer();
  if (next !== undefined && next <= clock.now()) await clock.advance(0);
}

async function advanceToNextTimer(clock: FakeClock): Promise<void> {
  const next = clock.nextTimer();
  if (next !== undefined) await clock.advance(Math.max(0, next - clock.now()));
}

/** Resolves after one turn of the event loop, in which promises and I/O continue. */
const turn = (waitMs: number) =>
  new Promise<void>((resolve) => (waitMs === 0 ? setImmediate(resolve) : setTimeout(resolve, waitMs)));
