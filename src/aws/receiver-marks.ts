import { receiversName, settingsAgeMs } from "../core/ports/flow.ts";
import type { Notices } from "../core/ports/notify.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Most tenants that a process remembers. */
const maxRemembered = 2_000;

/**
 * Reads whether a tenant has receivers of webhooks, at most once in two seconds. For functions that do not read the
 * settings of flow.
 */
export function receiverMarks(table: DynamoTable, clock: Clock): Notices["receives"] {
  const known = new Map<string, { receives: Promise<boolean>; untilMs: number }>();
  return (tenantId) => {
    const now = clock.now();
    const earlier = known.get(tenantId);
    if (earlier !== undefined && now < earlier.untilMs) return earlier.receives;
    if (known.size >= maxRemembered) known.clear();
    const receives = table.get(keys.flowSetting(receiversName(tenantId))).then((item) => item !== undefined);
    receives.catch(() => known.delete(tenantId));
    known.set(tenantId, { receives, untilMs: now + settingsAgeMs });
    return receives;
  };
}
