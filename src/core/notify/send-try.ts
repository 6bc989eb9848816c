import type { WebhookAnswer, WebhookSender } from "../ports/notify.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Delivery, Receiver, SlowHosts } from "../ports/webhooks.ts";

/** Signs the headers of a try. */
export interface WebhookSigner {
  /**
   * @param receiver Signs with this receiver's secrets. Default: with the tenant's.
   * @returns `webhook-id`, `webhook-timestamp` and `webhook-signature`
   * @throws PortUnavailable
   */
  sign(tenantId: string, id: string, nowMs: number, body: string, receiver?: Receiver): Promise<Record<string, string>>;
}

export interface SendPorts {
  clock: Clock;
  slowHosts: SlowHosts;
  sender: WebhookSender;
  signer: WebhookSigner;
}

/** Longest time of one try, in milliseconds: contract of `docs/webhooks.md`. */
const tryMs = 10_000;

/**
 * Sends the request of a try. A request to a host that is known as slow, or that has no answer after a second, needs a
 * permit, which it gives back at its end. An answer within a second ends the slowness: one late answer does not hold up
 * those after it. Once slow hosts have taken all permits of a tenant, each of its requests needs one for a while, as
 * hosts that nobody knows yet may hang as well.
 * @returns undefined when the request needs a permit, and there is none
 */
export async function sendTry(
  ports: SendPorts,
  { tenant_id: tenantId, id, url, body, traceparent }: Delivery,
  receiver: Receiver | undefined,
): Promise<WebhookAnswer | undefined> {
  const { clock, slowHosts, signer } = ports;
  const of: Host = { tenantId, host: new URL(url).host };
  const [isSlow, isCrowded] = await slowHosts.areSlow(tenantId, [of.host, allHosts], clock.now());
  const takenMs = isSlow || isCrowded ? await acquirePermits(ports, of) : undefined;
  if ((isSlow || isCrowded) && takenMs === undefined) return undefined;
  // Before the timers: a slow key store is not a slow receiver.
  const headers = {
    ...(await signer.sign(tenantId, id, clock.now(), body, receiver)),
    "content-type": "application/json",
    "user-agent": "Offload-Webhook/1",
    ...(traceparent !== undefined && { traceparent }),
  };
  const { answer, wasSlow, permitMs } = await sendWithin(ports, of, { url, headers, body }, takenMs);
  if (permitMs !== undefined) await releasePermits(ports, of, permitMs);
  if (isSlow && !wasSlow && answer !== undefined && "status" in answer) {
    await slowHosts.markSlow(tenantId, of.host, clock.now());
  }
  return answer;
}

interface Sent {
  /** Undefined: the host is slow and had no permit. */
  answer: WebhookAnswer | undefined;
  /** True: there was no answer after a second. */
  wasSlow: boolean;
  /** Time at which the request's permits were taken, in epoch milliseconds. Undefined: it has none. */
  permitMs: number | undefined;
}

async function sendWithin(
  ports: SendPorts,
  of: Host,
  request: Parameters<WebhookSender["send"]>[0],
  takenMs: number | undefined,
): Promise<Sent> {
  const { clock, slowHosts, sender } = ports;
  const abort = new AbortController();
  const sent = { wasSlow: false, permitMs: takenMs, crowded: false };
  const judge = async () => {
    await slowHosts.markSlow(of.tenantId, of.host, clock.now() + slowForMs);
    sent.permitMs ??= await acquirePermits(ports, of);
    if (sent.permitMs !== undefined) return;
    sent.crowded = true;
    abort.abort(new Error("the receiver is slow, and has other requests to answer"));
  };
  let judging: Promise<void> = Promise.resolve();
  const stopSlow = clock.after(slowAfterMs, () => {
    sent.wasSlow = true;
    // Without the table nobody knows that the host is slow, and the try goes on.
    judging = judge().catch(() => {});
  });
  const stopLong = clock.after(tryMs, () => abort.abort(new Error(`no answer within ${tryMs / 1000} s`)));
  try {
    const answer = await sender.send(request, abort.signal);
    // A request that ends while it is judged keeps its answer.
    await judging;
    return { ...sent, answer: sent.crowded && "error" in answer ? undefined : answer };
  } finally {
    stopSlow();
    stopLong();
  }
}

/** A receiver that has not answered after this time is slow, in milliseconds. */
export const slowAfterMs = 1_000;

/** Time for which a host stays known as slow, in milliseconds. */
export const slowForMs = 60_000;

/**
 * Permits for requests under way to one slow host, and to all slow hosts of a tenant. The permits of a tenant are a
 * third of the 40 invocations that send webhooks at the same time, each of which waits for the slowest of its requests.
 */
const hostPermits = 10;
const tenantPermits = 13;

/** Name under which the permits of a tenant are counted. It is slow when all of them were taken. No host has it. */
export const allHosts = "*";

/** Ports of permits. */
export interface PermitPorts {
  clock: Clock;
  slowHosts: SlowHosts;
}

/** A host of a tenant. */
export interface Host {
  tenantId: string;
  host: string;
}

/**
 * Acquires a permit of a slow host, and one of its tenant, whose hosts may be many names of one receiver. Returns when,
 * in epoch milliseconds.
 */
export async function acquirePermits(
  { slowHosts, clock }: PermitPorts,
  { tenantId, host }: Host,
): Promise<number | undefined> {
  const nowMs = clock.now();
  if (!(await slowHosts.acquirePermit(tenantId, host, nowMs, hostPermits))) return undefined;
  if (await slowHosts.acquirePermit(tenantId, allHosts, nowMs, tenantPermits)) return nowMs;
  await slowHosts.releasePermit(tenantId, host, nowMs);
  await slowHosts.markSlow(tenantId, allHosts, nowMs + slowForMs);
  return undefined;
}

export async function releasePermits(
  { slowHosts }: PermitPorts,
  { tenantId, host }: Host,
  takenMs: number,
): Promise<void> {
  // The permits of a process that dies come back with the next interval, and so do those that cannot be given back now.
  await Promise.allSettled([
    slowHosts.releasePermit(tenantId, host, takenMs),
    slowHosts.releasePermit(tenantId, allHosts, takenMs),
  ]);
}
