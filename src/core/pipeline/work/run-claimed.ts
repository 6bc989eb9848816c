import type { FlowPorts } from "../../extras/limits/index.ts";
import { isRuled } from "../../model/classify.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PermanentError, PortUnavailable, WrittenLater } from "../../model/errors.ts";
import { isOwnName } from "../../model/internal-names.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import { isOwnBug } from "../../model/stack.ts";
import type { SettlePorts } from "../../ports/extra.ts";
import type { Verdict, Visibility } from "../../ports/queues.ts";
import type { Clock, Log, Outgoing, Span, SpanStart, Tracing } from "../../ports/tasks.ts";
import type { Limiter, Permit, Settled, Settling } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { TaskType } from "../../task/task.ts";
import { laterReleaseSeconds, sayLater } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { newestEnvelope } from "../send/kept-input.ts";
import { reportSettled } from "../send/report.ts";
import { type Ended, runAttempt } from "./attempt.ts";
import type { AttemptPorts, Running } from "./attempt-context.ts";
import { resolveUnclaimed } from "./claim.ts";
import { settle } from "./settle.ts";

export interface RunPorts extends FlowPorts, AttemptPorts {
  tracing: Tracing;
  limiter: Limiter<FlowPorts>;
  /** Adds Offload's own types to the registry. Absent: it has them. */
  loadOwnTypes?: () => Promise<void>;
}

/** A message whose task is claimed, so that its attempt can start. */
export interface Claimed extends TaskMessage {
  record: TaskRecord;
  /** Undefined: it needs none. */
  permit: Permit | undefined;
}

/** A message stays hidden this many seconds longer than the lease, so that its next receiver finds the lease ended. */
export const holdMarginSeconds = 5;

const dayMs = 86_400_000;

/** run → settle, as one span of the task's trace. */
export const runClaimed = (ports: RunPorts, visibility: Visibility, message: Claimed): Promise<Verdict> =>
  ports.tracing.span(spanOf(message, message.record), async (span) => {
    const { type, permit } = message;
    const own = { ...ports, log: ports.log.with({ attempt: message.record.attempts }) };
    const notified = extras.changed(own, message.record, "processing");
    const { record, envelope, ended: ran, isAbandoned } = await run(own, visibility, message, span);
    const later = ran.how === "threw" && ran.error instanceof WrittenLater && ran.error;
    const ended = later ? untilLaterRelease(own, later) : ran;
    permit?.handlerEnded();
    const thrown = await lookAt(ports, type, ended);
    await notified;
    const whenStored = permit && { onCompleted: () => permit.settled("completed") };
    const settled = await settleInTime(ports, { record, envelope, type, ...thrown, ...whenStored }, ended);
    endProcessOf(ports, settled, isAbandoned);
    if (settled.as !== "completed") permit?.settled(settled.as);
    if (settled.record !== undefined) await ports.limiter.settled(ports, message, settled.as);
    await keepThroughWait(ports, settled);
    reportSettled(ports, record, settled, type?.sensitive ?? false);
    span.set({ "offload.outcome": settled.as });
    if (settled.as === "failed" || settled.as === "retried") span.fail(settled.record?.error_type ?? "Error");
    return settled.as === "stale" ? resolveUnclaimed(ports, visibility, message, settled.record) : "done";
  });

/** An attempt that needs a form of a later release goes on when that is there, and is not counted. */
function untilLaterRelease(ports: RunPorts, error: WrittenLater): Ended {
  sayLater(ports, error);
  return { how: "suspended", suspension: { dueAt: ports.clock.now() + laterReleaseSeconds(ports) * 1000 } };
}

/**
 * Keeps what the attempt has read, for a task that waits for days before its next attempt, which may fail before it
 * reads anything. An attempt that is suspended, or waits for children, has kept its own.
 */
async function keepThroughWait(ports: RunPorts, { as, record }: Settled): Promise<void> {
  const isLong = as === "retried" && (record?.due_at ?? "") > iso(ports.clock.now() + dayMs);
  if (isLong && record !== undefined) await extras.keepRead(ports, record, record.purge_at);
}

/** Ends the process of a handler that goes on after a cancel `now`. */
function endProcessOf({ endProcess }: RunPorts, { as, record }: Settled, goesOn = false): void {
  if (goesOn && as === "cancelled" && record?.cancel_now) endProcess?.();
}

/** The stack of what the author's code threw, and if that is a bug of it, of which the type's own rules say nothing. */
async function lookAt(
  { stackOf }: RunPorts,
  type: TaskType | undefined,
  ended: Ended,
): Promise<Pick<Settling, "stack" | "isOwnBug">> {
  if (ended.how !== "threw" || ended.own === true) return {};
  const { error } = ended;
  const stack = type?.sensitive === false ? await stackOf(error) : undefined;
  const isBug = !isRuled(error, type?.classify ?? []) && (await isOwnBug(error, stackOf));
  return { stack, isOwnBug: isBug };
}

/** An attempt that has run. */
interface Ran extends Pick<Claimed, "record" | "envelope"> {
  ended: Ended;
  /** True: its handler goes on. */
  isAbandoned?: boolean;
}

