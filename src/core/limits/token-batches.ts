import type { Clock } from "../ports.ts";

/** Time in which a process may use a batch of tokens, in milliseconds. */
const batchMs = 1_000;

/** Wait before the next request after a refusal, in milliseconds. It doubles with each refusal, up to the longest. */
const shortestWaitMs = 50;
const longestWaitMs = 1_000;

/** Maximum number of tenants whose batches a process keeps. */
const mostTenants = 10_000;

/** Answer of the shared count to a request for tokens. */
export interface TokenGrant {
  /** Number of tokens. 0: the request was refused. */
  granted: number;
  /** Epoch milliseconds before which another request would be refused, too. Only with `granted` 0. */
  retryAtMs?: number;
}

/** Request for a batch of tokens. */
export interface TokenRequest {
  /** Number of tokens: `size`, or one for each waiting caller if these are more. */
  count: number;
  /** Size of the next batch, without regard to waiting callers. */
  size: number;
  /** Fewer tokens are not worth a request to the shared count. */
  minimum: number;
  /** Tokens left of a batch whose time is over. */
  unused: number;
}

/** Requests a batch of tokens from the shared count. */
export type Refill = (request: TokenRequest) => Promise<TokenGrant>;

/** A tenant's batch in this process. */
interface Batch {
  /** Tokens left; they may be used until `untilMs`. */
  left: number;
  untilMs: number;
  /** Size of the batch that was last requested. */
  size: number;
  /** Tokens used since `sinceMs`. */
  used: number;
  sinceMs: number;
  /** No request is made before this time. */
  refusedUntilMs: number;
  /** Wait after the next refusal. */
  waitMs: number;
  /** Number of callers that wait for the refill in progress. */
  waiting: number;
  refilling?: Promise<void> | undefined;
}

/**
 * Takes tokens from a count that all processes share, in batches for each tenant. A busy process requests many tokens at once,
 * at most those that it uses in a second, so that one write to the shared count serves many callers.
 */
export class TokenBatches {
  readonly #clock: Pick<Clock, "now">;
  readonly #byTenant = new Map<string, Batch>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Takes one token. Returns undefined when it was taken, else the time, in epoch milliseconds, at which to try again.
   * @param most Maximum size of a batch.
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

  /** Returns one token that was not needed to the batch. */
  giveBack(tenantId: string): void {
    const batch = this.#byTenant.get(tenantId);
    if (batch !== undefined) batch.left += 1;
  }

  async #refill(batch: Batch, most: number, refill: Refill): Promise<void> {
    // Lets other callers of this moment add themselves to `waiting`.
    await Promise.resolve();
    const now = this.#clock.now();
    batch.size = nextSize(batch, now, most);
    const { size, left: unused, waiting } = batch;
    const refusedRecently = now - batch.refusedUntilMs < batchMs;
    const minimum = refusedRecently ? Math.ceil(size / 2) : 1;
    const { granted, retryAtMs = 0 } = await refill({ count: Math.max(size, waiting), size, minimum, unused });
    const then = this.#clock.now();
    if (granted > 0) {
      Object.assign(batch, { left: granted, untilMs: then + batchMs, used: 0, sinceMs: now, waitMs: shortestWaitMs });
    } else {
      batch.refusedUntilMs = Math.max(retryAtMs, then + batch.waitMs);
      batch.waitMs = Math.min(longestWaitMs, batch.waitMs * 2);
    }
  }

  #batchOf(tenantId: string): Batch {
    const known = this.#byTenant.get(tenantId);
    if (known !== undefined) return known;
    if (this.#byTenant.size >= mostTenants) this.#byTenant.clear();
    const times = { untilMs: 0, sinceMs: 0, refusedUntilMs: 0, waitMs: shortestWaitMs };
    const fresh = { ...times, left: 0, size: 1, used: 0, waiting: 0 };
    this.#byTenant.set(tenantId, fresh);
    return fresh;
  }
}

/** Returns the tokens that the process will use in a batch's time at its present rate, at most twice the last size. */
function nextSize({ used, sinceMs, size }: Batch, now: number, most: number): number {
  const pace = used / Math.max(1, now - sinceMs);
  return Math.max(1, Math.min(Math.ceil(pace * batchMs), size * 2, most));
}
