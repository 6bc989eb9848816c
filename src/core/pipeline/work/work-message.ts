import { within } from "../../../util/within.ts";
import type { Envelope } from "../../model/envelope.ts";
import { LineUnavailable, PortUnavailable, WrittenLater } from "../../model/errors.ts";
import { isOwnName, onFailedName } from "../../model/internal-names.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import { usualMessage } from "../../model/usual-message.ts";
import type { Verdict, Visibility } from "../../ports/queues.ts";
import { type Delivery, type Log, type NewId, traceIdOf } from "../../ports/tasks.ts";
import type { Permit, Waiting } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { TaskType } from "../../task/task.ts";
import { laterReleaseSeconds, sayLater } from "../send/dispatch.ts";
import { reportStarted } from "../send/report.ts";
import { beginSeconds } from "./batch-plan.ts";
import { claim, mustRunAlone, resolveUnclaimed } from "./claim.ts";
import { type Claimed, type RunPorts, runClaimed, sentAgain } from "./run-claimed.ts";
import { settle } from "./settle.ts";

export interface WorkPorts extends RunPorts {
  newId: NewId;
}

/** A message whose line does not answer comes again after this time, in seconds, or up to twice of it. */
const laterSeconds = 10;

interface LoggedMessage extends TaskMessage {
  log: Log;
}

/**
 * A message whose task is claimed, so that its attempt can start; or has to wait in a line; or whose last attempt
 * crashed, so that it must run alone; or whose verdict is known.
 */
export type Begun = LoggedMessage &
  (
    | ({ as: "claimed" } & Claimed)
    | { as: "waiting"; waiting: Waiting }
    | { as: "crashed" }
    | { as: "resolved"; verdict: Verdict }
  );

/**
 * Claims a message's task. If that takes too long, the message is delivered again: the leases of the batch's other
 * tasks run. What is given up claims nothing later: the calls before the claim take their time, too.
 */
export function begin(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  how: "together" | "alone",
): Promise<Begun> {
  const log = ports.log.with(messageFields(message));
  let late = false;
  // A process that stood still hears of its timers after this.
  const untilMs = ports.clock.now() + beginSeconds * 1000;
  const isLate = () => late || ports.clock.now() > untilMs;
  const begun = beginLogged({ ...ports, log }, visibility, message, { how, isLate });
  return within(ports.clock, beginSeconds * 1000, begun, () => {
    late = true;
    const verdict = leaveInQueue(log, `the claim took longer than ${beginSeconds} s`);
    return { ...message, log, as: "resolved", verdict };
  });
}

interface Beginning {
  how: "together" | "alone";
  /** True when the claim is given up. */
  isLate(): boolean;
}

async function beginLogged(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  beginning: Beginning,
): Promise<Begun> {
  const { log } = ports;
  try {
    const asBackup = message.ticket?.isBackup ? await resolveBackup(ports, visibility, { ...message, log }) : undefined;
    if (asBackup !== undefined) return asBackup;
    const admitted = await admitOrLater(ports, message, beginning);
    if (admitted === "later") return { ...message, log, as: "resolved", verdict: "done" };
    // The other tasks of the batch do not wait until it is in its line.
    if (admitted?.as === "waiting") return { ...message, log, as: "waiting", waiting: admitted };
    return await beginAdmitted(ports, visibility, { ...message, log }, admitted, beginning);
  } catch (error) {
    return { ...message, log, as: "resolved", verdict: await putOffOrLeave(ports, message, error) };
  }
}

/**
 * Decides if a task may start. A line of a limit that many look at may be throttled: the message is sent anew then.
 * @throws PortUnavailable
 */
async function admitOrLater(ports: WorkPorts, message: TaskMessage, { isLate }: Beginning) {
  try {
    return await ports.limiter.admit(ports, message);
  } catch (error) {
    if (!(error instanceof LineUnavailable) || isLate()) throw error;
    if ((await sendLater(ports, message, error)) === "done") return "later";
    throw error;
  }
}

/**
 * A worker took the task from its line, and this message stands for it if that worker has died. While its attempt runs,
 * a new message replaces this one: many receives would bring it to redrive.
 * @returns Undefined: no worker has claimed the task.
 */
