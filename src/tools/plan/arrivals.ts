import type { Tier } from "../../core/model/words.ts";
import type { Random } from "../../core/ports/tasks.ts";

/** Arrival times of requests that submit tasks, in seconds from the start, in ascending order. */
export interface Arrivals {
  /** Arrival time of the next request. Infinity after the last. */
  next(): number;
  /** Tier of the last request's tasks. Undefined: the tiers' shares decide. */
  readonly tier: Tier | undefined;
  /** Number of the last request's tasks. */
  readonly tasks: number;
  /** True when a handler spawned them, without a request to the API. */
  readonly spawned: boolean;
}

/** One arrival. */
export interface Requests extends Omit<Arrivals, "next"> {
  /** Infinity: there are no more. */
  readonly time: number;
}

/** Takes the next arrival. */
export function requestOf(arrivals: Arrivals): Requests {
  const time = arrivals.next();
  const { tier, tasks, spawned } = arrivals;
  return { time, tier, tasks, spawned };
}

/** Additional tasks within a short time. */
export interface Burst {
  readonly atSeconds: number;
  readonly tasks: number;
  readonly overSeconds: number;
  /** Absent: the tiers' shares decide. */
  readonly tier?: Tier | undefined;
  /** Tasks of one request. */
  readonly batchSize: number;
}

export interface ArrivalRates {
  readonly seconds: number;
  /** Each rate lasts an equal part of the time. */
  readonly tasksPerSecond: readonly number[];
  /** Tasks of one request, outside of bursts. */
  readonly batchSize: number;
  readonly bursts: readonly Burst[];
}

/** A period with a constant rate of requests. */
interface Stretch {
  from: number;
  until: number;
  perSecond: number;
  /** The bursts of this period. `perSecond` includes their rates. */
  bursts: readonly Burst[];
}

/** Requests per second. */
const rateOf = (burst: Burst): number => burst.tasks / burst.overSeconds / burst.batchSize;

/** Independent arrivals (a Poisson process) with a rate that changes over time. */
export function randomArrivals(rates: ArrivalRates, random: Random): Arrivals {
  const stretches = stretchesOf(rates);
  let index = 0;
  let time = 0;
  let burst: Burst | undefined;
  return {
    next() {
      for (let stretch = stretches[index]; stretch !== undefined; stretch = stretches[++index]) {
        time = Math.max(time, stretch.from);
        if (stretch.perSecond > 0) {
          time -= Math.log(1 - random()) / stretch.perSecond;
          if (time < stretch.until) {
            burst = stretch.bursts.length === 0 ? undefined : drawBurst(stretch, random);
            return time;
          }
        }
        time = stretch.until;
      }
      return Number.POSITIVE_INFINITY;
    },
    get tier() {
      return burst?.tier;
    },
    get tasks() {
      return burst?.batchSize ?? rates.batchSize;
    },
    spawned: false,
  };
}

/** Draws the burst that a request belongs to. Undefined: none. */
function drawBurst({ bursts, perSecond }: Stretch, random: Random): Burst | undefined {
  let drawn = random() * perSecond;
  return bursts.find((burst) => {
    drawn -= rateOf(burst);
    return drawn < 0;
  });
}

/** Arrivals of requests at known times. */
export function knownArrivals(seconds: readonly number[], tasks = 1): Arrivals {
  const times = seconds.toSorted((a, b) => a - b);
  let index = 0;
  return { next: () => times[index++] ?? Number.POSITIVE_INFINITY, tier: undefined, tasks, spawned: false };
}

/** Splits the time wherever a rate changes or a burst begins or ends, and adds up the rates of each part. */
function stretchesOf({ seconds, tasksPerSecond, batchSize, bursts }: ArrivalRates): Stretch[] {
  const part = seconds / tasksPerSecond.length;
  const cuts = new Set([0, seconds, ...tasksPerSecond.map((_, index) => index * part)]);
  for (const burst of bursts) cuts.add(burst.atSeconds).add(burst.atSeconds + burst.overSeconds);
  const times = [...cuts].sort((a, b) => a - b);
  return times.slice(0, -1).map((from, index) => {
    const until = times[index + 1] ?? from;
    const middle = (from + until) / 2;
    const base = middle < seconds ? (tasksPerSecond[Math.floor(middle / part)] ?? 0) / batchSize : 0;
    const now = bursts.filter((burst) => middle > burst.atSeconds && middle < burst.atSeconds + burst.overSeconds);
    return { from, until, bursts: now, perSecond: now.reduce((sum, burst) => sum + rateOf(burst), base) };
  });
}
