import type { SecretVersion, SecretVersions } from "../core/notify/secret.ts";
import { copy } from "./copy.ts";

/** Versions of tenants' secrets in memory. */
export class MemorySecretVersions implements SecretVersions {
  readonly #versions = new Map<string, SecretVersion>();

  async get(tenantId: string): Promise<SecretVersion | undefined> {
    return copy(this.#versions.get(tenantId));
  }

  async put(tenantId: string, next: SecretVersion): Promise<boolean> {
    const stored = this.#versions.get(tenantId);
    const isSame = stored?.version === next.version && stored.rotated_at[0] === next.rotated_at[0];
    if (!isSame && (stored?.version ?? 1) !== next.version - 1) return false;
    this.#versions.set(tenantId, copy(next));
    return true;
  }
}
