import { iso } from "../model/record.ts";
import type { Notices, TryNotice } from "../ports/notify.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Deliveries, Delivery } from "../ports/webhooks.ts";

/** The most tries that a delivery may have for a further series. */
export const mostTriesBefore = 50;

export interface RedeliverPorts {
  clock: Clock;
  notices: Pick<Notices, "send">;
  deliveries: Pick<Deliveries, "put">;
}

/** The notice of a delivery's next try. */
export const tryOf = ({ tenant_id, task_id, id, tries }: Delivery): TryNotice => ({
  ...{ kind: "try", tenant_id, task_id, id },
  number: tries.length + 1,
});

/**
 * Starts the first try of a new series. Repeatable. A call beside a try that is made at this moment joins it. @throws
 * PortUnavailable
 */
export async function redeliver(ports: RedeliverPorts, delivery: Delivery): Promise<void> {
  const { tries } = delivery;
  const next_try_at = iso(ports.clock.now());
  const after: Delivery = { ...delivery, state: "pending", series_from: tries.length, next_try_at };
  // Another try is stored meanwhile: the webhook has just been sent again.
  if (!(await ports.deliveries.put(after, tries.length))) return;
  await ports.notices.send([tryOf(after)]);
}
