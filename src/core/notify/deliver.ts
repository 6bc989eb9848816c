import { ChangedMeanwhile } from "../model/errors.ts";
import { endId } from "../model/idempotency.ts";
import { iso, type TaskKey } from "../model/record.ts";
import { viewTask } from "../pipeline/end/view.ts";
import type { Families } from "../ports/family.ts";
import type { EndNotice, EventBus, Notices, TryNotice, WebhookAnswer } from "../ports/notify.ts";
import type { Clock, Log, Metrics, OneOffs, Random, Records } from "../ports/tasks.ts";
import type { Deliveries, Delivery, Receiver, Receivers, Try } from "../ports/webhooks.ts";
import { noteTry, targetOf } from "./receivers.ts";
import { type SendPorts, sendTry } from "./send-try.ts";

/** Waits before the second and the later tries, in seconds. Each is lengthened by up to a quarter. */
export const waitsSeconds = [5, 30, 120, 600, 1800, 7200, 21_600] as const;

/** Longest `Retry-After` that is heeded, in seconds. */
const longestRetryAfterSeconds = 86_400;

/** The state of a delivery after a try, and the time of the next try. */
export function decideNext(
  { tries, series_from }: Pick<Delivery, "tries" | "series_from">,
  answer: WebhookAnswer,
  { clock, random, timeScale }: { clock: Clock; random: Random; timeScale: number },
): Pick<Delivery, "state" | "next_try_at"> {
  if ("status" in answer && answer.status >= 200 && answer.status < 300) return { state: "delivered" };
  const waitSeconds = waitsSeconds[tries.length - series_from];
  const isFinal = "status" in answer ? answer.status === 410 : answer.refused === true;
  if (isFinal || waitSeconds === undefined) return { state: "failed" };
  const scaled = Math.max(1, Math.ceil(waitSeconds * timeScale * (1 + random() / 4)));
  const asked = ("status" in answer && answer.retryAfterSeconds) || 0;
  const seconds = Math.max(scaled, Math.min(asked, longestRetryAfterSeconds));
  return { state: "pending", next_try_at: iso(clock.now() + seconds * 1000) };
}

export interface DeliverPorts extends SendPorts {
  records: Records;
  families: Families;
  notices: Pick<Notices, "send">;
  oneOffs: Pick<OneOffs, "create">;
  deliveries: Pick<Deliveries, "get" | "put">;
  receivers: Pick<Receivers, "get" | "list" | "put" | "log">;
  /** Absent: the deployment sends no events. */
  eventBus?: EventBus | undefined;
  random: Random;
  /** Multiplies the waits between tries. 1, except when trying things out. */
  timeScale: number;
  log: Log;
  metrics: Metrics;
}

/** A next try that is overdue for this time has lost its message, in milliseconds. */
const overdueMs = 60_000;

/** Deliveries are kept for this time at least, in seconds: longer than all tries of a series. */
const minKeptSeconds = 2 * 86_400;

/** Longest delay of a message in SQS, in seconds. Longer waits are one-offs. */
const longestDelaySeconds = 900;

/** Makes the first try of the webhook of an end, unless it was made already. Without a callback it does nothing. */
export async function deliverEnd(ports: DeliverPorts, notice: EndNotice): Promise<void> {
  const { callback } = notice;
  if (callback === undefined) return;
  await deliverFirst(ports, notice, notice.id, async () => {
    const result = callback.include_result === true ? ((await resultFor(ports, notice)) ?? null) : null;
    return newDelivery(ports, notice, { id: notice.id, url: callback.url }, result);
  });
}

/** Makes the first try of a delivery, unless it was made already. */
export async function deliverFirst(
  ports: DeliverPorts,
  key: TaskKey,
  id: string,
  make: () => Promise<Delivery>,
): Promise<void> {
  const stored = await ports.deliveries.get(key, id);
  if (stored !== undefined) return watch(ports, stored, stored.tries.length);
  await tryOnce(ports, await make(), -1);
}

/** Makes a later try, unless it was made already. */
export async function deliverTry(ports: DeliverPorts, notice: TryNotice): Promise<void> {
  const stored = await ports.deliveries.get(notice, notice.id);
  // The task's retention has ended, and the delivery with it.
  if (stored === undefined) return;
  if (stored.tries.length >= notice.number) return watch(ports, stored, notice.number);
  if (stored.state === "pending") await tryOnce(ports, stored, stored.tries.length);
}

