import type { Clock } from "../ports/tasks.ts";

/** Time in which a process may use a batch of tokens, in milliseconds. */
const batchMs = 1_000;

/**
 * Unused tokens of a batch are given back this long after its time, in milliseconds, unless the process goes on taking.
 */
const giveBackAfterMs = 500;

/** Wait before the next request after a refusal, in milliseconds. It doubles with each refusal, up to the longest. */
const shortestWaitMs = 50;
const longestWaitMs = 1_000;

/** Maximum number of tenants whose batches a process keeps. */
const maxTenants = 10_000;

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
  /** Epoch milliseconds at which those were requested. */
  unusedFromMs: number;
  /** Epoch milliseconds of this request. */
  nowMs: number;
}

/** Requests a batch of tokens from the shared count. */
export type Refill = (request: TokenRequest) => Promise<TokenGrant>;

/** Returns unused tokens to the shared count. `requestedAtMs`: when they were requested, in epoch milliseconds. */
export type GiveBack = (tenantId: string, count: number, requestedAtMs: number) => void;

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
  /** Stops the timer that gives unused tokens back. */
  stopTimer?: (() => void) | undefined;
}

/**
 * Takes tokens from a count that all processes share, in batches for each tenant. A busy process requests many tokens
 * at once, at most those that it uses in a second, so that one write to the shared count serves many callers.
 */
export class TokenBatches {
  readonly #clock: Clock;
  readonly #giveBack: GiveBack | undefined;
  readonly #byTenant = new Map<string, Batch>();

  /** @param giveBack Called for the tokens of a process that stops taking. Absent: they are lost. */
  constructor(clock: Clock, giveBack?: GiveBack) {
    this.#clock = clock;
    this.#giveBack = giveBack;
  }

  /**
   * Takes one token. Returns undefined when it was taken, else the time, in epoch milliseconds, at which to try again.
   * @param max Maximum size of a batch.
   */
  async take(tenantId: string, max: number, refill: Refill): Promise<number | undefined> {
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
      batch.refilling ??= this.#refill(tenantId, batch, max, refill).finally(() => {
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

  async #refill(tenantId: string, batch: Batch, max: number, refill: Refill): Promise<void> {
    // Lets other callers of this moment add themselves to `waiting`.
    await Promise.resolve();
    const now = this.#clock.now();
    batch.stopTimer?.();
    batch.size = nextSize(batch, now, max);
    const { size, left: unused, waiting } = batch;
    const refusedRecently = now - batch.refusedUntilMs < batchMs;
    const minimum = refusedRecently ? Math.ceil(size / 2) : 1;
    const count = Math.max(size, waiting);
    const request = { count, size, minimum, unused, unusedFromMs: batch.sinceMs, nowMs: now };
    const { granted, retryAtMs = 0 } = await refill(request);
    const then = this.#clock.now();
    batch.left = granted;
    if (granted > 0) {
      Object.assign(batch, { untilMs: then + batchMs, used: 0, sinceMs: now, waitMs: shortestWaitMs });
      if (this.#giveBack !== undefined) {
        batch.stopTimer = this.#clock.after(batchMs + giveBackAfterMs, () => this.#giveBackUnused(tenantId, batch));
      }
    } else {
      batch.refusedUntilMs = Math.max(retryAtMs, then + batch.waitMs);
      batch.waitMs = Math.min(longestWaitMs, batch.waitMs * 2);
    }
  }

  #giveBackUnused(tenantId: string, batch: Batch): void {
    if (batch.refilling !== undefined || batch.left === 0) return;
    const { left } = batch;
    batch.left = 0;
    this.#giveBack?.(tenantId, left, batch.sinceMs);
  }

  #batchOf(tenantId: string): Batch {
    const known = this.#byTenant.get(tenantId);
    if (known !== undefined) return known;
    if (this.#byTenant.size >= maxTenants) this.#byTenant.clear();
    const times = { untilMs: 0, sinceMs: 0, refusedUntilMs: 0, waitMs: shortestWaitMs };
    const fresh = { ...times, left: 0, size: 1, used: 0, waiting: 0 };
    this.#byTenant.set(tenantId, fresh);
    return fresh;
  }
}

/** Returns the tokens that the process will use in a batch's time at its present rate, at most twice the last size. */
function nextSize({ used, sinceMs, size }: Batch, now: number, max: number): number {
  const pace = used / Math.max(1, now - sinceMs);
  return Math.max(1, Math.min(Math.ceil(pace * batchMs), size * 2, max));
}
