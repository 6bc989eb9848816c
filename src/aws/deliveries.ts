import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { parseTicket } from "../core/model/envelope.ts";
import { tiers } from "../core/model/words.ts";
import type { Verdict } from "../core/ports/queues.ts";
import type { Delivery, MainQueue } from "../core/ports/tasks.ts";
import { messageAttributes, type PerTier } from "../settings/config.ts";

/** Converts one message of an event source's batch for the core. */
export function deliveryOf(record: SQSRecord, { tier, runsOn }: MainQueue): Delivery {
  const number = (name: string) => Number(record.messageAttributes[name]?.stringValue ?? 0) || 0;
  const tenantId = record.attributes.MessageGroupId;
  const ticket = parseTicket(record.messageAttributes[messageAttributes.grant]?.stringValue);
  return {
    tier,
    ...(runsOn === undefined ? {} : { runsOn }),
    messageId: record.messageId,
    receiptHandle: record.receiptHandle,
    body: record.body,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    solo: number(messageAttributes.solo) === 1,
    redrives: number(messageAttributes.redrives),
    ...(tenantId === undefined ? {} : { tenantId }),
    ...(ticket === undefined ? {} : { ticket }),
    sentAt: Number(record.attributes.SentTimestamp),
  };
}

/** The queue that a message of the redrive queue came from; that of `normal` when SQS did not set the attribute. */
export function originOf(
  record: SQSRecord,
  queueUrls: PerTier<string>,
  containerQueueUrls?: PerTier<string>,
): MainQueue {
  const name = record.attributes.DeadLetterQueueSourceArn?.split(":").at(-1);
  const tierIn = (urls: PerTier<string>) => tiers.find((tier) => urls[tier].split("/").at(-1) === name);
  const tier = containerQueueUrls && tierIn(containerQueueUrls);
  return tier === undefined ? { tier: tierIn(queueUrls) ?? "normal" } : { tier, runsOn: "container" };
}

/** Works on a batch, and returns the messages that the event source must deliver again. */
export async function answerBatch(
  event: SQSEvent,
  queueOf: (record: SQSRecord) => MainQueue,
  work: (deliveries: Delivery[]) => Promise<Verdict[]>,
): Promise<SQSBatchResponse> {
  const verdicts = await work(event.Records.map((record) => deliveryOf(record, queueOf(record))));
  const again = event.Records.filter((_, index) => verdicts[index] !== "done");
  return { batchItemFailures: again.map((record) => ({ itemIdentifier: record.messageId })) };
}
