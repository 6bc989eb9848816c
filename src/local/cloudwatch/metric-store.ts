import type { Clock } from "../../core/ports/tasks.ts";
import type { Measured } from "../direct/doors.ts";

/** Measurements are kept for this time, in minutes. */
const keptMinutes = 24 * 60;

/** Values of a metric in a minute that are kept for percentiles. Sums count all. */
const maxValues = 500;

interface Minute {
  sum: number;
  count: number;
  values: number[];
}

/** The functions' measurements by minute, in memory. They begin anew with the server. */
export class MetricStore {
  readonly #clock: Clock;
  readonly #metrics = new Map<string, Map<number, Minute>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(measured: readonly Measured[]): void {
    const minute = Math.floor(this.#clock.now() / 60_000);
    for (const { name, tier, values } of measured) {
      const minutes = this.#minutesOf(name, tier);
      const current = minutes.get(minute) ?? { sum: 0, count: 0, values: [] };
      for (const value of values) {
        current.sum += value;
        current.count += 1;
        if (current.values.length < maxValues) current.values.push(value);
      }
      minutes.set(minute, current);
      for (const old of minutes.keys()) if (old < minute - keptMinutes) minutes.delete(old);
    }
  }

  /**
   * Values of each period with measurements, oldest first.
   * @param stat `Sum`, or a percentile such as `p95`, which is exact for up to 500 values in a minute.
   */
  values(of: {
    name: string;
    tier: string;
    stat: string;
    from: number;
    to: number;
    period: number;
  }): [number, number][] {
    const { name, tier, stat, from, to, period } = of;
    const points: [number, number][] = [];
    for (let start = from; start < to; start += period) {
      const within = [...this.#minutesOf(name, tier)].filter(
        ([minute]) => minute * 60 >= start && minute * 60 < start + period,
      );
      if (within.length === 0) continue;
      const minutes = within.map(([, minute]) => minute);
      points.push([start, stat === "Sum" ? sumOf(minutes) : percentileOf(minutes, Number(stat.slice(1)))]);
    }
    return points;
  }

  #minutesOf(name: string, tier: string): Map<number, Minute> {
    const key = `${name} ${tier}`;
    const minutes = this.#metrics.get(key) ?? new Map<number, Minute>();
    this.#metrics.set(key, minutes);
    return minutes;
  }
}

const sumOf = (minutes: readonly Minute[]): number => minutes.reduce((sum, minute) => sum + minute.sum, 0);

function percentileOf(minutes: readonly Minute[], percent: number): number {
  const values = minutes.flatMap((minute) => minute.values).sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.ceil((values.length * percent) / 100) - 1)] ?? 0;
}
