import type { DepthBounds, Limits } from "./limits.ts";

/** What an operator has stored for the deployment. */
export interface StoredLimits {
  default: Limits;
  depth: DepthBounds;
  /** Whether any tenant has limits of its own stored: where none has, nobody needs to look. */
  overridden: boolean;
}

/** Where limits are stored. Contract suite: `test/contract/limit-store.ts`. */
export interface LimitStore {
  ofDeployment(): Promise<StoredLimits | undefined>;
  ofTenant(tenantId: string): Promise<Limits | undefined>;
}

/** Where operators change them. */
export interface LimitEditor extends LimitStore {
  setDefault(limits: Limits): Promise<void>;
  setDepth(depth: DepthBounds): Promise<void>;
  setTenant(tenantId: string, limits: Limits): Promise<void>;
}

/** A tenant's bucket after a spend, or as it stood in the way of one. */
export interface Spent {
  done: boolean;
  /** Epoch milliseconds until which the bucket is spent: the later, the emptier. */
  spentUntilMs: number;
}

/** How many tasks of a tenant are in progress, counted by the hour in which they were accepted. */
export interface OpenCount {
  total: number;
  /** By whole hours since 1970. */
  hours: ReadonlyMap<number, number>;
  /** Epoch milliseconds of the last reservation. 0: there was none. */
  reservedAtMs: number;
}

/**
 * What tenants use, counted by all processes together. Two numbers for each tenant: the time until which its bucket is spent,
 * which later spends move on, and how many of its tasks are in progress. Contract suite: `test/contract/usage.ts`.
 */
export interface Usage {
  /**
   * Moves the time until which the bucket is spent on by `costMs`, from now if it lies in the past; not if it would pass
   * `atMostMs`.
   * @param likelyIdle Whether the time probably lies in the past: only saves a request.
   */
  spend(
    tenantId: string,
    spend: { nowMs: number; costMs: number; atMostMs: number; likelyIdle: boolean },
  ): Promise<Spent>;
  /** Adds to the tasks in progress, unless there would then be more than `atMost`. */
  reserve(
    tenantId: string,
    reservation: { by: number; atMost: number; nowMs: number },
  ): Promise<{ done: boolean; open: OpenCount }>;
  /** Takes tasks that have ended off the count of their hour; a count that is not that high stays. */
  release(tenantId: string, hour: number, by: number): Promise<void>;
  /** Takes a whole hour off the count. */
  forget(tenantId: string, hour: number): Promise<void>;
  /** Whether the caller may compare the count with the truth now: one process at a time, and not before `unlessAfterMs`. */
  beginAudit(tenantId: string, nowMs: number, unlessAfterMs: number): Promise<boolean>;
  /** Puts an hour's count right, if it still is what it was. */
  correct(tenantId: string, hour: number, from: number, to: number): Promise<void>;
}
