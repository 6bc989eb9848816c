import { type AttemptPorts, leaseSeconds, type Running, runAttempt } from "./attempt.ts";
import type { Changed } from "./change.ts";
import { bornBy, type Envelope, parseEnvelope } from "./envelope.ts";
import { PermanentError, PortUnavailable } from "./errors.ts";
import type { Delivery, Log } from "./ports.ts";
import { isKept, iso, type TaskRecord } from "./record.ts";
import { taskFields, tellChanged, tellDuplicate, tellSettled, tellStarted } from "./report.ts";
import {
  dispatchAgain,
  followUp,
  keptAs,
  retention,
  type Settled,
  type SettlePorts,
  settle,
  settleCrashed,
} from "./settle.ts";
import { isTerminal } from "./status.ts";
import type { Registry, TaskType } from "./task.ts";
import { type SpanStart, type Tracing, traceIdOf } from "./tracing.ts";

export interface WorkPorts extends SettlePorts, AttemptPorts {
  registry: Registry;
  tracing: Tracing;
}

/** What becomes of a message: `done` is acknowledged, `again` is handed out once more. */
export type Verdict = "done" | "again";

/** What a type that the registry does not have gets as its time-out, in seconds. */
const unknownTimeoutSeconds = 30;

/** What settling and answering may take after an attempt's time-out, in seconds. */
export const settleReserveSeconds = 15;

/** A message stays hidden this much longer than the lease, so that whoever gets it next finds the lease ended. */
const holdMarginSeconds = 5;

/**
 * Works on a batch of one tier's messages and gives each its verdict, in their order; one's fate never decides another's.
 * Messages of tasks that took a worker down run alone, after the rest.
 * @param deadlineMs Epoch milliseconds at which this worker is stopped.
 */
export async function workBatch(
  ports: WorkPorts,
  deliveries: readonly Delivery[],
  deadlineMs: number,
): Promise<Verdict[]> {
  const verdicts = new Map<Delivery, Verdict>();
  const readable = await readAll(ports, deliveries, verdicts);
  const starting = await startable(ports, readable, deadlineMs, verdicts);
  await hold(ports, starting);
  const together = starting.filter((one) => !one.delivery.solo);
  // Everything is claimed before anything runs: a handler that takes this process down must not cost a neighbour more.
  const begun = await Promise.all(together.map((one) => begin(ports, one)));
  await Promise.all(begun.map(async (one) => verdicts.set(one.delivery, await finish(ports, one))));
  for (const one of starting.filter((one) => one.delivery.solo)) {
    const fits = fitsIn(ports, one, deadlineMs);
    if (fits) await hold(ports, [one]);
    verdicts.set(one.delivery, fits ? await finish(ports, await begin(ports, one)) : "again");
  }
  return deliveries.map((delivery) => verdicts.get(delivery) ?? "again");
}

/** A message that was read, with its task's type. */
interface Readable {
  delivery: Delivery;
  envelope: Envelope;
  type: TaskType | undefined;
}

const timeoutOf = (one: Readable) => one.type?.timeoutSeconds ?? unknownTimeoutSeconds;

/** Reads every message; one that is no envelope goes to the DLQ at once, whole. */
async function readAll(
  ports: WorkPorts,
  deliveries: readonly Delivery[],
  verdicts: Map<Delivery, Verdict>,
): Promise<Readable[]> {
  const readable: Readable[] = [];
  for (const delivery of deliveries) {
    const parsed = parseEnvelope(delivery.body);
    if (parsed.ok) {
      readable.push({ delivery, envelope: parsed.envelope, type: ports.registry.get(parsed.envelope.type) });
    } else {
      verdicts.set(delivery, await burySafely(ports, delivery, parsed.reason));
    }
  }
  return readable;
}

/** A DLQ that will not have the message, as when it is too long once wrapped, must not stop its neighbours. */
const burySafely = (ports: WorkPorts, delivery: Delivery, reason: string): Promise<Verdict> =>
  buryUnreadable(ports, delivery, reason).catch((error: unknown) => {
    ports.log.error("an unreadable message could not be buried", {
      message_id: delivery.messageId,
      error: String(error),
    });
    return "again";
  });

/** Sends a message that nobody can read to its tier's DLQ. */
export async function buryUnreadable(ports: SettlePorts, delivery: Delivery, reason: string): Promise<Verdict> {
  const now = iso(ports.clock.now());
  const letter = {
    original_message: delivery.body,
    failure_reason: reason,
    failure_type: "UnreadableMessage",
    failure_kind: "validation",
    attempt_count: 0,
    first_failed_at: now,
    last_failed_at: now,
    original_queue: delivery.tier,
  };
  try {
    await ports.queues.bury(delivery.tier, letter, delivery.tenantId);
  } catch (error) {
    return againWhenUnavailable(error);
  }
  ports.metrics.add("dead_lettered", 1, { tier: delivery.tier, type: "unreadable" });
  const { messageId: message_id, tier: queue } = delivery;
  ports.log.error("unreadable message went to the DLQ", {
    message_id,
    queue,
    outcome: "failed",
    error_kind: "validation",
  });
  return "done";
}

