import type { Clock } from "../ports.ts";
import { Problem } from "../problem.ts";
import type { Usage } from "./ports.ts";
import { type Refill, TokenBatches } from "./token-batches.ts";

/** The longest `Retry-After` that follows from others who wait, in milliseconds. */
const longestLineMs = 10_000;

export interface Rate {
  perSecond: number;
  /** How many may come at once after a pause. */
  burst: number;
}

/** A process's share of a second's tokens is at most this: what other processes cannot use meanwhile. */
const shareAhead = 0.1;

/**
 * Admits so many a second for each tenant, over all processes. A tenant's bucket is one stored time, until which it is spent:
 * a token of 20 a second moves it on by 50 ms, and it may be ahead of the clock by the burst.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #usage: Usage;
  readonly #batches: TokenBatches;
  /** By tenant: until when its bucket was spent when this process last saw it, and when the last in its line may come. */
  readonly #seen = new Map<string, { spentUntilMs: number; lineMs: number }>();

  constructor(ports: { clock: Clock; usage: Usage }) {
    this.#clock = ports.clock;
    this.#usage = ports.usage;
    this.#batches = new TokenBatches(ports.clock);
  }

  /** @throws Problem `rate_limited` */
  async take(tenantId: string, rate: Rate): Promise<void> {
    const most = Math.max(1, Math.floor(Math.min(rate.perSecond, rate.burst) * shareAhead));
    const againAtMs = await this.#batches.take(tenantId, most, this.#refill(tenantId, rate));
    if (againAtMs === undefined) return;
    throw new Problem("rate_limited", `At most ${rate.perSecond} submits a second are accepted of this tenant.`, {
      retryAfterSeconds: this.#queueUp(tenantId, rate, againAtMs),
    });
  }

  giveBack(tenantId: string): void {
    this.#batches.giveBack(tenantId);
  }

  #refill(tenantId: string, rate: Rate): Refill {
    const tokenMs = 1000 / rate.perSecond;
    const seen = this.#seenOf(tenantId);
    return async ({ count, chunk, enough }) => {
      const nowMs = this.#clock.now();
      const atMostMs = nowMs + rate.burst * tokenMs;
      // What this process saw last is the most that there can be: others only spend.
      const room = () => Math.floor((atMostMs - Math.max(nowMs, seen.spentUntilMs)) / tokenMs + 1e-6);
      for (let tries = 0; tries < 2 && room() >= enough; tries++) {
        const got = Math.min(count, room());
        const spend = { nowMs, costMs: got * tokenMs, atMostMs, likelyIdle: seen.spentUntilMs <= nowMs };
        const spent = await this.#usage.spend(tenantId, spend);
        seen.spentUntilMs = spent.spentUntilMs;
        if (spent.done) return { got };
      }
      return { got: 0, againAtMs: nowMs + seen.spentUntilMs + chunk * tokenMs - atMostMs };
    };
  }

  /** Seconds until the caller's turn: those who were refused before it come first. */
  #queueUp(tenantId: string, rate: Rate, againAtMs: number): number {
    const now = this.#clock.now();
    const tokenMs = 1000 / rate.perSecond;
    const seen = this.#seenOf(tenantId);
    const turnMs = Math.max(seen.lineMs + tokenMs, againAtMs);
    seen.lineMs = Math.min(turnMs, now + Math.max(longestLineMs, tokenMs));
    return Math.max(1, Math.ceil((seen.lineMs - now) / 1000));
  }

  #seenOf(tenantId: string) {
    let seen = this.#seen.get(tenantId);
    if (seen === undefined) {
      if (this.#seen.size >= 10_000) this.#seen.clear();
      seen = { spentUntilMs: 0, lineMs: 0 };
      this.#seen.set(tenantId, seen);
    }
    return seen;
  }
}
