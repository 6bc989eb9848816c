import { type Ended, runAttempt } from "./attempt.ts";
import type { AttemptPorts, Running } from "./attempt-context.ts";
import { beginSeconds } from "./batch-plan.ts";
import { claim, mustRunAlone, resolveUnclaimed, type TaskMessage } from "./claim.ts";
import type { Envelope } from "./envelope.ts";
import { PermanentError, PortUnavailable } from "./errors.ts";
import { newestEnvelope } from "./newest-envelope.ts";
import type { Log, NewId, SpanStart, Tracing } from "./ports.ts";
import type { TaskRecord } from "./record.ts";
import { reportSettled, reportStarted } from "./report.ts";
import { type SettlePorts, settle } from "./settle.ts";
import type { Settled, Settling } from "./settled.ts";
import type { StackOf } from "./stack.ts";
import { keepThroughWait } from "./steps/keep-entries.ts";
import type { Registry, TaskType } from "./task.ts";
import { tellChange } from "./tell.ts";
import { traceIdOf } from "./tracing.ts";
import type { Verdict } from "./verdict.ts";
import type { Visibility } from "./visibility.ts";
import { within } from "./within.ts";

export interface WorkPorts extends SettlePorts, AttemptPorts {
  registry: Registry;
  tracing: Tracing;
  newId: NewId;
  stackOf: StackOf;
}

/** A message stays hidden this many seconds longer than the lease, so that its next receiver finds the lease ended. */
export const holdMarginSeconds = 5;

interface LoggedMessage extends TaskMessage {
  log: Log;
}

/** A message whose task is claimed, so that its attempt can start; or whose verdict is known. */
export type Begun = LoggedMessage & ({ as: "claimed"; record: TaskRecord } | { as: "resolved"; verdict: Verdict });

/** A message of a task whose last attempt crashed: it must run alone. */
export type Crashed = LoggedMessage & { as: "crashed" };

/**
 * Claims a message's task. If that takes too long, the message is delivered again: the leases of the batch's other tasks run. A
 * call of the table ends earlier, so a claim that is given up cannot succeed later.
 */
export function begin(ports: WorkPorts, visibility: Visibility, message: TaskMessage, how: "alone"): Promise<Begun>;
export function begin(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  how: "together",
): Promise<Begun | Crashed>;
export function begin(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  how: "together" | "alone",
): Promise<Begun | Crashed> {
  const log = ports.log.with(messageFields(message));
  return within(ports.clock, beginSeconds * 1000, beginLogged({ ...ports, log }, visibility, message, how), () => ({
    ...{ ...message, log, as: "resolved" },
    verdict: leaveInQueue(log, `the claim took longer than ${beginSeconds} s`),
  }));
}

async function beginLogged(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  how: "together" | "alone",
): Promise<Begun | Crashed> {
  const { log } = ports;
  try {
    const token = ports.newId();
    const claimed = await claim(ports, message, { token, alone: how === "alone" });
    // An answer may be lost, and the client repeats the call: a lease with this token is this claim's own.
    const record = claimed.done || claimed.record?.lease_token === token ? claimed.record : undefined;
    if (record !== undefined) {
      reportStarted({ ...ports, log: log.with({ attempt: record.attempts }) }, record);
      return { ...message, log, as: "claimed", record };
    }
    if (mustRunAlone(ports, message, claimed.record) && how === "together") return { ...message, log, as: "crashed" };
    const verdict = await resolveUnclaimed(ports, visibility, message, claimed.record);
    return { ...message, log, as: "resolved", verdict };
  } catch (error) {
    return { ...message, log, as: "resolved", verdict: leaveInQueue(log, error) };
  }
}

/** Runs and settles a claimed task. */
export async function finish(ports: WorkPorts, visibility: Visibility, begun: Begun): Promise<Verdict> {
  if (begun.as === "resolved") return begun.verdict;
  try {
    return await attempt({ ...ports, log: begun.log }, visibility, begun, begun.record);
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
const attempt = (
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  record: TaskRecord,
): Promise<Verdict> =>
  ports.tracing.span(spanOf(message, record), async (span) => {
    const { type } = message;
    const log = ports.log.with({ attempt: record.attempts });
    const told = tellChange({ ...ports, log }, record, "processing");
    const { envelope, ended } = await run({ ...ports, log }, visibility, message, record, span.traceparent);
    const stack = ended.how === "threw" && type?.sensitive === false ? await ports.stackOf(ended.error) : undefined;
    await told;
    const settled = await settleInTime(ports, { record, envelope, type, stack }, ended);
    await keepThroughWait(ports, settled);
    reportSettled(ports, record, settled, type?.sensitive ?? false);
    span.set({ "offload.outcome": settled.as });
    if (settled.as === "failed" || settled.as === "retried") span.fail(settled.record?.error_type ?? "Error");
    return settled.as === "stale" ? resolveUnclaimed(ports, visibility, message, settled.record) : "done";
  });

/** Runs the attempt with the newest input, whose message stands for the task from then on. */
async function run(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  record: TaskRecord,
  traceparent: string | undefined,
): Promise<{ envelope: Envelope; ended: Ended }> {
  const { envelope, type } = message;
  if (type === undefined) {
    const error = new PermanentError(`no task type is named ${JSON.stringify(envelope.type)}`);
    return { envelope, ended: { how: "threw", error } };
  }
  let newest: Envelope;
  try {
    newest = await newestEnvelope(ports, record, envelope);
  } catch (error) {
    return { envelope, ended: { how: "threw", error } };
  }
  const running = runningOf(visibility, { ...message, envelope: newest }, record, type, traceparent);
  return { envelope: newest, ended: await runAttempt(ports, running) };
}

/** Settling is tried for this time, in seconds, while a port is unavailable: the work of the attempt would be lost. */
const settleSeconds = 30;

/** Pause before settling is tried a third time, and before each later try, in milliseconds. */
const settlePauseMs = 1_000;

async function settleInTime(ports: WorkPorts, settling: Settling, ended: Ended): Promise<Settled> {
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
  { delivery, envelope }: TaskMessage,
  record: TaskRecord,
  type: TaskType,
  traceparent: string | undefined,
): Running => ({
  record,
  envelope,
  type,
  traceparent,
  renewMessage: (seconds) => visibility.renew(delivery, seconds + holdMarginSeconds),
});
