import { type Envelope, type LineCheck, latestCreatedAt } from "../../model/envelope.ts";
import { ChangedMeanwhile, PortUnavailable, WrittenLater } from "../../model/errors.ts";
import { isKept, iso, type TaskRecord } from "../../model/record.ts";
import { usualMessage } from "../../model/usual-message.ts";
import { isTerminal } from "../../model/words.ts";
import type { SettlePorts } from "../../ports/extra.ts";
import { againWhenUnavailable, type Verdict } from "../../ports/queues.ts";
import type { Delivery } from "../../ports/tasks.ts";
import { followUp } from "../end/follow-up.ts";
import { dispatch, longestDelaySeconds, sayLater } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { newestKept } from "../send/kept-input.ts";
import { reportChanged, taskFields } from "../send/report.ts";
import { afterCrash, expire, reportCrashed, resolveWaiting } from "./claim.ts";
import { settleCrashed } from "./settle.ts";

/** The most times that one message is put back into its tier. */
export const maxRedrives = 3;

/** Receives by redrive after which an outage counts as long: half of the receives that its queue allows. */
const maxReceives = 10;

/**
 * Handles messages that a tier queue delivered too often without success. The record decides: a message is dropped, put
 * back, or its task becomes a dead letter. So every message in a DLQ is final.
 */
export async function redriveBatch(ports: SettlePorts, deliveries: readonly Delivery[]): Promise<Verdict[]> {
  return Promise.all(deliveries.map((delivery) => redriveSafely(ports, delivery)));
}

async function redriveSafely(ports: SettlePorts, delivery: Delivery): Promise<Verdict> {
  try {
    return await redriveOne(ports, delivery);
  } catch (error) {
    if (error instanceof WrittenLater) {
      sayLater(ports, error);
      return sitOut(ports, delivery);
    }
    ports.log.error("could not redrive a message; it is delivered again", {
      message_id: delivery.messageId,
      error: String(error),
    });
    const outage = error instanceof PortUnavailable && delivery.receiveCount >= maxReceives;
    return outage ? sitOut(ports, delivery) : "again";
  }
}

/**
 * Sends a message back to its tier with the longest delay, without reading its task, because the table has been down
 * for long, or a later release has written what this one cannot read. Its receives start again from 0; used-up receives
 * would make a dead letter of a healthy task.
 */
async function sitOut(ports: SettlePorts, delivery: Delivery): Promise<Verdict> {
  const { body, tier, runsOn, solo, redrives } = delivery;
  const read = usualMessage(body) ?? (await schemas()).parseMessage(body);
  if ("check" in read || !read.ok) return "again";
  const sent = ports.queues.send({
    tier,
    runsOn,
    envelope: read.envelope,
    delaySeconds: longestDelaySeconds,
    solo,
    redrives,
  });
  return sent.then(() => "done", againWhenUnavailable);
}

/** Sends a check of a line again, later: a line's tasks depend on it. */
async function checkLater({ queues }: SettlePorts, { tier }: Delivery, check: LineCheck): Promise<Verdict> {
  await queues.sendCheck({ tier, check, delaySeconds: longestDelaySeconds });
  return "done";
}

/** The schemas of messages, for one of an unusual form. */
const schemas = () => import("../../model/read-envelope.ts");

async function redriveOne(ports: SettlePorts, delivery: Delivery): Promise<Verdict> {
  const read = usualMessage(delivery.body) ?? (await schemas()).parseMessage(delivery.body);
  if ("check" in read) return checkLater(ports, delivery, read.check);
  if (!read.ok) return (await import("../end/dead-letter.ts")).deadLetterUnreadable(ports, delivery, read.reason);
  const record = await ports.records.get(read.envelope);
  if (record === undefined || record.created_at > latestCreatedAt(read.envelope)) return "done";
  const envelope = await newestKept(ports, record, read.envelope);
  if (!isKept(record, ports.clock.now())) {
    await extras.ended(ports, record);
    return "done";
  }
  if (isTerminal(record.status)) {
    await followUp(ports, record, envelope);
    return "done";
  }
  return record.status === "processing"
    ? redriveProcessing(ports, envelope, record)
    : redrivePending(ports, delivery, envelope, record);
}

/** While the lease lasts, the message is delivered again later. After it, the attempt has crashed. */
async function redriveProcessing(ports: SettlePorts, envelope: Envelope, record: TaskRecord): Promise<Verdict> {
  if (record.family_state === "waiting") return resolveWaiting(ports, record);
  if ((record.lease_until ?? "") > iso(ports.clock.now())) return "again";
  const settled = await settleCrashed(ports, { record, envelope, type: undefined });
  reportCrashed(ports, record, settled);
  return afterCrash(ports, settled, envelope);
}

/** Puts the message back into its tier. After too many times, the task becomes a dead letter. */
async function redrivePending(
  ports: SettlePorts,
  delivery: Delivery,
  envelope: Envelope,
  record: TaskRecord,
): Promise<Verdict> {
  const nowIso = iso(ports.clock.now());
  if (record.start_by !== undefined && record.start_by <= nowIso) return expire(ports, record, envelope);
  // A message that came before its due time, as a twin does, does not show that the task cannot start.
  const counts = record.due_at <= nowIso;
  if (counts && delivery.redrives >= maxRedrives) return giveUp(ports, envelope, record);
  await dispatch(ports, record, envelope, delivery.redrives + (counts ? 1 : 0));
  const { messageId: message_id, redrives } = delivery;
  ports.log.warn("put a message back into its tier", {
    ...taskFields(record),
    message_id,
    outcome: "redriven",
    redrives,
  });
  return "done";
}

/** Makes a dead letter of a task that no worker could start. */
async function giveUp(ports: SettlePorts, envelope: Envelope, record: TaskRecord): Promise<Verdict> {
  const failure = {
    kind: "crashed" as const,
    type: "Undeliverable",
    message: `no worker could start the task in ${maxRedrives + 1} rounds of deliveries`,
  };
  const { failForGood } = await import("../end/dead-letter.ts");
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
