import { eventOf } from "../end/event-of.ts";
import { resultFor } from "../end/result-for.ts";
import { PortUnavailable } from "../model/errors.ts";
import type { EndNotice, Notice } from "../ports/notice.ts";
import { closeChannels } from "./close-channels.ts";
import { type DeliverPorts, deliverEnd, deliverTry } from "./deliver.ts";
import { deliverToReceivers } from "./deliver-to-receivers.ts";
import { type PushPorts, pushNotice } from "./push-notice.ts";

export interface NotifyPorts extends PushPorts, DeliverPorts {}

/**
 * Handles a message of the notify queue. Every redelivery repeats it: channels and the event bus may get a message
 * again, with the same id; a try of a webhook that is stored is not repeated.
 * @throws PortUnavailable
 */
export async function notify(ports: NotifyPorts, notice: Notice): Promise<void> {
  if (notice.kind === "try") return deliverTry(ports, notice);
  if (notice.kind === "key_revoked") return closeChannels(ports, notice);
  if (notice.kind === "change") {
    await pushNotice(ports, notice);
    return;
  }
  // At the same time: a receiver that hangs delays neither channels nor events.
  const done = await Promise.allSettled([
    pushEnd(ports, notice),
    putEvent(ports, notice),
    deliverEnd(ports, notice),
    deliverToReceivers(ports, notice),
  ]);
  const failed = done.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function pushEnd(ports: NotifyPorts, notice: EndNotice): Promise<void> {
  const result = notice.push_result === true ? await resultFor(ports, notice) : undefined;
  await pushNotice(ports, notice, result);
}

/** @throws PortUnavailable when a later try can succeed */
async function putEvent({ eventBus, log }: NotifyPorts, notice: EndNotice): Promise<void> {
  const [error] = (await eventBus?.put([eventOf(notice)])) ?? [];
  if (error instanceof PortUnavailable) throw error;
  if (error === undefined) return;
  const { tenant_id, task_id, id } = notice;
  log.error("the event bus refused an event", { tenant_id, task_id, event_id: id, error: String(error) });
}
