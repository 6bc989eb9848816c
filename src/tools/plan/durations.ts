import type { Random } from "../../core/ports/tasks.ts";

/** Duration of a handler: median and 99th percentile. Equal values mean a constant duration. */
export interface DurationSpread {
  p50Ms: number;
  p99Ms: number;
}

/** Source of the duration of each attempt. */
export interface DurationSource {
  /** Returns seconds. */
  draw(random: Random): number;
}

/** Known durations of attempts, in order. The last one repeats. */
export function knownDurations(seconds: readonly number[]): DurationSource {
  let index = 0;
  return { draw: () => seconds[Math.min(index++, seconds.length - 1)] ?? 0 };
}

/** Number of equally likely durations that represent a distribution: enough for its 99.9th percentile. */
const steps = 16_384;

/** The standard normal distribution's 99th percentile. */
const normalP99 = 2.3263;

/** Log-normal durations in seconds. They come from a table, because a plan draws millions of them. */
export class Durations implements DurationSource {
  readonly #table: Float64Array;
  readonly meanSeconds: number;

  constructor({ p50Ms, p99Ms }: DurationSpread) {
    const sigma = Math.log(Math.max(1, p99Ms / p50Ms)) / normalP99;
    this.#table = Float64Array.from(
      { length: steps },
      (_, step) => (p50Ms / 1000) * Math.exp(sigma * normalQuantile((step + 0.5) / steps)),
    );
    this.meanSeconds = this.#table.reduce((sum, seconds) => sum + seconds, 0) / steps;
  }

  draw(random: Random): number {
    return this.#table[(random() * steps) | 0] ?? 0;
  }
}

/** Quantile of the standard normal distribution (Acklam's approximation, relative error below 1.2e-9). */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p);
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p));
    return polynomial(tailAbove, q) / (polynomial(tailBelow, q) * q + 1);
  }
  const q = p - 0.5;
  const r = q * q;
  return (polynomial(middleAbove, r) * q) / (polynomial(middleBelow, r) * r + 1);
}

const polynomial = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);

const middleAbove = [
  -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239,
];
const middleBelow = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572];
const tailAbove = [
  -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
];
const tailBelow = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416];
