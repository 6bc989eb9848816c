import { PortUnavailable } from "../errors.ts";
import type { Families } from "../family/ports.ts";
import type { EndNotice, TryNotice } from "../notify/notice.ts";
import type { Notices, WebhookAnswer, WebhookSender } from "../notify/ports.ts";
import type { Clock, Log, Metrics, OneOffs, Random, Records } from "../ports.ts";
import { iso } from "../record.ts";
import { resultFor } from "../result-for.ts";
import type { Deliveries, Delivery, SlowHosts, Try } from "./ports.ts";
import { decideNext } from "./tries.ts";

/** Signs the headers of a try. */
export interface WebhookSigner {
  /** @returns `webhook-id`, `webhook-timestamp` and `webhook-signature`. @throws PortUnavailable */
  sign(tenantId: string, id: string, nowMs: number, body: string): Promise<Record<string, string>>;
}

export interface DeliverPorts {
  clock: Clock;
  records: Records;
  families: Families;
  notices: Pick<Notices, "send">;
  oneOffs: Pick<OneOffs, "create">;
  deliveries: Deliveries;
  slowHosts: SlowHosts;
  sender: WebhookSender;
  signer: WebhookSigner;
  random: Random;
  /** Multiplies the waits between tries. 1, except when trying things out. */
  timeScale: number;
  log: Log;
  metrics: Metrics;
}

/** Longest time of one try, in milliseconds: contract of `docs/webhooks.md`. */
const tryMs = 10_000;

/** A receiver that has not answered after this time is slow, in milliseconds. */
const slowAfterMs = 1_000;

/** Time for which a host stays known as slow, in milliseconds. */
const slowForMs = 60_000;

/** Longest delay of a message in SQS, in seconds. Longer waits are one-offs. */
const longestDelaySeconds = 900;

/** Makes the first try of the webhook of an end, unless it was made already. Without a callback it does nothing. */
export async function deliverEnd(ports: DeliverPorts, notice: EndNotice): Promise<void> {
  if (notice.callback === undefined) return;
  const stored = await ports.deliveries.get(notice, notice.id);
  if (stored !== undefined) return goOn(ports, stored);
  await tryOnce(ports, await newDelivery(ports, notice, notice.callback), -1);
}

/** Makes a later try, unless it was made already. */
export async function deliverTry(ports: DeliverPorts, notice: TryNotice): Promise<void> {
  const stored = await ports.deliveries.get(notice, notice.id);
  // The task's retention has ended, and the delivery with it.
  if (stored === undefined) return;
  if (stored.tries.length >= notice.number) return goOn(ports, stored);
  if (stored.state === "pending") await tryOnce(ports, stored, stored.tries.length);
}

async function newDelivery(
  ports: DeliverPorts,
  notice: EndNotice,
  { url, include_result }: NonNullable<EndNotice["callback"]>,
): Promise<Delivery> {
  const { tenant_id, task_id, id, type, task, traceparent } = notice;
  const result = include_result === true ? ((await resultFor(ports, notice)) ?? null) : null;
  const nowIso = iso(ports.clock.now());
  const timestamp = task.finished_at ?? nowIso;
  const retainedUntil = Date.parse(task.retained_until ?? nowIso);
  return {
    ...{ tenant_id, task_id, id, type, url },
    body: JSON.stringify({ type: `task.${task.status}`, timestamp, data: { ...task, result } }),
    ...(traceparent !== undefined && { traceparent }),
    ...{ state: "pending", tries: [], series_from: 0, created_at: nowIso },
    purge_at: Math.ceil(retainedUntil / 1000),
  };
}

/** The try that a message asked for is stored. If its process died then, the next one may have no message. */
async function goOn(ports: DeliverPorts, delivery: Delivery): Promise<void> {
  if (delivery.state === "pending" && delivery.next_try_at !== undefined) await sendNext(ports, delivery);
}

/** @param expectedTries Stored tries; -1: the delivery is not stored. */
async function tryOnce(ports: DeliverPorts, delivery: Delivery, expectedTries: number): Promise<void> {
  const startedAt = ports.clock.now();
  const answer = await request(ports, delivery);
  if (answer === undefined) return putOff(ports, delivery, expectedTries);
  const duration_ms = ports.clock.now() - startedAt;
  const outcome = "status" in answer ? { status: answer.status } : { error: answer.error.slice(0, 300) };
  const made: Try = { at: iso(startedAt), duration_ms, ...outcome };
  const next = decideNext(delivery, answer, ports);
  const { next_try_at: _, ...rest } = delivery;
  const after: Delivery = { ...rest, ...next, tries: [...delivery.tries, made] };
  if (!(await storedTry(ports, after, made, expectedTries))) return;
  report(ports, after, made);
  await goOn(ports, after);
}

/** Stores a try. Returns false when a twin of the message has made it, who goes on. */
async function storedTry({ deliveries }: DeliverPorts, after: Delivery, made: Try, expectedTries: number) {
  if (await deliveries.put(after, expectedTries)) return true;
  // The answer of the first write may have been lost, and the client repeated it.
  const present = await deliveries.get(after, after.id);
  return present?.tries.length === after.tries.length && present.tries.at(-1)?.at === made.at;
}

