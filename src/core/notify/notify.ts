import { PortUnavailable, WrittenLater } from "../model/errors.ts";
import type { TaskView } from "../model/task-view.ts";
import type { EndNotice, Notice, OutgoingEvent } from "../ports/notify.ts";
import type { Receiver } from "../ports/webhooks.ts";
import { closeChannels } from "./connect.ts";
import { type DeliverPorts, deliverEnd, deliverFirst, deliverTry, newDelivery, resultFor } from "./deliver.ts";
import { type PushPorts, pushNotice } from "./push-notice.ts";
import { asksFor, logDelivery, receiverDeliveryId } from "./receivers.ts";

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

const kinds: readonly string[] = ["end", "change", "try", "key_revoked"] satisfies Notice["kind"][];

/** Id of what a notice is about. */
const subjectOf = (notice: Notice): string => (notice.kind === "key_revoked" ? notice.key_id : notice.task_id);

/**
 * Reads a message of the notify queue. Only Offload's functions can send to it, so this checks no more than the shape
 * that every notice has.
 * @throws WrittenLater for a kind that only a later release knows; Error for a text that is not a notice
 */
export function parseNotice(text: string): Notice {
  const notice = JSON.parse(text) as Notice | null;
  if (typeof notice?.kind === "string" && !kinds.includes(notice.kind)) throw new WrittenLater("a kind of notice");
  const isOne =
    notice !== null &&
    kinds.includes(notice.kind) &&
    typeof notice.tenant_id === "string" &&
    typeof subjectOf(notice) === "string";
  if (!isOne) throw new Error("expected a notice");
  return notice;
}

/** `detail-type` of the events, by the status of the ended task. */
const detailTypes: Readonly<Partial<Record<TaskView["status"], string>>> = {
  completed: "Task Completed",
  failed: "Task Failed",
  cancelled: "Task Cancelled",
  expired: "Task Expired",
};

/** The event of a task's end: the same one, however often its notice arrives. It never contains the task's result. */
export function eventOf({ id, tenant_id, task: ended, traceparent }: EndNotice): OutgoingEvent {
  const { result: _, ...task } = ended;
  const detailType = detailTypes[task.status];
  if (detailType === undefined) throw new Error(`the task ${task.task_id} has not ended: it is ${task.status}`);
  return {
    detailType,
    detail: { id, tenant_id, ...task },
    time: task.finished_at ?? task.updated_at,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

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
