import type { DepthBounds, LimitChanges, Limits } from "./limits.ts";

/** Limits that operators have stored for the deployment. */
export interface StoredLimits {
  default: Limits;
  depth: DepthBounds;
  /** True when at least one tenant has stored limits of its own. If false, they need not be read. */
  overridden: boolean;
}

/** The stored limits. Contract suite: `test/contract/limit-store.ts`. */
export interface LimitStore {
  ofDeployment(): Promise<StoredLimits | undefined>;
  ofTenant(tenantId: string): Promise<Limits | undefined>;
}

/** The stored limits, for the operators who change them. */
export interface LimitEditor extends LimitStore {
  setDefault(limits: Limits): Promise<void>;
  setDepth(depth: DepthBounds): Promise<void>;
  /**
   * Changes a tenant's own limits, each by itself, so that no change at the same time is lost. Returns those after it.
   */
  change(tenantId: string, changes: LimitChanges): Promise<Limits>;
}

/** A tenant's bucket after a spend, or unchanged when it had too few tokens. */
export interface Spent {
  done: boolean;
  /** Epoch milliseconds until which tokens are spent: the later, the fewer are left. */
  spentUntilMs: number;
}

/** Number of a tenant's tasks in progress, by the hour in which they were accepted. */
export interface OpenCount {
  total: number;
  /** Keys: whole hours since 1970. */
  hours: ReadonlyMap<number, number>;
  /** Epoch milliseconds of the last reservation. 0: there was none. */
  reservedAtMs: number;
}

/**
 * Usage of the tenants, counted by all processes together. Two values per tenant: the time until which its bucket's
 * tokens are spent, which each spend moves forward, and the number of its tasks in progress. Contract suite:
 * `test/contract/usage.ts`.
 */
export interface Usage {
  /**
   * Moves the bucket's time forward by `costMs`, starting from now if it is in the past. Does nothing if the result
   * would be after `atMostMs`.
   * @param likelyIdle True when that time is probably in the past. It only saves a request.
   */
  spend(
    tenantId: string,
    spend: { nowMs: number; costMs: number; atMostMs: number; likelyIdle: boolean },
  ): Promise<Spent>;
  /** Adds `by` to the tasks in progress. Does nothing if the result would be above `atMost`. */
  reserve(
    tenantId: string,
    reservation: { by: number; atMost: number; nowMs: number },
  ): Promise<{ done: boolean; open: OpenCount }>;
  /**
   * Takes a reservation back for which there are no tasks. Does nothing if an audit has begun since: it has counted the
   * tasks.
   * @param reservation `reservedAtMs`: `nowMs` of the call of `reserve`.
   */
  unreserve(tenantId: string, reservation: { by: number; reservedAtMs: number }): Promise<void>;
  /** Subtracts ended tasks from the count of their hour. Does nothing if the result would be negative. */
  release(tenantId: string, hour: number, by: number): Promise<void>;
  /** Removes a whole hour from the count. */
  forget(tenantId: string, hour: number): Promise<void>;
  /** Starts an audit of the count. Returns false if another process has started one after `unlessAfterMs`. */
  beginAudit(tenantId: string, nowMs: number, unlessAfterMs: number): Promise<boolean>;
  /** Corrects an hour's count. Does nothing if it is no longer `from`. */
  correct(tenantId: string, hour: number, from: number, to: number): Promise<void>;
}

/** Number of whole hours since 1970 at a time in epoch milliseconds. */
export const hourOf = (ms: number): number => Math.floor(ms / 3_600_000);

/** Start of an hour, in epoch milliseconds. */
export const startOfHour = (hour: number): number => hour * 3_600_000;