async function resolveBackup(
  ports: WorkPorts,
  visibility: Visibility,
  message: LoggedMessage,
): Promise<Begun | undefined> {
  const record = await ports.records.get(message.envelope, "consistently");
  if (record?.status === "pending" && record.due_at <= iso(ports.clock.now())) return undefined;
  const leftMs = Date.parse(record?.lease_until ?? "") - ports.clock.now();
  if (record?.status !== "processing" || !(leftMs >= 0))
    return { ...message, as: "resolved", verdict: await resolve(ports, visibility, message, record) };
  await ports.queues.send(sentAgain(message, { delaySeconds: Math.ceil(leftMs / 1000) + 1 }));
  return { ...message, as: "resolved", verdict: "done" };
}

async function beginAdmitted(
  ports: WorkPorts,
  visibility: Visibility,
  message: LoggedMessage,
  permit: Permit | undefined,
  { how, isLate }: Beginning,
): Promise<Begun> {
  const again: Begun = { ...message, as: "resolved", verdict: "again" };
  if (isLate()) {
    await permit?.unclaimed();
    return again;
  }
  const token = ports.newId();
  const { startMs, bucket, turn } = permit ?? {};
  const claimed = await claim(ports, message, { token, alone: how === "alone", startMs, bucket, turn });
  // An answer may be lost, and the client repeats the call: a lease with this token is this claim's own.
  const record = claimed.done || claimed.record?.lease_token === token ? claimed.record : undefined;
  if (record !== undefined && isLate()) {
    await putOff(ports, { ...message, record, permit });
    await permit?.giveBack();
    return again;
  }
  if (record !== undefined) {
    // Its message may have been delayed: the tier is not behind by that.
    ports.puller?.limitBehind(ports.clock.now() - Date.parse(record.due_at));
    reportStarted({ ...ports, log: message.log.with({ attempt: record.attempts }) }, record);
    return { ...message, as: "claimed", record, permit };
  }
  if (mustRunAlone(ports, message, claimed.record) && how === "together") {
    return { ...message, ticket: { ...message.ticket, ...permit?.ticket }, as: "crashed" };
  }
  await permit?.refused(claimed.record);
  return { ...message, as: "resolved", verdict: await resolve(ports, visibility, message, claimed.record) };
}

/**
 * Decides what to do with a message whose task cannot start. The permit of a crashed attempt goes to the next task of
 * its line, when the crash is settled.
 */
async function resolve(
  ports: WorkPorts,
  visibility: Visibility,
  message: TaskMessage,
  record: TaskRecord | undefined,
): Promise<Verdict> {
  // Read before: a retry may take the place as soon as the crash is settled.
  const hasCrashed = record?.status === "processing" && Date.parse(record.lease_until ?? "") < ports.clock.now();
  const permit = hasCrashed ? await ports.limiter.ofCrashed(ports, message, record) : undefined;
  const verdict = await resolveUnclaimed(ports, visibility, message, record);
  if (verdict === "done") await permit?.giveBack();
  return verdict;
}

/** Runs and settles a claimed task, or puts one into its line. A crashed one is not done. */
export async function finish(ports: WorkPorts, visibility: Visibility, begun: Begun): Promise<Verdict> {
  if (begun.as === "resolved") return begun.verdict;
  if (begun.as === "crashed") return "again";
  if (begun.as === "waiting") return waitInLine({ ...ports, log: begun.log }, visibility, begun);
  const { log, permit } = begun;
  try {
    if (permit?.startMs !== undefined && !(await permit.untilStart())) return await putOff(ports, begun);
    return await runClaimed({ ...ports, log }, visibility, begun);
  } catch (error) {
    return await putOffOrLeave({ ...ports, log }, begun, error);
  } finally {
    await permit?.end();
  }
}

