import type { Clock, Log } from "../ports.ts";
import { type Tier, tiers } from "../tier.ts";
import { type AllLimits, type DepthBounds, type Limits, mergeLimits } from "./limits.ts";
import type { LimitStore, StoredLimits } from "./ports.ts";

/** How soon a change of limits holds in every process. */
const lookAgainMs = 10_000;

/** How many tenants' own limits a process remembers. */
const mostTenants = 10_000;

export interface LimitBookPorts {
  clock: Clock;
  log: Log;
  limits: LimitStore;
}

interface Looked<T> {
  value: Promise<T | undefined>;
  untilMs: number;
}

/**
 * The limits as they are now: those of the deployment's configuration, under those that operators have stored. Looks at the
 * table every ten seconds; at a tenant's own limits only if any tenant has some.
 */
export class LimitBook {
  readonly #ports: LimitBookPorts;
  readonly #configured: AllLimits;
  #deployment: Looked<StoredLimits> | undefined;
  readonly #tenants = new Map<string, Looked<Limits>>();

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
    const looked = this.#fresh(this.#tenants.get(tenantId), () => this.#ports.limits.ofTenant(tenantId));
    this.#tenants.set(tenantId, looked);
    return looked.value;
  }

  /** What was looked up, anew once it is old. A table that does not answer leaves it as it was. */
  #fresh<T>(earlier: Looked<T> | undefined, look: () => Promise<T | undefined>): Looked<T> {
    const now = this.#ports.clock.now();
    if (earlier !== undefined && now < earlier.untilMs) return earlier;
    const value = look().catch((error: unknown) => {
      this.#ports.log.warn("limits could not be read", { error: String(error) });
      return earlier?.value;
    });
    return { value, untilMs: now + lookAgainMs };
  }
}

/** For each tier, the first source that says anything. */
export function mergeDepth(...sources: readonly (DepthBounds | undefined)[]): DepthBounds {
  const of = (tier: Tier) => sources.find((source) => source?.[tier] !== undefined)?.[tier];
  return Object.fromEntries(tiers.map((tier) => [tier, of(tier)])) as DepthBounds;
}
