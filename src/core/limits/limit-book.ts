import { type Tier, tiers } from "../model/tier.ts";
import type { Clock, Log } from "../ports/tasks.ts";
import { type AllLimits, type DepthBounds, type Limits, mergeLimits } from "./limits.ts";
import type { LimitStore, StoredLimits } from "./ports.ts";

/** Stored limits are read again after this time, in milliseconds: by then a change applies in every process. */
const readEveryMs = 10_000;

/** Maximum number of tenants whose own limits a process remembers. */
const mostTenants = 10_000;

export interface LimitBookPorts {
  clock: Clock;
  log: Log;
  limits: LimitStore;
}

interface CachedRead<T> {
  value: Promise<T | undefined>;
  untilMs: number;
}

/**
 * The limits that apply now: limits that operators have stored override those of the settings. Reads the table every
 * ten seconds, and a tenant's own limits only if at least one tenant has some.
 */
export class LimitBook {
  readonly #ports: LimitBookPorts;
  readonly #configured: AllLimits;
  #deployment: CachedRead<StoredLimits> | undefined;
  readonly #tenants = new Map<string, CachedRead<Limits>>();

  constructor(ports: LimitBookPorts, configured: AllLimits) {
    this.#ports = ports;
    this.#configured = configured;
  }

  async ofTenant(tenantId: string): Promise<Limits> {
    const stored = await this.#stored();
    const own = stored?.overridden === true ? await this.#ownOf(tenantId) : undefined;
    const { tenants } = this.#configured;
    const configured = Object.hasOwn(tenants, tenantId) ? tenants[tenantId] : undefined;
    return mergeLimits(own, configured, stored?.default, this.#configured.default);
  }

  async depthOf(tier: Tier): Promise<number | undefined> {
    const stored = await this.#stored();
    return mergeDepth(stored?.depth, this.#configured.depth)[tier] ?? undefined;
  }

  #stored(): Promise<StoredLimits | undefined> {
    this.#deployment = this.#fresh(this.#deployment, () => this.#ports.limits.ofDeployment());
    return this.#deployment.value;
  }

  #ownOf(tenantId: string): Promise<Limits | undefined> {
    if (this.#tenants.size >= mostTenants) this.#tenants.clear();
    const cached = this.#fresh(this.#tenants.get(tenantId), () => this.#ports.limits.ofTenant(tenantId));
    this.#tenants.set(tenantId, cached);
    return cached.value;
  }

  /** Returns the cached read, or starts a new one when it is old. When that fails, the old value stays in use. */
  #fresh<T>(earlier: CachedRead<T> | undefined, read: () => Promise<T | undefined>): CachedRead<T> {
    const now = this.#ports.clock.now();
    if (earlier !== undefined && now < earlier.untilMs) return earlier;
    const value = read().catch((error: unknown) => {
      this.#ports.log.warn("could not read the stored limits; the last known limits stay in use", {
        error: String(error),
      });
      return earlier?.value;
    });
    return { value, untilMs: now + readEveryMs };
  }
}

/** Merges depth bounds: for each tier, the first source that sets a bound wins. */
export function mergeDepth(...sources: readonly (DepthBounds | undefined)[]): DepthBounds {
  const of = (tier: Tier) => sources.find((source) => source?.[tier] !== undefined)?.[tier];
  return Object.fromEntries(tiers.map((tier) => [tier, of(tier)])) as DepthBounds;
}
