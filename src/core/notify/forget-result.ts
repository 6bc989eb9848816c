import { ChangedMeanwhile } from "../model/errors.ts";
import type { TaskKey } from "../model/record.ts";
import type { Deliveries, Delivery } from "../ports/webhooks.ts";

/** Number of tries to change a delivery whose webhook is tried at the same time. */
const mostTries = 5;

/**
 * Removes the result from the webhooks of a task, so that no later try contains it.
 * @throws ChangedMeanwhile, PortUnavailable
 */
export async function forgetResult(deliveries: Deliveries, key: TaskKey): Promise<void> {
  for (const delivery of await deliveries.ofTask(key)) await forgetIn(deliveries, delivery);
}

async function forgetIn(deliveries: Deliveries, found: Delivery): Promise<void> {
  let delivery: Delivery | undefined = found;
  for (let tries = 0; tries < mostTries && delivery !== undefined; tries++) {
    const body = JSON.parse(delivery.body) as { data: { result: unknown } };
    if (body.data.result === null) return;
    const without = JSON.stringify({ ...body, data: { ...body.data, result: null } });
    if (await deliveries.put({ ...delivery, body: without }, delivery.tries.length)) return;
    delivery = await deliveries.get(found, found.id);
  }
  if (delivery !== undefined) throw new ChangedMeanwhile("the webhook of a task");
}
