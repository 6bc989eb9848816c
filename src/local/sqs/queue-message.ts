import type { Entry, Whereabouts } from "./fair-index.ts";
import type { Content, MessageAttributes } from "./queue-rows.ts";

export const region = "us-east-1";
export const accountId = "000000000000";

/** How a queue treats its messages; all times in seconds. */
export interface QueueSettings {
  visibilitySeconds: number;
  delaySeconds: number;
  retentionSeconds: number;
  /** Where messages go that were received so often. Absent: they are received for ever. */
  redrive?: { target: string; maxReceiveCount: number } | undefined;
}

/** SQS's own. */
export const defaultSettings: QueueSettings = { visibilitySeconds: 30, delaySeconds: 0, retentionSeconds: 345_600 };

export interface NewMessage {
  body: string;
  groupId?: string | undefined;
  messageAttributes?: MessageAttributes | undefined;
  traceHeader?: string | undefined;
  /** Default: the queue's. */
  delaySeconds?: number | undefined;
  /** Default: a new one. */
  messageId?: string | undefined;
}

export interface ReceivedMessage {
  messageId: string;
  receiptHandle: string;
  body: string;
  bodyMd5: string;
  /** `ApproximateReceiveCount`, `SentTimestamp` and the others that SQS sets. */
  attributes: Record<string, string>;
  messageAttributes?: MessageAttributes | undefined;
}

export interface QueueCounts extends Record<Whereabouts, number> {
  /** Epoch milliseconds at which the oldest message was sent. Absent: the queue is empty. */
  oldestSentAt?: number | undefined;
}

export function queueArn(name: string): string {
  return `arn:aws:sqs:${region}:${accountId}:${name}`;
}

/** What SQS says of a received message. */
export function systemAttributes(entry: Entry, content: Content): Record<string, string> {
  const attributes: Record<string, string> = {
    SenderId: "AIDALOCAL",
    SentTimestamp: String(entry.sentAt),
    ApproximateReceiveCount: String(entry.receiveCount),
    ApproximateFirstReceiveTimestamp: String(entry.firstReceivedAt),
  };
  if (entry.groupId !== undefined) attributes.MessageGroupId = entry.groupId;
  if (content.traceHeader !== undefined) attributes.AWSTraceHeader = content.traceHeader;
  if (content.sourceArn !== undefined) attributes.DeadLetterQueueSourceArn = content.sourceArn;
  return attributes;
}
