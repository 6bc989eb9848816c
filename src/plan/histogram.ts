/** The shortest time that is told from none, in seconds. */
const shortest = 0.001;

/** Buckets for each doubling: neighbours differ by 1.1 %. */
const perDoubling = 64;

/** Up to 2^30 ms, twelve days. */
const buckets = 30 * perDoubling + 1;

/** Counts times in buckets that grow with the time, so that a percentile is good to 1 % whatever its size. */
export class Histogram {
  readonly #counts = new Float64Array(buckets);
  #total = 0;
  #sum = 0;

  add(seconds: number): void {
    const bucket = seconds < shortest ? 0 : (1 + Math.log2(seconds / shortest) * perDoubling) | 0;
    const index = bucket < buckets ? bucket : buckets - 1;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total += 1;
    this.#sum += seconds;
  }

  get count(): number {
    return this.#total;
  }

  get meanSeconds(): number {
    return this.#total === 0 ? 0 : this.#sum / this.#total;
  }

  /** The time that this share of all does not exceed, in seconds; 0 for an empty histogram. */
  quantile(share: number): number {
    let left = share * this.#total;
    for (let bucket = 0; bucket < buckets; bucket++) {
      left -= this.#counts[bucket] ?? 0;
      if (left <= 0) return bucket === 0 ? 0 : shortest * 2 ** ((bucket - 0.5) / perDoubling);
    }
    return 0;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
    this.#sum = 0;
  }
}
