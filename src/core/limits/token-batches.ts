import type { Clock } from "../ports.ts";

/** How long a process may use what it took ahead, in milliseconds. */
const batchMs = 1_000;

/** The waits of a process that was refused, in milliseconds: each longer than the one before. */
const shortestWaitMs = 50;
const longestWaitMs = 1_000;

/** How many tenants one process keeps account of. */
const mostTenants = 10_000;

/** What asking for more gave: so many, or none until a time. */
export interface Refilled {
  got: number;
  /** Epoch milliseconds before which asking again is of no use. Only where nothing was got. */
  againAtMs?: number;
}

/** A request for more. */
export interface Want {
  /** How many can be used: by those who wait, or soon. */
  count: number;
  /** How many the process takes ahead. */
  chunk: number;
  /** Fewer are not worth a request. */
  enough: number;
  /** What is left of an earlier batch that has run out. */
  unused: number;
}

/** Asks the shared count for more. */
export type Refill = (want: Want) => Promise<Refilled>;

interface Batch {
  left: number;
  untilMs: number;
  /** How many to ask for next, and how many were used since `sinceMs`. */
  chunk: number;
  used: number;
  sinceMs: number;
  refusedUntilMs: number;
  waitMs: number;
  /** How many wait for the refill that is under way. */
  waiting: number;
  refilling?: Promise<void> | undefined;
}

/**
 * What this process took ahead of a count that all processes share, by tenant: a busy process asks once for many, at most
 * for what it uses in a second, so that counting costs a fraction of a write for each use.
 */
export class TokenBatches {
  readonly #clock: Pick<Clock, "now">;
  readonly #byTenant = new Map<string, Batch>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Takes one. Gives undefined when it has one, else the time, in epoch milliseconds, at which there may be one.
   * @param most The most that may be taken ahead at once.
   */
  async take(tenantId: string, most: number, refill: Refill): Promise<number | undefined> {
    const batch = this.#batchOf(tenantId);
    for (;;) {
      const now = this.#clock.now();
      if (batch.left > 0 && now < batch.untilMs) {
        batch.left -= 1;
        batch.used += 1;
        return undefined;
      }
      if (now < batch.refusedUntilMs) return batch.refusedUntilMs;
      batch.waiting += 1;
      batch.refilling ??= this.#refill(batch, most, refill).finally(() => {
        batch.refilling = undefined;
        batch.waiting = 0;
      });
      await batch.refilling;
    }
  }

  /** Takes back one that was not needed. */
  giveBack(tenantId: string): void {
    const batch = this.#byTenant.get(tenantId);
    if (batch !== undefined) batch.left += 1;
  }

  async #refill(batch: Batch, most: number, refill: Refill): Promise<void> {
    // Those who ask in the same moment are to be counted.
    await Promise.resolve();
    const now = this.#clock.now();
    batch.chunk = nextChunk(batch, now, most);
    const { chunk, left: unused, waiting } = batch;
    const pressed = now - batch.refusedUntilMs < batchMs;
    const enough = pressed ? Math.ceil(chunk / 2) : 1;
    const { got, againAtMs = 0 } = await refill({ count: Math.max(chunk, waiting), chunk, enough, unused });
    const then = this.#clock.now();
    if (got > 0) {
      Object.assign(batch, { left: got, untilMs: then + batchMs, used: 0, sinceMs: now, waitMs: shortestWaitMs });
    } else {
      batch.refusedUntilMs = Math.max(againAtMs, then + batch.waitMs);
      batch.waitMs = Math.min(longestWaitMs, batch.waitMs * 2);
    }
  }

  #batchOf(tenantId: string): Batch {
    const known = this.#byTenant.get(tenantId);
    if (known !== undefined) return known;
    if (this.#byTenant.size >= mostTenants) this.#byTenant.clear();
    const times = { untilMs: 0, sinceMs: 0, refusedUntilMs: 0, waitMs: shortestWaitMs };
    const fresh = { ...times, left: 0, chunk: 1, used: 0, waiting: 0 };
    this.#byTenant.set(tenantId, fresh);
    return fresh;
  }
}

/** What the process would use in a batch's time at its present pace; at most twice the last chunk, so that it grows with the need. */
function nextChunk({ used, sinceMs, chunk }: Batch, now: number, most: number): number {
  const pace = used / Math.max(1, now - sinceMs);
  return Math.max(1, Math.min(Math.ceil(pace * batchMs), chunk * 2, most));
}
