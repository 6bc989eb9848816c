/** Shorter times count as zero, in seconds. */
const shortest = 0.001;

/** Buckets for each doubling: neighbours differ by 1.1 %. */
const perDoubling = 64;

/** Up to 2^30 ms, twelve days. */
const buckets = 30 * perDoubling + 1;

/** Histogram of times with logarithmic buckets: percentiles are accurate to about 1 %. */
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

  /** Quantile in seconds for a share from 0 to 1. 0 for an empty histogram. */
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
