import { type AttemptPorts, type Running, runAttempt } from "./attempt.ts";
import { buryUnreadable } from "./bury.ts";
import { claim, resolveUnclaimed, type TaskMessage, timeoutOf } from "./claim.ts";
import { parseEnvelope } from "./envelope.ts";
import { PermanentError } from "./errors.ts";
import { leaseSeconds } from "./lease.ts";
import type { Delivery, Log, SpanStart, Tracing } from "./ports.ts";
import type { TaskRecord } from "./record.ts";
import { reportSettled, reportStarted } from "./report.ts";
import { type SettlePorts, settle } from "./settle.ts";
import type { Registry, TaskType } from "./task.ts";
import { traceIdOf } from "./tracing.ts";
import type { Verdict } from "./verdict.ts";

export interface WorkPorts extends SettlePorts, AttemptPorts {
  registry: Registry;
  tracing: Tracing;
}

/** Time in seconds that settling and answering may take after an attempt's time-out. */
export const settleReserveSeconds = 15;

/** A message stays hidden this many seconds longer than the lease, so that its next receiver finds the lease ended. */
const holdMarginSeconds = 5;

/** The verdict on one delivery of a batch. */
type Answer = readonly [Delivery, Verdict];

/**
 * Works on a batch of one tier's messages. Returns a verdict for each, in their order; no message changes another's verdict.
 * Messages of tasks whose last attempt crashed run alone, after the rest.
 * @param deadlineMs Epoch milliseconds at which this worker is stopped.
 */
export async function workBatch(
  ports: WorkPorts,
  deliveries: readonly Delivery[],
  deadlineMs: number,
): Promise<Verdict[]> {
  const { messages, unreadable } = await readAll(ports, deliveries);
  const [starting, late] = partition(messages, (message) => fitsIn(ports, message, deadlineMs));
  await holdFor(ports, late, () => 0);
  await hold(ports, starting);
  const [alone, together] = partition(starting, ({ delivery }) => delivery.solo);
  const verdicts = new Map<Delivery, Verdict>([
    ...unreadable,
    ...late.map(({ delivery }): Answer => [delivery, "again"]),
    ...(await workTogether(ports, together)),
    ...(await workAlone(ports, alone, deadlineMs)),
  ]);
  return deliveries.map((delivery) => verdicts.get(delivery) ?? "again");
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [passing: T[], failing: T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}

/** Parses each message. One that is not an envelope goes to the DLQ immediately, whole. */
async function readAll(ports: WorkPorts, deliveries: readonly Delivery[]) {
  const messages: TaskMessage[] = [];
  const unreadable: Answer[] = [];
  for (const delivery of deliveries) {
    const parsed = parseEnvelope(delivery.body);
    if (parsed.ok) {
      messages.push({ delivery, envelope: parsed.envelope, type: ports.registry.get(parsed.envelope.type) });
    } else {
      unreadable.push([delivery, await burySafely(ports, delivery, parsed.reason)]);
    }
  }
  return { messages, unreadable };
}

/** A DLQ that refuses the message, for example because it is too long once wrapped, must not stop the other messages. */
const burySafely = (ports: WorkPorts, delivery: Delivery, reason: string): Promise<Verdict> =>
  buryUnreadable(ports, delivery, reason).catch((error: unknown) => {
    ports.log.error("could not send an unreadable message to the DLQ", {
      message_id: delivery.messageId,
      error: String(error),
    });
    return "again";
  });

/** True when an attempt with its full time-out ends before the worker is stopped. */
const fitsIn = (ports: WorkPorts, message: TaskMessage, deadlineMs: number): boolean =>
  ports.clock.now() + (timeoutOf(message) + settleReserveSeconds) * 1000 <= deadlineMs;

const hold = (ports: WorkPorts, messages: readonly TaskMessage[]) =>
  holdFor(ports, messages, (message) => leaseSeconds(timeoutOf(message)) + holdMarginSeconds);

/** Hides messages. If that fails, they come back after the queue's own visibility time-out; that costs time only. */
async function holdFor(
  ports: WorkPorts,
  messages: readonly TaskMessage[],
  seconds: (message: TaskMessage) => number,
): Promise<void> {
  const first = messages[0];
  if (first === undefined) return;
  const holds = messages.map((message) => ({
    receiptHandle: message.delivery.receiptHandle,
    seconds: seconds(message),
  }));
  await ports.queues.hold(first.delivery.tier, holds).catch((error: unknown) => {
    ports.log.warn("could not change the visibility of messages", { error: String(error) });
  });
}

/** Claims every task before any handler runs: a handler that kills this process must cost the other tasks no attempt more. */
async function workTogether(ports: WorkPorts, messages: readonly TaskMessage[]): Promise<Answer[]> {
  const begun = await Promise.all(messages.map((message) => begin(ports, message)));
  return Promise.all(begun.map(async (one): Promise<Answer> => [one.delivery, await finish(ports, one)]));
}

async function workAlone(ports: WorkPorts, messages: readonly TaskMessage[], deadlineMs: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const message of messages) {
    const fits = fitsIn(ports, message, deadlineMs);
    if (fits) await hold(ports, [message]);
    answers.push([message.delivery, fits ? await finish(ports, await begin(ports, message)) : "again"]);
  }
  return answers;
}