/** What to do with a message when something did not work: it comes again if a port was down. */
export function againWhenUnavailable(error: unknown): Verdict {
  if (error instanceof PortUnavailable) return "again";
  throw error;
}

const fitsIn = (ports: WorkPorts, one: Readable, deadlineMs: number): boolean =>
  ports.clock.now() + (timeoutOf(one) + settleReserveSeconds) * 1000 <= deadlineMs;

/** Leaves out what would not be finished in the time that is left, and gives it back at once. */
async function startable(
  ports: WorkPorts,
  readable: readonly Readable[],
  deadlineMs: number,
  verdicts: Map<Delivery, Verdict>,
): Promise<Readable[]> {
  const late = readable.filter((one) => !fitsIn(ports, one, deadlineMs));
  for (const one of late) verdicts.set(one.delivery, "again");
  await holdFor(ports, late, () => 0);
  return readable.filter((one) => !late.includes(one));
}

const hold = (ports: WorkPorts, readable: readonly Readable[]) =>
  holdFor(ports, readable, (one) => leaseSeconds(timeoutOf(one)) + holdMarginSeconds);

/** Hides messages; when that fails they come back after the queue's own time, which costs time and nothing else. */
async function holdFor(
  ports: WorkPorts,
  readable: readonly Readable[],
  seconds: (one: Readable) => number,
): Promise<void> {
  const first = readable[0];
  if (first === undefined) return;
  const holds = readable.map((one) => ({ receiptHandle: one.delivery.receiptHandle, seconds: seconds(one) }));
  await ports.queues.hold(first.delivery.tier, holds).catch((error: unknown) => {
    ports.log.warn("messages could not be held", { error: String(error) });
  });
}

/** A message with a log of its own, and what came of it so far: a verdict, or a record that is claimed for an attempt. */
interface Begun extends Readable {
  log: Log;
  so: Verdict | TaskRecord;
}

/** Claims one message's task, or does what is to be done where there is nothing to claim. */
async function begin(ports: WorkPorts, one: Readable): Promise<Begun> {
  const { envelope } = one;
  const trace_id = traceIdOf(envelope.traceparent);
  const log = ports.log.with({
    task_id: envelope.task_id,
    message_id: envelope.message_id,
    tenant_id: envelope.tenant_id,
    type: envelope.type,
    queue: one.delivery.tier,
    correlation_id: envelope.correlation_id,
    ...(trace_id === undefined ? {} : { trace_id }),
  });
  const so = await safely(log, async () => {
    const claimed = await claim(ports, one);
    if (!claimed.done) return resolveUnclaimed({ ...ports, log }, one, claimed.record);
    tellStarted({ ...ports, log: log.with({ attempt: claimed.record.attempts }) }, claimed.record);
    return claimed.record;
  });
  return { ...one, log, so };
}

/** Runs and settles what was claimed. */
const finish = async (ports: WorkPorts, { so, log, ...one }: Begun): Promise<Verdict> =>
  typeof so === "string" ? so : safely(log, () => attempt({ ...ports, log }, one, so));

/** Whatever is thrown leaves the message in the queue and the rest of the batch alone. */
async function safely<T>(log: Log, step: () => Promise<T>): Promise<T | "again"> {
  try {
    return await step();
  } catch (error) {
    log.error("the message could not be worked on", { error: String(error) });
    return "again";
  }
}

/** run → settle, as one span of the task's trace. */
const attempt = (ports: WorkPorts, one: Readable, record: TaskRecord): Promise<Verdict> =>
  ports.tracing.span(spanOf(one, record), async (span) => {
    const { envelope, type } = one;
    const log = ports.log.with({ attempt: record.attempts });
    const ended =
      type === undefined
        ? { how: "threw" as const, error: new PermanentError(`no task type is named ${JSON.stringify(envelope.type)}`) }
        : await runAttempt({ ...ports, log }, runningOf(ports, one, record, type, span.traceparent));
    const settled = await settle(ports, { record, envelope, type }, ended);
    tellSettled(ports, record, settled, type?.sensitive ?? false);
    span.set({ "offload.outcome": settled.as });
    if (settled.as === "failed" || settled.as === "retried") span.fail(settled.record?.error_type ?? "Error");
    return settled.as === "stale" ? resolveUnclaimed(ports, one, settled.record) : "done";
  });

