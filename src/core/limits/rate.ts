import { Problem } from "../model/problem.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Usage } from "./ports.ts";
import { type Refill, TokenBatches } from "./token-batches.ts";

/** Refused submits are told different times to retry, up to this time from now, in milliseconds. */
const longestSpreadMs = 10_000;

export interface Rate {
  perSecond: number;
  /** Submits accepted at once after a pause. */
  burst: number;
}

/**
 * Maximum size of a batch of tokens, as a fraction of one second's tokens or of the burst, whichever is less: other
 * processes cannot use them at the same time.
 */
const batchShare = 0.1;

/**
 * Limits each tenant's submits per second, over all processes. A tenant's token bucket is stored as one time, until
 * which its tokens are spent. At 20 tokens per second, each token moves that time forward by 50 ms. It may be ahead of
 * the clock by at most the tokens of the burst.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #usage: Usage;
  readonly #batches: TokenBatches;
  /**
   * By tenant: the bucket's time when this process last saw it, and the retry time of the submit that was refused last.
   */
  readonly #seen = new Map<string, { spentUntilMs: number; lastRetryMs: number }>();

  constructor(ports: { clock: Clock; usage: Usage }) {
    this.#clock = ports.clock;
    this.#usage = ports.usage;
    this.#batches = new TokenBatches(ports.clock);
  }

  /** @throws Problem `rate_limited` */
  async take(tenantId: string, rate: Rate): Promise<void> {
    const max = Math.max(1, Math.floor(Math.min(rate.perSecond, rate.burst) * batchShare));
    const retryAtMs = await this.#batches.take(tenantId, max, this.#refill(tenantId, rate));
    if (retryAtMs === undefined) return;
    throw new Problem("rate_limited", `This tenant may submit at most ${rate.perSecond} tasks per second.`, {
      retryAfterSeconds: this.#retryAfterSeconds(tenantId, rate, retryAtMs),
    });
  }

  giveBack(tenantId: string): void {
    this.#batches.giveBack(tenantId);
  }

  #refill(tenantId: string, rate: Rate): Refill {
    const tokenMs = 1000 / rate.perSecond;
    const seen = this.#seenOf(tenantId);
    return async ({ count, size, minimum }) => {
      const nowMs = this.#clock.now();
      const atMostMs = nowMs + rate.burst * tokenMs;
      // An upper limit, as other processes can only have spent more since this process last saw the bucket.
      const available = () => Math.floor((atMostMs - Math.max(nowMs, seen.spentUntilMs)) / tokenMs + 1e-6);
      for (let tries = 0; tries < 2 && available() >= minimum; tries++) {
        const granted = Math.min(count, available());
        const spend = { nowMs, costMs: granted * tokenMs, atMostMs, likelyIdle: seen.spentUntilMs <= nowMs };
        const spent = await this.#usage.spend(tenantId, spend);
        seen.spentUntilMs = spent.spentUntilMs;
        if (spent.done) return { granted };
      }
      return { granted: 0, retryAtMs: nowMs + seen.spentUntilMs + size * tokenMs - atMostMs };
    };
  }

  /** Returns the `Retry-After` of a refused submit: one token later than that of the submit refused before it. */
  #retryAfterSeconds(tenantId: string, rate: Rate, retryAtMs: number): number {
    const now = this.#clock.now();
    const tokenMs = 1000 / rate.perSecond;
    const seen = this.#seenOf(tenantId);
    const nextMs = Math.max(seen.lastRetryMs + tokenMs, retryAtMs);
    seen.lastRetryMs = Math.min(nextMs, now + Math.max(longestSpreadMs, tokenMs));
    return Math.max(1, Math.ceil((seen.lastRetryMs - now) / 1000));
  }

  #seenOf(tenantId: string) {
    let seen = this.#seen.get(tenantId);
    if (seen === undefined) {
      if (this.#seen.size >= 10_000) this.#seen.clear();
      seen = { spentUntilMs: 0, lastRetryMs: 0 };
      this.#seen.set(tenantId, seen);
    }
    return seen;
  }
}
