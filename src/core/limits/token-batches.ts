import type { Clock } from "../ports.ts";

/** How long a process may use what it took ahead, in milliseconds. */
const leaseMs = 1_000;

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
  /** What is left of an earlier lease that has run out. */
  unused: number;
}

/** Asks the shared count for more. */
export type Refill = (want: Want) => Promise<Refilled>;

interface Lease {
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
export class Leases {
  readonly #clock: Pick<Clock, "now">;
  readonly #byTenant = new Map<string, Lease>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Takes one. Gives undefined when it has one, else the time, in epoch milliseconds, at which there may be one.
   * @param most The most that may be taken ahead at once.
   */
  async take(tenantId: string, most: number, refill: Refill): Promise<number | undefined> {
    const lease = this.#leaseOf(tenantId);
    for (;;) {
      const now = this.#clock.now();
      if (lease.left > 0 && now < lease.untilMs) {
        lease.left -= 1;
        lease.used += 1;
        return undefined;
      }
      if (now < lease.refusedUntilMs) return lease.refusedUntilMs;
      lease.waiting += 1;
      lease.refilling ??= this.#refill(lease, most, refill).finally(() => {
        lease.refilling = undefined;
        lease.waiting = 0;
      });
      await lease.refilling;
    }
  }

  /** Takes back one that was not needed. */
  giveBack(tenantId: string): void {
    const lease = this.#byTenant.get(tenantId);
    if (lease !== undefined) lease.left += 1;
  }

  async #refill(lease: Lease, most: number, refill: Refill): Promise<void> {
    // Those who ask in the same moment are to be counted.
    await Promise.resolve();
    const now = this.#clock.now();
    lease.chunk = nextChunk(lease, now, most);
    const { chunk, left: unused, waiting } = lease;
    const pressed = now - lease.refusedUntilMs < leaseMs;
    const enough = pressed ? Math.ceil(chunk / 2) : 1;
    const { got, againAtMs = 0 } = await refill({ count: Math.max(chunk, waiting), chunk, enough, unused });
    const then = this.#clock.now();
    if (got > 0) {
      Object.assign(lease, { left: got, untilMs: then + leaseMs, used: 0, sinceMs: now, waitMs: shortestWaitMs });
    } else {
      lease.refusedUntilMs = Math.max(againAtMs, then + lease.waitMs);
      lease.waitMs = Math.min(longestWaitMs, lease.waitMs * 2);
    }
  }

  #leaseOf(tenantId: string): Lease {
    const known = this.#byTenant.get(tenantId);
    if (known !== undefined) return known;
    if (this.#byTenant.size >= mostTenants) this.#byTenant.clear();
    const times = { untilMs: 0, sinceMs: 0, refusedUntilMs: 0, waitMs: shortestWaitMs };
    const fresh = { ...times, left: 0, chunk: 1, used: 0, waiting: 0 };
    this.#byTenant.set(tenantId, fresh);
    return fresh;
  }
}

/** What the process would use in a lease's time at its present pace; at most twice the last chunk, so that it grows with the need. */
function nextChunk({ used, sinceMs, chunk }: Lease, now: number, most: number): number {
  const pace = used / Math.max(1, now - sinceMs);
  return Math.max(1, Math.min(Math.ceil(pace * leaseMs), chunk * 2, most));
}
