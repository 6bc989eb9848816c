import { type DepthBounds, type LimitChanges, type Limits, limitNames } from "../core/limits/limits.ts";
import type { LimitEditor, StoredLimits } from "../core/limits/ports.ts";
import { copy } from "./copy.ts";

/** Stored limits in memory. */
export class MemoryLimits implements LimitEditor {
  /** Number of look-ups, for tests. */
  reads = 0;
  readonly #tenants = new Map<string, Limits>();
  #deployment: StoredLimits | undefined;

  async ofDeployment(): Promise<StoredLimits | undefined> {
    this.reads += 1;
    return copy(this.#deployment);
  }

  async ofTenant(tenantId: string): Promise<Limits | undefined> {
    this.reads += 1;
    return copy(this.#tenants.get(tenantId));
  }

  async setDefault(limits: Limits): Promise<void> {
    this.#set({ default: limits });
  }

  async setDepth(depth: DepthBounds): Promise<void> {
    this.#set({ depth });
  }

  async change(tenantId: string, changes: LimitChanges): Promise<Limits> {
    const limits: Limits = { ...this.#tenants.get(tenantId) };
    for (const name of limitNames) {
      const limit = changes[name];
      if (limit === "unset") delete limits[name];
      else if (limit !== undefined) limits[name] = limit;
    }
    this.#tenants.set(tenantId, limits);
    this.#set({ overridden: true });
    return copy(limits);
  }

  #set(part: Partial<StoredLimits>): void {
    this.#deployment = { default: {}, depth: {}, overridden: false, ...this.#deployment, ...part };
  }
}
