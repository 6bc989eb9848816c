import type { ApiKey } from "../core/model/keys.ts";
import type { KeyStore } from "../core/ports/tasks.ts";
import { copy } from "./copy.ts";

/** API keys in memory. */
export class MemoryKeys implements KeyStore {
  readonly #keys = new Map<string, ApiKey>();

  async find(keyId: string): Promise<ApiKey | undefined> {
    return copy(this.#keys.get(keyId));
  }

  async touch(keyId: string, usedAt: string, unlessAfter: string): Promise<void> {
    const key = this.#keys.get(keyId);
    if (key !== undefined && (key.last_used_at ?? "") <= unlessAfter) key.last_used_at = usedAt;
  }

  async add(key: ApiKey): Promise<void> {
    this.#keys.set(key.key_id, copy(key));
  }

  async tenants(): Promise<string[]> {
    return [...new Set([...this.#keys.values()].map((key) => key.tenant_id))];
  }

  async list(tenantId: string): Promise<ApiKey[]> {
    const own = [...this.#keys.values()].filter((key) => key.tenant_id === tenantId);
    return copy(own.sort((a, b) => ((a.created_at ?? "") < (b.created_at ?? "") ? -1 : 1)));
  }

  async revoke(keyId: string, revokedAt: string): Promise<ApiKey | undefined> {
    const key = this.#keys.get(keyId);
    if (key !== undefined) key.revoked_at ??= revokedAt;
    return copy(key);
  }
}