/** The delivery of an end, before its first try. */
export function newDelivery(
  ports: Pick<DeliverPorts, "clock">,
  notice: EndNotice,
  to: Pick<Delivery, "id" | "url" | "receiver_id">,
  result: unknown,
): Delivery {
  const { tenant_id, task_id, type, task, traceparent } = notice;
  const nowIso = iso(ports.clock.now());
  const timestamp = task.finished_at ?? nowIso;
  const retainedUntil = Date.parse(task.retained_until ?? nowIso);
  return {
    ...{ tenant_id, task_id, type, ...to },
    body: JSON.stringify({ type: `task.${task.status}`, timestamp, data: { ...task, result } }),
    ...(traceparent !== undefined && { traceparent }),
    ...{ state: "pending", tries: [], series_from: 0, created_at: nowIso },
    purge_at: Math.ceil(Math.max(retainedUntil, ports.clock.now() + minKeptSeconds * 1000) / 1000),
  };
}

/**
 * The try that a message asked for is stored. If its process died before it sent the message of the next try, nobody
 * else does: so this looks again when the next try is overdue. A message that comes again sends no request.
 */
async function watch(ports: DeliverPorts, delivery: Delivery, number: number): Promise<void> {
  const { state, tries, next_try_at } = delivery;
  if (state !== "pending" || next_try_at === undefined || tries.length > number) return;
  const overdueAt = Date.parse(next_try_at) + overdueMs;
  if (overdueAt <= ports.clock.now()) return sendAt(ports, tryOf(delivery), ports.clock.now());
  const again: TryNotice = { ...tryOf(delivery), number };
  // Without a try, the message of the first one is the one to look for.
  await sendAt(ports, number === 0 ? tryOf(delivery) : again, overdueAt);
}

/** Sends the message of the next try for its time. */
async function sendNextTry(ports: DeliverPorts, delivery: Delivery): Promise<void> {
  if (delivery.state !== "pending" || delivery.next_try_at === undefined) return;
  await sendAt(ports, tryOf(delivery), Date.parse(delivery.next_try_at));
}

/** @param expectedTries Stored tries; -1: the delivery is not stored. */
async function tryOnce(ports: DeliverPorts, given: Delivery, expectedTries: number): Promise<void> {
  const startedAt = ports.clock.now();
  const target = await targetOf(ports, given);
  if ("error" in target) {
    const made = { at: iso(startedAt), duration_ms: 0, error: target.error };
    return finishTry(ports, given, made, { state: "failed" }, expectedTries);
  }
  const { receiver } = target;
  const delivery = { ...given, url: receiver?.url ?? given.url };
  const answer = await sendTry(ports, delivery, receiver);
  if (answer === undefined) return putOff(ports, delivery, expectedTries);
  const made: Try = { at: iso(startedAt), duration_ms: ports.clock.now() - startedAt, ...outcomeOf(answer, receiver) };
  const next = decideNext(delivery, answer, ports);
  await finishTry(ports, delivery, made, next, expectedTries);
  if (receiver !== undefined) await noteTry(ports, receiver, next.state === "delivered");
}

/** The answer as a try keeps it. */
function outcomeOf(answer: WebhookAnswer, receiver: Receiver | undefined): Pick<Try, "status" | "error" | "answer"> {
  if ("error" in answer) return { error: answer.error.slice(0, 300) };
  const { status, text = "" } = answer;
  return { status, ...(receiver !== undefined && text !== "" && { answer: text }) };
}

/** Stores a try, reports it, and sends the message of the next one. */
async function finishTry(
  ports: DeliverPorts,
  { next_try_at: _, put_off_since: __, ...delivery }: Delivery,
  made: Try,
  next: Pick<Delivery, "state" | "next_try_at">,
  expectedTries: number,
): Promise<void> {
  const nextAt = next.next_try_at === undefined ? 0 : Date.parse(next.next_try_at) / 1000;
  const purge_at = Math.max(delivery.purge_at, Math.ceil(nextAt) + minKeptSeconds);
  const after: Delivery = { ...delivery, ...next, purge_at, tries: [...delivery.tries, made] };
  const present = await storedTry(ports, after, expectedTries);
  if (present === undefined) return;
  // A twin of the message has made the try. It may die before it sends the message of the next one.
  if (!isSame(present, after)) return watch(ports, present, after.tries.length);
  report(ports, after, made);
  await sendNextTry(ports, after);
}

/** True when the last try is this one. Twins may begin in the same millisecond, with other answers. */
const isSame = (present: Delivery, { state, tries }: Delivery): boolean => {
  const [last, made] = [present.tries.at(-1), tries.at(-1)];
  return (
    present.state === state &&
    (["at", "duration_ms", "status", "error"] as const).every((name) => last?.[name] === made?.[name])
  );
};

/**
 * Stores a try, unless it is stored. Returns the delivery as it is then: the answer of a first write may have been
 * lost.
 */
