import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { messageAttributes, type PerTier } from "../config.ts";
import type { Delivery } from "../core/ports.ts";
import { type Tier, tiers } from "../core/tier.ts";
import type { Verdict } from "../core/verdict.ts";

/** Converts one message of an event source's batch for the core. */
export function deliveryOf(record: SQSRecord, tier: Tier): Delivery {
  const number = (name: string) => Number(record.messageAttributes[name]?.stringValue ?? 0) || 0;
  const tenantId = record.attributes.MessageGroupId;
  return {
    tier,
    messageId: record.messageId,
    receiptHandle: record.receiptHandle,
    body: record.body,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    solo: number(messageAttributes.solo) === 1,
    redrives: number(messageAttributes.redrives),
    ...(tenantId === undefined ? {} : { tenantId }),
    sentAt: Number(record.attributes.SentTimestamp),
  };
}

/** The tier that a message of the redrive queue came from; `normal` when SQS did not set the attribute. */
export function originOf(record: SQSRecord, queueUrls: PerTier<string>): Tier {
  const name = record.attributes.DeadLetterQueueSourceArn?.split(":").at(-1);
  return tiers.find((tier) => queueUrls[tier].split("/").at(-1) === name) ?? "normal";
}

/** Works on a batch, and returns the messages that the event source must deliver again. */
export async function answerBatch(
  event: SQSEvent,
  tierOf: (record: SQSRecord) => Tier,
  work: (deliveries: Delivery[]) => Promise<Verdict[]>,
): Promise<SQSBatchResponse> {
  const verdicts = await work(event.Records.map((record) => deliveryOf(record, tierOf(record))));
  const again = event.Records.filter((_, index) => verdicts[index] !== "done");
  return { batchItemFailures: again.map((record) => ({ itemIdentifier: record.messageId })) };
}
