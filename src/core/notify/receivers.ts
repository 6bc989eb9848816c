import { createHash } from "../../util/node-crypto.ts";
import { PortUnavailable } from "../model/errors.ts";
import { iso } from "../model/record.ts";
import type { EventBus, OutgoingEvent } from "../ports/notify.ts";
import type { Clock, Log, Metrics } from "../ports/tasks.ts";
import type { Delivery, Receiver, ReceiverKey, Receivers } from "../ports/webhooks.ts";

/** `type` of the webhook that tests a receiver, in its body, log and metrics. */
export const testType = "webhook.test";

/** A receiver whose tries have failed for this time is disabled: contract of `docs/webhooks.md`. */
const disabledAfterMs = 5 * 86_400_000;

/** Time before that at which Offload tells of it, in milliseconds. */
const warnedBeforeMs = 86_400_000;

export interface HealthPorts {
  clock: Clock;
  receivers: Pick<Receivers, "get" | "put">;
  eventBus?: EventBus | undefined;
  log: Log;
  metrics: Metrics;
}

/** True when a receiver asks for this end of a task. */
export const asksFor = ({ enabled, events, types }: Receiver, event: string, type: string): boolean =>
  enabled && events.some((one) => one === event) && (types === null || types.includes(type));

/**
 * Id of the delivery of an end to a receiver: the same for each notice of the end, and another one for each receiver.
 */
export const receiverDeliveryId = (endId: string, webhookId: string): string =>
  `msg_${createHash("sha256")
    .update(JSON.stringify([endId, webhookId]))
    .digest("base64url")}`;

/**
 * An entry of a log is kept for longer than its delivery was at first, in seconds: the delivery is kept for as long as
 * its tries go on.
 */
const logKeptSeconds = 14 * 86_400;

/**
 * Adds a delivery to its receiver's log. An entry whose delivery is gone is left out of the list. @throws
 * PortUnavailable
 */
export const logDelivery = (
  receivers: Pick<Receivers, "log">,
  key: ReceiverKey,
  { task_id, id, created_at: at, purge_at }: Delivery,
): Promise<void> => receivers.log(key, { at, task_id, id, purge_at: purge_at + logKeptSeconds });

/**
 * The receiver of a delivery as it is now, or why the delivery cannot be tried. Without a receiver: the task's own
 * callback.
 */
export async function targetOf(
  { receivers }: { receivers: Pick<Receivers, "get"> },
  { tenant_id, receiver_id }: Delivery,
): Promise<{ receiver?: Receiver } | { error: string }> {
  if (receiver_id === undefined) return {};
  const receiver = await receivers.get({ tenant_id, webhook_id: receiver_id });
  if (receiver === undefined) return { error: "the receiver was deleted" };
  return receiver.enabled ? { receiver } : { error: "the receiver is disabled" };
}

/**
 * Keeps a receiver's health: since when its tries fail. After four days it tells that the receiver will be disabled,
 * after five it disables it. Writes only when that changes. What cannot be written now is written by a later try.
 */
export async function noteTry(ports: HealthPorts, receiver: Receiver, succeeded: boolean): Promise<void> {
  const now = ports.clock.now();
  const step = stepOf(receiver, succeeded, now);
  if (step === undefined) return;
  const after = { ...step.after, revision: receiver.revision + 1, updated_at: iso(now) };
  try {
    if (!(await ports.receivers.put(after, receiver.revision))) return;
    if (step.notifies !== undefined) await notify(ports, after, step.notifies);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    ports.log.warn("could not keep the health of a receiver", {
      webhook_id: receiver.webhook_id,
      error: String(error),
    });
  }
}

interface HealthStep {
  after: Receiver;
  notifies?: "failing" | "disabled";
}

/** Undefined: nothing changes. */
function stepOf(receiver: Receiver, succeeded: boolean, nowMs: number): HealthStep | undefined {
  const { failing_since, warned_at } = receiver;
  if (succeeded) return failing_since === undefined ? undefined : { after: healthy(receiver) };
  const now = iso(nowMs);
  if (failing_since === undefined) return { after: { ...receiver, failing_since: now } };
  const failingMs = nowMs - Date.parse(failing_since);
  if (failingMs >= disabledAfterMs) {
    return { after: { ...receiver, enabled: false, disabled_at: now }, notifies: "disabled" };
  }
  if (failingMs < disabledAfterMs - warnedBeforeMs || warned_at !== undefined) return undefined;
  return { after: { ...receiver, warned_at: now }, notifies: "failing" };
}

/** The receiver as if no try had failed. */
export function healthy({ failing_since: _, warned_at: __, disabled_at: ___, ...receiver }: Receiver): Receiver {
  return receiver;
}

/** Tells operators by a log line and a metric, and by an event where the deployment sends some. */
async function notify(ports: HealthPorts, receiver: Receiver, what: "failing" | "disabled"): Promise<void> {
  const { tenant_id, webhook_id, url, failing_since = "" } = receiver;
  const about = { tenant_id, webhook_id, host: new URL(url).host, failing_since };
  const text =
    what === "failing" ? "a receiver of webhooks will be disabled in a day" : "a receiver of webhooks is disabled";
  ports.log.error(text, about);
  ports.metrics.add("receiver_failing", 1, { tier: "normal", type: testType });
  const [error] = (await ports.eventBus?.put([eventOf(receiver, what)])) ?? [];
  if (error !== undefined) ports.log.error("the event bus refused an event", { webhook_id, error: String(error) });
}

const eventOf = (receiver: Receiver, what: "failing" | "disabled"): OutgoingEvent => ({
  detailType: what === "failing" ? "Webhook Failing" : "Webhook Disabled",
  detail: {
    id: receiverDeliveryId(what, `${receiver.webhook_id} ${receiver.failing_since}`),
    tenant_id: receiver.tenant_id,
    webhook_id: receiver.webhook_id,
    description: receiver.description,
    failing_since: receiver.failing_since,
  },
  time: receiver.updated_at,
});