/** A message with its own log. Its task is claimed for an attempt, or its verdict is known already. */
type Begun = TaskMessage & { log: Log } & (
    | { as: "claimed"; record: TaskRecord }
    | { as: "resolved"; verdict: Verdict }
  );

async function begin(ports: WorkPorts, message: TaskMessage): Promise<Begun> {
  const log = ports.log.with(messageFields(message));
  try {
    const claimed = await claim(ports, message);
    if (!claimed.done) {
      const verdict = await resolveUnclaimed({ ...ports, log }, message, claimed.record);
      return { ...message, log, as: "resolved", verdict };
    }
    reportStarted({ ...ports, log: log.with({ attempt: claimed.record.attempts }) }, claimed.record);
    return { ...message, log, as: "claimed", record: claimed.record };
  } catch (error) {
    return { ...message, log, as: "resolved", verdict: leaveInQueue(log, error) };
  }
}

/** Runs and settles a claimed task. */
async function finish(ports: WorkPorts, begun: Begun): Promise<Verdict> {
  if (begun.as === "resolved") return begun.verdict;
  try {
    return await attempt({ ...ports, log: begun.log }, begun, begun.record);
  } catch (error) {
    return leaveInQueue(begun.log, error);
  }
}

/** An error leaves its message in the queue and the rest of the batch alone. */
function leaveInQueue(log: Log, error: unknown): Verdict {
  log.error("could not work on a message; it is delivered again", { error: String(error) });
  return "again";
}

function messageFields({ envelope, delivery }: TaskMessage) {
  const trace_id = traceIdOf(envelope.traceparent);
  return {
    task_id: envelope.task_id,
    message_id: envelope.message_id,
    tenant_id: envelope.tenant_id,
    type: envelope.type,
    tier: delivery.tier,
    correlation_id: envelope.correlation_id,
    ...(trace_id === undefined ? {} : { trace_id }),
  };
}

/** run → settle, as one span of the task's trace. */
const attempt = (ports: WorkPorts, message: TaskMessage, record: TaskRecord): Promise<Verdict> =>
  ports.tracing.span(spanOf(message, record), async (span) => {
    const { envelope, type } = message;
    const log = ports.log.with({ attempt: record.attempts });
    const ended =
      type === undefined
        ? { how: "threw" as const, error: new PermanentError(`no task type is named ${JSON.stringify(envelope.type)}`) }
        : await runAttempt({ ...ports, log }, runningOf(ports, message, record, type, span.traceparent));
    const settled = await settle(ports, { record, envelope, type }, ended);
    reportSettled(ports, record, settled, type?.sensitive ?? false);
    span.set({ "offload.outcome": settled.as });
    if (settled.as === "failed" || settled.as === "retried") span.fail(settled.record?.error_type ?? "Error");
    return settled.as === "stale" ? resolveUnclaimed(ports, message, settled.record) : "done";
  });

const spanOf = ({ envelope, delivery }: TaskMessage, record: TaskRecord): SpanStart => ({
  name: `task ${record.type}`,
  kind: "consumer",
  traceparent: envelope.traceparent,
  attributes: {
    "offload.task_id": record.task_id,
    "offload.tenant_id": record.tenant_id,
    "offload.type": record.type,
    "offload.tier": delivery.tier,
    "offload.attempt": record.attempts,
    "offload.correlation_id": record.correlation_id,
  },
});

const runningOf = (
  ports: WorkPorts,
  { delivery: { tier, receiptHandle }, envelope }: TaskMessage,
  record: TaskRecord,
  type: TaskType,
  traceparent: string | undefined,
): Running => ({
  record,
  envelope,
  type,
  traceparent,
  renewMessage: (seconds) => ports.queues.hold(tier, [{ receiptHandle, seconds: seconds + holdMarginSeconds }]),
});
