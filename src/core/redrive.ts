import { buryUnreadable, failForGood, followUp } from "./bury.ts";
import { expire, reportCrashed } from "./claim.ts";
import { dispatch, longestDelaySeconds } from "./dispatch.ts";
import { type Envelope, latestCreatedAt, parseEnvelope } from "./envelope.ts";
import { ChangedMeanwhile, PortUnavailable } from "./errors.ts";
import type { Delivery } from "./ports.ts";
import { isKept, iso, type TaskRecord } from "./record.ts";
import { reportChanged, taskFields } from "./report.ts";
import { type SettlePorts, settleCrashed } from "./settle.ts";
import { isTerminal } from "./status.ts";
import { againWhenUnavailable, type Verdict } from "./verdict.ts";

/** How often one message is put back into its tier before it is given up. */
export const mostRedrives = 3;

/** Receives by redrive after which an outage counts as a long one: half of those that its queue allows. */
const mostReceives = 10;

/**
 * Decides what happens to messages that a tier queue handed out too often without success: by the record, they are dropped,
 * put back, or become dead letters. So every message of a DLQ is final.
 */
export async function redriveBatch(ports: SettlePorts, deliveries: readonly Delivery[]): Promise<Verdict[]> {
  return Promise.all(deliveries.map((delivery) => redriveSafely(ports, delivery)));
}

async function redriveSafely(ports: SettlePorts, delivery: Delivery): Promise<Verdict> {
  try {
    return await redriveOne(ports, delivery);
  } catch (error) {
    ports.log.error("the message could not be redriven", { message_id: delivery.messageId, error: String(error) });
    const outage = error instanceof PortUnavailable && delivery.receiveCount >= mostReceives;
    return outage ? sitOut(ports, delivery) : "again";
  }
}

/**
 * Sends a message back to its tier for later, without a look at its task: the table is down for long, and receives that are
 * used up would make a dead letter of a task that nothing is wrong with. There they begin anew.
 */
async function sitOut(ports: SettlePorts, delivery: Delivery): Promise<Verdict> {
  const { body, tier, solo, redrives } = delivery;
  const parsed = parseEnvelope(body);
  if (!parsed.ok) return "again";
  const sent = ports.queues.send({
    tier,
    envelope: parsed.envelope,
    delaySeconds: longestDelaySeconds,
    solo,
    redrives,
  });
  return sent.then(() => "done", againWhenUnavailable);
}

async function redriveOne(ports: SettlePorts, delivery: Delivery): Promise<Verdict> {
  const parsed = parseEnvelope(delivery.body);
  if (!parsed.ok) return buryUnreadable(ports, delivery, parsed.reason);
  const { envelope } = parsed;
  const record = await ports.records.get(envelope);
  if (record === undefined || !isKept(record, ports.clock.now()) || record.created_at > latestCreatedAt(envelope))
    return "done";
  if (isTerminal(record.status)) {
    await followUp(ports, record, envelope);
    return "done";
  }
  return record.status === "processing"
    ? redriveProcessing(ports, envelope, record)
    : redrivePending(ports, delivery, envelope, record);
}

/** A live lease leaves the message hidden for a while; an ended one is a crash like any other. */
async function redriveProcessing(ports: SettlePorts, envelope: Envelope, record: TaskRecord): Promise<Verdict> {
  if ((record.lease_until ?? "") > iso(ports.clock.now())) return "again";
  const settled = await settleCrashed(ports, { record, envelope, type: undefined });
  reportCrashed(ports, record, settled);
  return settled.as === "stale" ? "again" : "done";
}

/** Back into its tier, if it can still be started on; a message that came too often for that is given up. */
async function redrivePending(
  ports: SettlePorts,
  delivery: Delivery,
  envelope: Envelope,
  record: TaskRecord,
): Promise<Verdict> {
  const nowIso = iso(ports.clock.now());
  if (record.start_by !== undefined && record.start_by <= nowIso) return expire(ports, record);
  // One that came early, as a twin does, says nothing of whether the task can be started on.
  const counts = record.due_at <= nowIso;
  if (counts && delivery.redrives >= mostRedrives) return giveUp(ports, envelope, record);
  await dispatch(ports, record, envelope, delivery.redrives + (counts ? 1 : 0));
  const { messageId: message_id, redrives } = delivery;
  ports.log.warn("message put back into its tier", {
    ...taskFields(record),
    message_id,
    outcome: "redriven",
    redrives,
  });
  return "done";
}

/** Makes a dead letter of a task that no worker could start on. */
async function giveUp(ports: SettlePorts, envelope: Envelope, record: TaskRecord): Promise<Verdict> {
  const failure = {
    kind: "crashed" as const,
    type: "Undeliverable",
    message: `the worker could not even start on the task, in ${mostRedrives + 1} rounds of deliveries`,
  };
  const changed = await failForGood(ports, record, envelope, failure, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: record.attempts_total },
      start_by: { above: iso(ports.clock.now()), orAbsent: true },
    },
  });
  if (!changed.done) throw new ChangedMeanwhile("the record");
  await followUp(ports, changed.record, envelope);
  reportChanged(ports, changed.record, "failed");
  return "done";
}
