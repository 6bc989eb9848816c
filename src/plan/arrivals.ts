import type { Random } from "../core/ports.ts";

/** When tasks come, in seconds from the start, in order. */
export interface Arrivals {
  /** The next task's time; infinite after the last. */
  next(): number;
}

/** A rate that holds from a time on, until the next one begins. */
interface Stretch {
  from: number;
  until: number;
  perSecond: number;
}

export interface ArrivalRates {
  seconds: number;
  /** Each holds for an equal part of the time. */
  tasksPerSecond: readonly number[];
  bursts: readonly { atSeconds: number; tasks: number; overSeconds: number }[];
}

/** Tasks that come independently of each other (a Poisson process) at rates that change over the time. */
export function randomArrivals(rates: ArrivalRates, random: Random): Arrivals {
  const stretches = stretchesOf(rates);
  let index = 0;
  let time = 0;
  return {
    next() {
      for (let stretch = stretches[index]; stretch !== undefined; stretch = stretches[++index]) {
        time = Math.max(time, stretch.from);
        if (stretch.perSecond > 0) {
          time -= Math.log(1 - random()) / stretch.perSecond;
          if (time < stretch.until) return time;
        }
        time = stretch.until;
      }
      return Number.POSITIVE_INFINITY;
    },
  };
}

/** Tasks that came at known times. */
export function knownArrivals(seconds: readonly number[]): Arrivals {
  const times = seconds.toSorted((a, b) => a - b);
  let index = 0;
  return { next: () => times[index++] ?? Number.POSITIVE_INFINITY };
}

/** Cuts the time wherever a rate changes or a burst begins or ends, and adds up what holds in between. */
function stretchesOf({ seconds, tasksPerSecond, bursts }: ArrivalRates): Stretch[] {
  const part = seconds / tasksPerSecond.length;
  const cuts = new Set([0, seconds, ...tasksPerSecond.map((_, index) => index * part)]);
  for (const burst of bursts) cuts.add(burst.atSeconds).add(burst.atSeconds + burst.overSeconds);
  const times = [...cuts].sort((a, b) => a - b);
  return times.slice(0, -1).map((from, index) => {
    const until = times[index + 1] ?? from;
    const base =
      from < seconds ? (tasksPerSecond[Math.min(Math.floor(from / part + 1e-9), tasksPerSecond.length - 1)] ?? 0) : 0;
    const extra = bursts
      .filter((burst) => from >= burst.atSeconds && from < burst.atSeconds + burst.overSeconds)
      .reduce((sum, burst) => sum + burst.tasks / burst.overSeconds, 0);
    return { from, until, perSecond: base + extra };
  });
}