const spanOf = ({ envelope, delivery }: Readable, record: TaskRecord): SpanStart => ({
  name: `task ${record.type}`,
  kind: "consumer",
  traceparent: envelope.traceparent,
  attributes: {
    "offload.task_id": record.task_id,
    "offload.tenant_id": record.tenant_id,
    "offload.type": record.type,
    "offload.queue": delivery.tier,
    "offload.attempt": record.attempts,
    "offload.correlation_id": record.correlation_id,
  },
});

const runningOf = (
  ports: WorkPorts,
  one: Readable,
  record: TaskRecord,
  type: TaskType,
  traceparent: string | undefined,
): Running => ({
  record,
  envelope: one.envelope,
  type,
  traceparent,
  renewMessage: (seconds) =>
    ports.queues.hold(one.delivery.tier, [
      { receiptHandle: one.delivery.receiptHandle, seconds: seconds + holdMarginSeconds },
    ]),
});

/** One conditional update makes the attempt this worker's, whatever else is under way. */
function claim(ports: WorkPorts, one: Readable): Promise<Changed> {
  const now = ports.clock.now();
  return ports.records.change(one.envelope, {
    when: {
      status: { is: "pending" },
      type: { is: one.envelope.type },
      due_at: { atMost: iso(now) },
      start_by: { above: iso(now), orAbsent: true },
      purge_at: { above: Math.floor(now / 1000) },
      created_at: { atMost: bornBy(one.envelope) },
    },
    set: {
      status: "processing",
      started_at: iso(now),
      updated_at: iso(now),
      lease_until: iso(now + leaseSeconds(timeoutOf(one)) * 1000),
    },
    add: { attempts: 1, attempts_total: 1 },
    remove: ["start_by", "progress"],
  });
}

/** What a message means whose task could not be claimed. */
async function resolveUnclaimed(ports: WorkPorts, one: Readable, record: TaskRecord | undefined): Promise<Verdict> {
  const now = ports.clock.now();
  const { envelope, delivery } = one;
  if (record === undefined || !isKept(record, now) || !isOf(envelope, record)) {
    ports.log.warn("message of no task dropped", { outcome: "skipped_unknown" });
    return "done";
  }
  if (isTerminal(record.status)) {
    await followUp(ports, record, envelope);
    tellDuplicate(ports, record, "message of a finished task dropped");
    return "done";
  }
  if (record.status === "processing") return resolveProcessing(ports, one, record);
  if (record.start_by !== undefined && record.start_by <= iso(now)) return expire(ports, record);
  if (record.due_at > iso(now)) {
    await dispatchAgain(ports, record, envelope, delivery.redrives);
    return "done";
  }
  return "again";
}

/** Whether a message is the record's own: neither of an earlier task of that id, nor by somebody who named another type. */
const isOf = (envelope: Envelope, record: TaskRecord): boolean =>
  record.created_at <= bornBy(envelope) && record.type === envelope.type;

/** A live lease: the message waits for its end. An ended one: that attempt crashed. */
async function resolveProcessing(ports: WorkPorts, one: Readable, record: TaskRecord): Promise<Verdict> {
  const leftMs = Date.parse(record.lease_until ?? record.updated_at) - ports.clock.now();
  if (leftMs >= 0) {
    const seconds = Math.ceil(leftMs / 1000) + 1;
    await ports.queues.hold(one.delivery.tier, [{ receiptHandle: one.delivery.receiptHandle, seconds }]);
    tellDuplicate(ports, record, "message put back behind a live lease");
    return "again";
  }
  const settled = await settleCrashed(ports, { record, envelope: one.envelope, type: one.type });
  tellCrashed(ports, record, settled);
  return settled.as === "stale" ? "again" : "done";
}

/** Tells of an attempt whose worker died. */
export const tellCrashed = (ports: SettlePorts, record: TaskRecord, settled: Settled): void =>
  // The error is Offload's own, and quotes nothing.
  tellSettled({ ...ports, log: ports.log.with(taskFields(record)) }, record, settled, false);

/** Ends a task that did not start in time. */
export async function expire(ports: SettlePorts, record: TaskRecord): Promise<Verdict> {
  const now = iso(ports.clock.now());
  const changed = await ports.records.change(record, {
    when: { status: { is: "pending" }, attempts_total: { is: 0 }, start_by: { atMost: now }, ...keptAs(record) },
    set: { status: "expired", updated_at: now, finished_at: now, ...retention(ports, record) },
  });
  if (changed.done) tellChanged(ports, changed.record, "expired");
  return "done";
}
