import type { EndNotice } from "../ports/notice.ts";
import type { Receiver } from "../ports/receivers.ts";
import { type DeliverPorts, deliverFirst, newDelivery } from "./deliver.ts";
import { asksFor, logDelivery, receiverDeliveryId } from "./receivers.ts";

/**
 * Makes the first try for each receiver that asks for this end of a task, at the same time. A try that was made is not
 * repeated.
 * @throws PortUnavailable
 */
export async function deliverToReceivers(ports: DeliverPorts, notice: EndNotice): Promise<void> {
  if (notice.receivers !== true) return;
  const all = await ports.receivers.list(notice.tenant_id);
  const asking = all.filter((one) => asksFor(one, `task.${notice.task.status}`, notice.type));
  const done = await Promise.allSettled(asking.map((receiver) => deliverTo(ports, notice, receiver)));
  const failed = done.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/**
 * The log has the delivery before its first try: a delivery that is logged and was never stored is left out of the
 * list.
 */
async function deliverTo(ports: DeliverPorts, notice: EndNotice, receiver: Receiver): Promise<void> {
  const { webhook_id, url } = receiver;
  const id = receiverDeliveryId(notice.id, webhook_id);
  await deliverFirst(ports, notice, id, async () => {
    const delivery = newDelivery(ports, notice, { id, url, receiver_id: webhook_id }, null);
    await logDelivery(ports.receivers, receiver, delivery);
    return delivery;
  });
}
