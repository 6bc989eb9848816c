import type { Log } from "../ports/tasks.ts";
import type { Tenants } from "./ports.ts";

/** Maximum number of tenants that a process remembers to have saved. */
const mostSaved = 100_000;

/**
 * Returns a function that saves a submit's tenant in the directory: one write per tenant and process. A failure is
 * logged, does not fail the submit, and is tried again at the tenant's next submit.
 */
export function tenantNoter(tenants: Tenants, log: Log): (tenantId: string) => Promise<void> {
  const saved = new Set<string>();
  return async (tenantId) => {
    if (saved.has(tenantId)) return;
    try {
      await tenants.note(tenantId);
      if (saved.size >= mostSaved) saved.clear();
      saved.add(tenantId);
    } catch (error) {
      log.warn("could not save the tenant in the directory; its next submit tries again", {
        tenant_id: tenantId,
        error: String(error),
      });
    }
  };
}