/** Runs the attempt with the newest input, whose message stands for the task from then on. */
async function run(ports: RunPorts, visibility: Visibility, message: Claimed, span: Span): Promise<Ran> {
  const { envelope, type, record } = message;
  const { fault } = message.permit ?? {};
  if (fault !== undefined) return { record, envelope, ended: { how: "threw", error: fault } };
  if (type === undefined) return { record, envelope, ended: endOfUnknown(ports, record) };
  let newest: Envelope;
  let current = record;
  try {
    newest = await newestEnvelope(ports, record, envelope);
    if (record.collects !== undefined && record.input_part === undefined) {
      const gathered = await (await import("./intake.ts")).gather(ports, record, message.permit);
      // An empty list has nothing for the handler.
      if (gathered === undefined) return { record, envelope, ended: { how: "returned", packed: { inline: null } } };
      ({ record: current, envelope: newest } = gathered);
      const { fault } = gathered;
      if (fault !== undefined) return { record: current, envelope: newest, ended: { how: "threw", error: fault } };
    }
  } catch (error) {
    return { record, envelope, ended: { how: "threw", error } };
  }
  const running = runningOf(visibility, { ...message, record: current, envelope: newest }, type, span);
  let isAbandoned = false;
  const onAbandoned = () => {
    isAbandoned = true;
  };
  const ended = await runAttempt(ports, { ...running, onAbandoned });
  // A suspended handler waits for ever, and does nothing.
  return { record: current, envelope: newest, ended, isAbandoned: isAbandoned && ended.how !== "suspended" };
}

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
  visibility: Visibility,
  { delivery, envelope, record, permit }: Claimed,
  type: TaskType,
  { traceparent }: Span,
): Running => ({
  record,
  envelope,
  type,
  traceparent,
  renewMessage: async (seconds) => {
    await permit?.renew(record, type);
    await visibility.renew(delivery, seconds + holdMarginSeconds);
  },
});

/** Settling is tried for this time, in seconds, while a port is unavailable: the work of the attempt would be lost. */
const settleSeconds = 30;

/** Pause before settling is tried a third time, and before each later try, in milliseconds. */
const settlePauseMs = 1_000;

/** Settles an attempt, for some time also while a port is unavailable. @throws PortUnavailable */
async function settleInTime(ports: SettlePorts, settling: Settling, ended: Ended): Promise<Settled> {
  const untilMs = ports.clock.now() + settleSeconds * 1000;
  for (let tries = 1; ; tries++) {
    try {
      return await settle(ports, settling, ended);
    } catch (error) {
      if (!(error instanceof PortUnavailable) || ports.clock.now() >= untilMs) throw error;
      if (tries > 1) await new Promise<void>((resolve) => ports.clock.after(settlePauseMs, resolve));
    }
  }
}

/**
 * For this time a task waits for a worker that knows its type, in milliseconds: during a deployment, the API may know a
 * type before every worker does.
 */
export const graceMs = 90_000;

/** For this time an operation that a later release knows waits for it, in milliseconds. */
const rolledBackMs = 14 * 86_400_000;

const shortestWaitMs = 2_000;
const longestWaitMs = 20_000;

/**
 * The end of an attempt whose worker does not know the task's type. A task that was accepted a short time ago is put
 * back, and that attempt is not counted; later, it fails. The task's log and its status say why it waits.
 */
function endOfUnknown({ clock, log }: { clock: Clock; log: Log }, record: TaskRecord): Ended {
  const { type, created_at, run_at, task_id, tenant_id } = record;
  const nowMs = clock.now();
  const runMs = run_at === undefined ? 0 : Date.parse(run_at);
  // A start that is to come was brought forward: its time says nothing about how long the type has been unknown.
  const ageMs = nowMs - Math.max(Date.parse(created_at), runMs <= nowMs ? runMs : 0);
  if (isOwnName(type) && ageMs < rolledBackMs) return { how: "threw", error: new WrittenLater("an own task type") };
  if (ageMs >= graceMs) {
    return { how: "threw", error: new PermanentError(`no task type is named ${JSON.stringify(type)}`) };
  }
  const waitMs = Math.min(longestWaitMs, Math.max(shortestWaitMs, ageMs / 2));
  const waits = "no worker knows the task's type yet; the task waits, and fails if the type was removed";
  log.warn(waits, { task_id, tenant_id, type, wait_seconds: Math.ceil(waitMs / 1000) });
  const fault = { error: waits, error_type: "UnknownTaskType", error_kind: "unavailable" } as const;
  return { how: "suspended", suspension: { dueAt: nowMs + waitMs, fault } };
}

/**
 * The message that is sent in place of a received one. It has no receives: after too many of them, redrive would make a
 * dead letter of it.
 */
export const sentAgain = (
  { delivery, envelope, ticket }: Pick<TaskMessage, "delivery" | "envelope" | "ticket">,
  { delaySeconds = 0, solo = delivery.solo }: { delaySeconds?: number; solo?: boolean } = {},
): Outgoing => {
  const { tier, runsOn, redrives } = delivery;
  return { tier, runsOn, envelope, delaySeconds, solo, redrives, ...(ticket && { ticket }) };
};