async function waitInLine(
  ports: WorkPorts,
  visibility: Visibility,
  begun: Extract<Begun, { as: "waiting" }>,
): Promise<Verdict> {
  try {
    const refused = await begun.waiting.enqueue();
    if (refused === undefined) return "done";
    await begun.waiting.refused(refused.unfit);
    return await resolve(ports, visibility, begun, refused.unfit);
  } catch (error) {
    if (error instanceof WrittenLater || !(error instanceof PortUnavailable)) return putOffOrLeave(ports, begun, error);
    return sendLater(ports, begun, error);
  }
}

/**
 * Sends a message anew whose task could not ask its line or be put into it, such as one of a line that is throttled.
 * Its receives do not count towards redrive, which would end a task that nothing is wrong with.
 */
function sendLater(ports: WorkPorts, message: TaskMessage, error: PortUnavailable): Promise<Verdict> {
  ports.log.warn("a task's line does not answer; the task's message is sent anew", { error: String(error) });
  return sendAnew(ports, message, Math.ceil(laterSeconds * (1 + ports.random())));
}

/** Nobody runs a claimed task: it goes on later, and is not counted. */
async function putOff(ports: WorkPorts, { record, envelope, type }: Claimed): Promise<Verdict> {
  await settle(ports, { record, envelope, type }, { how: "suspended", suspension: { dueAt: ports.clock.now() } });
  return "again";
}

/**
 * A message that needs a form of a later release is sent anew, for as long as it takes: it waits for that release, and
 * many receives would make a dead letter of its task.
 */
function putOffOrLeave(ports: WorkPorts, message: TaskMessage, error: unknown): Verdict | Promise<Verdict> {
  if (!(error instanceof WrittenLater)) return leaveInQueue(ports.log, error);
  sayLater(ports, error);
  return sendAnew(ports, message, laterReleaseSeconds(ports));
}

const sendAnew = ({ queues, log }: WorkPorts, message: TaskMessage, delaySeconds: number): Promise<Verdict> =>
  queues.send(sentAgain(message, { delaySeconds })).then(
    () => "done",
    (failed: unknown) => leaveInQueue(log, failed),
  );

/** An error leaves its message in the queue and the rest of the batch alone. */
export function leaveInQueue(log: Log, error: unknown): Verdict {
  log.error("could not work on a message; it is delivered again", { error: String(error) });
  return "again";
}

function messageFields({ envelope, delivery }: TaskMessage) {
  const trace_id = traceIdOf(envelope.traceparent);
  return {
    task_id: envelope.task_id,
    tenant_id: envelope.tenant_id,
    type: envelope.type,
    tier: delivery.tier,
    correlation_id: envelope.correlation_id,
    ...(trace_id === undefined ? {} : { trace_id }),
  };
}

/**
 * Parses a message. A check of a line is done here. A message that is not an envelope goes to the DLQ immediately,
 * whole. The verdict of both is known then.
 */
export async function readMessage(ports: RunPorts, delivery: Delivery): Promise<TaskMessage | Verdict> {
  const { body } = delivery;
  const read = usualMessage(body) ?? (await import("../../model/read-envelope.ts")).parseMessage(body);
  if ("check" in read) return ports.limiter.check(ports, delivery, read.check);
  if (!read.ok) return deadLetterSafely(ports, delivery, read.reason);
  const { envelope } = read;
  return { delivery, envelope, type: await typeOf(ports, envelope), ticket: delivery.ticket };
}

async function typeOf(ports: RunPorts, envelope: Envelope): Promise<TaskType | undefined> {
  if (envelope.type === onFailedName) return (await import("./on-failed.ts")).typeOf(ports, envelope);
  if (isOwnName(envelope.type) && !ports.registry.has(envelope.type)) await ports.loadOwnTypes?.();
  return ports.registry.get(envelope.type);
}

/**
 * A DLQ that refuses the message, for example because it is too long once wrapped, must not stop the other messages.
 */
async function deadLetterSafely(ports: RunPorts, delivery: Delivery, reason: string): Promise<Verdict> {
  try {
    return await (await import("../end/dead-letter.ts")).deadLetterUnreadable(ports, delivery, reason);
  } catch (error) {
    ports.log.error("could not send an unreadable message to the DLQ", {
      message_id: delivery.messageId,
      error: String(error),
    });
    return "again";
  }
}