/** Sends the request. Returns undefined when the host is slow, and has as many requests as it may have. */
async function request(ports: DeliverPorts, delivery: Delivery): Promise<WebhookAnswer | undefined> {
  const { tenant_id: tenantId, id, url, body, traceparent } = delivery;
  const { clock, slowHosts, signer, sender } = ports;
  const { host } = new URL(url);
  let mayGoOn = false;
  if (await slowHosts.isSlow(tenantId, host, clock.now())) {
    mayGoOn = await slowHosts.takePlace(tenantId, host, clock.now());
    if (!mayGoOn) return undefined;
  }
  const abort = new AbortController();
  let crowded = false;
  let judging: Promise<void> = Promise.resolve();
  const judge = async () => {
    await slowHosts.markSlow(tenantId, host, clock.now() + slowForMs);
    if (mayGoOn || (await slowHosts.takePlace(tenantId, host, clock.now()))) return;
    crowded = true;
    abort.abort(new Error("the receiver is slow, and has other requests to answer"));
  };
  const stopSlow = clock.after(slowAfterMs, () => {
    // Without the table nobody knows that the host is slow, and the try goes on.
    judging = judge().catch(() => {});
  });
  const stopLong = clock.after(tryMs, () => abort.abort(new Error(`no answer within ${tryMs / 1000} s`)));
  try {
    const headers = {
      ...(await signer.sign(tenantId, id, clock.now(), body)),
      "content-type": "application/json",
      "user-agent": "Offload-Webhook/1",
      ...(traceparent !== undefined && { traceparent }),
    };
    const answer = await sender.send({ url, headers, body }, abort.signal);
    return crowded && "error" in answer ? undefined : answer;
  } finally {
    stopSlow();
    stopLong();
    await judging;
  }
}

/** Makes the same try later: longer, the longer the delivery waits already. */
async function putOff(ports: DeliverPorts, delivery: Delivery, expectedTries: number): Promise<void> {
  const now = ports.clock.now();
  const ageSeconds = (now - Date.parse(delivery.next_try_at ?? delivery.created_at)) / 1000;
  const waitSeconds = Math.ceil(10 + ports.random() * Math.min(600, Math.max(20, ageSeconds)));
  const after = { ...delivery, next_try_at: delivery.next_try_at ?? iso(now) };
  if (expectedTries < 0) await ports.deliveries.put(after, expectedTries);
  await ports.notices.send([tryOf(delivery)], waitSeconds);
}

const tryOf = ({ tenant_id, task_id, id, tries }: Delivery): TryNotice => ({
  ...{ kind: "try", tenant_id, task_id, id },
  number: tries.length + 1,
});

/** Sends the message of the next try for its time. */
async function sendNext(ports: DeliverPorts, delivery: Delivery): Promise<void> {
  const dueAt = Date.parse(delivery.next_try_at ?? "");
  const waitSeconds = Math.max(0, Math.ceil((dueAt - ports.clock.now()) / 1000));
  const notice = tryOf(delivery);
  if (waitSeconds <= longestDelaySeconds) return ports.notices.send([notice], waitSeconds);
  const name = `webhook.${delivery.id.slice(4, 36)}.${notice.number}`;
  await ports.oneOffs.create({ name, at: iso(dueAt), payload: { kind: "webhook", notice } });
}

/** Starts the first try of a new series. Repeatable. @throws PortUnavailable when another try is stored at the same time */
export async function redeliver(
  ports: Pick<DeliverPorts, "deliveries" | "notices" | "clock">,
  delivery: Delivery,
): Promise<void> {
  const { tries } = delivery;
  const next_try_at = iso(ports.clock.now());
  const after: Delivery = { ...delivery, state: "pending", series_from: tries.length, next_try_at };
  if (!(await ports.deliveries.put(after, tries.length))) throw new PortUnavailable("the delivery");
  await ports.notices.send([tryOf(after)]);
}

function report({ log, metrics }: DeliverPorts, { state, tries, type, ...delivery }: Delivery, made: Try): void {
  const name = state === "delivered" ? "webhook_delivered" : state === "failed" ? "webhook_failed" : "webhook_retried";
  metrics.add(name, 1, { tier: "normal", type });
  metrics.add("webhook_ms", made.duration_ms, { tier: "normal", type });
  const { tenant_id, task_id, id, url, next_try_at } = delivery;
  log[state === "failed" ? "error" : "info"](`webhook ${state === "pending" ? "is tried again" : state}`, {
    ...{ tenant_id, task_id, type, webhook_id: id },
    // The path and the query of a URL may contain secrets.
    host: new URL(url).host,
    ...{ try: tries.length, outcome: state, status: made.status, error: made.error, duration_ms: made.duration_ms },
    ...(next_try_at !== undefined && { next_try_at }),
  });
}