async function storedTry({ deliveries }: DeliverPorts, after: Delivery, expectedTries: number) {
  return (await deliveries.put(after, expectedTries)) ? after : deliveries.get(after, after.id);
}

/** Makes the same try later: longer, the longer it waits already. It is kept until then, however long that takes. */
async function putOff(ports: DeliverPorts, delivery: Delivery, expectedTries: number): Promise<void> {
  const now = ports.clock.now();
  const since = Date.parse(delivery.put_off_since ?? iso(now));
  const waitSeconds = Math.ceil(10 + ports.random() * Math.min(600, Math.max(20, (now - since) / 1000)));
  const next_try_at = iso(now + waitSeconds * 1000);
  const purge_at = Math.max(delivery.purge_at, Math.ceil(now / 1000) + waitSeconds + minKeptSeconds);
  const after = { ...delivery, put_off_since: iso(since), next_try_at, purge_at };
  await ports.deliveries.put(after, expectedTries);
  await sendAt(ports, tryOf(after), now + waitSeconds * 1000);
}

/** Sends the message of a try for its time. */
async function sendAt(ports: DeliverPorts, notice: TryNotice, atMs: number): Promise<void> {
  const waitSeconds = Math.max(0, Math.ceil((atMs - ports.clock.now()) / 1000));
  if (waitSeconds <= longestDelaySeconds) return ports.notices.send([notice], waitSeconds);
  const name = `webhook.${notice.id.slice(4, 36)}.${notice.number}.${Math.floor(atMs / 1000)}`;
  await ports.oneOffs.create({ name, at: iso(atMs), payload: { kind: "webhook", notice } });
}

function report({ log, metrics }: DeliverPorts, { state, tries, type, ...delivery }: Delivery, made: Try): void {
  const name = state === "delivered" ? "webhook_delivered" : state === "failed" ? "webhook_failed" : "webhook_retried";
  metrics.add(name, 1, { tier: "normal", type });
  metrics.add("webhook_ms", made.duration_ms, { tier: "normal", type });
  const { tenant_id, task_id, id, url, receiver_id, next_try_at } = delivery;
  log[state === "failed" ? "error" : "info"](`webhook ${state === "pending" ? "is tried again" : state}`, {
    ...{ tenant_id, task_id, type, webhook_id: id },
    ...(receiver_id !== undefined && { receiver_id }),
    // The path and the query of a URL may contain secrets.
    host: new URL(url).host,
    ...{ try: tries.length, outcome: state, duration_ms: made.duration_ms },
    ...(made.error === undefined ? { status: made.status } : { error: made.error }),
    ...(next_try_at !== undefined && { next_try_at }),
  });
}

/**
 * The result of a task that has ended, if the status answer has it: JSON of at most 64 KiB. Undefined: there is none,
 * it is larger or encrypted, or it was deleted since.
 */
export async function resultFor(
  ports: { records: Records; families: Families; clock: Clock },
  notice: EndNotice,
): Promise<unknown> {
  const record = await ports.records.get(notice);
  if (record?.status !== "completed" || endId(record) !== notice.id) return undefined;
  const { result } = await viewTask(ports, record);
  return result ?? undefined;
}

/** The most tries that a delivery may have for a further series. */
export const maxTriesBefore = 50;

export interface RedeliverPorts {
  clock: Clock;
  notices: Pick<Notices, "send">;
  deliveries: Pick<Deliveries, "put">;
}

/** The notice of a delivery's next try. */
const tryOf = ({ tenant_id, task_id, id, tries }: Delivery): TryNotice => ({
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

/** Number of tries to change a delivery whose webhook is tried at the same time. */
const maxTries = 5;

/**
 * Removes the result from the webhooks of a task, so that no later try contains it.
 * @throws ChangedMeanwhile, PortUnavailable
 */
export async function forgetResult(deliveries: Deliveries, key: TaskKey): Promise<void> {
  for (const delivery of await deliveries.ofTask(key)) await forgetIn(deliveries, delivery);
}

async function forgetIn(deliveries: Deliveries, found: Delivery): Promise<void> {
  let delivery: Delivery | undefined = found;
  for (let tries = 0; tries < maxTries && delivery !== undefined; tries++) {
    const body = JSON.parse(delivery.body) as { data: { result: unknown } };
    if (body.data.result === null) return;
    const without = JSON.stringify({ ...body, data: { ...body.data, result: null } });
    if (await deliveries.put({ ...delivery, body: without }, delivery.tries.length)) return;
    delivery = await deliveries.get(found, found.id);
  }
  if (delivery !== undefined) throw new ChangedMeanwhile("the webhook of a task");
}
