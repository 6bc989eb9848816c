import type { Log } from "../ports/tasks.ts";
import type { Tenants } from "./ports.ts";

/** Maximum number of tenants that a process remembers to have saved. */
const maxSaved = 100_000;

/**
 * Returns a function that saves a submit's tenant in the directory: one write per tenant and process, also when many
 * submits come at the same time. A failure is logged, does not fail the submits that wait for it, and is tried again at
 * the tenant's next submit.
 */
export function tenantNoter(tenants: Tenants, log: Log): (tenantId: string) => Promise<void> {
  const saved = new Map<string, Promise<void>>();
  const save = async (tenantId: string) => {
    try {
      await tenants.note(tenantId);
    } catch (error) {
      saved.delete(tenantId);
      log.warn("could not save the tenant in the directory; its next submit tries again", {
        tenant_id: tenantId,
        error: String(error),
      });
    }
  };
  return (tenantId) => {
    const known = saved.get(tenantId);
    if (known !== undefined) return known;
    if (saved.size >= maxSaved) saved.clear();
    const saving = save(tenantId);
    saved.set(tenantId, saving);
    return saving;
  };
}
