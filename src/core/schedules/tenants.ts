import type { Log } from "../ports.ts";
import type { Tenants } from "./ports.ts";

/** How many tenants a process remembers to have noted. */
const mostNoted = 100_000;

/**
 * Makes tenants known as they submit: one write for each tenant in each process, and none that anybody depends on. One that
 * fails is made up for at the tenant's next submit.
 */
export function tenantNoter(tenants: Tenants, log: Log): (tenantId: string) => Promise<void> {
  const noted = new Set<string>();
  return async (tenantId) => {
    if (noted.has(tenantId)) return;
    try {
      await tenants.note(tenantId);
      if (noted.size >= mostNoted) noted.clear();
      noted.add(tenantId);
    } catch (error) {
      log.warn("a tenant could not be noted", { tenant_id: tenantId, error: String(error) });
    }
  };
}
