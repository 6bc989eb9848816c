import type { Entry, MessageState } from "./fair-index.ts";
import type { Content, MessageAttributes } from "./queue-rows.ts";

export const region = "us-east-1";
export const accountId = "000000000000";

/** Settings of a queue. */
export interface QueueSettings {
  visibilitySeconds: number;
  delaySeconds: number;
  retentionSeconds: number;
  /** A message that was received `maxReceiveCount` times goes to the queue `target`. Undefined: there is no limit. */
  redrive?: { target: string; maxReceiveCount: number } | undefined;
}

/** SQS's defaults. */
export const defaultSettings: QueueSettings = { visibilitySeconds: 30, delaySeconds: 0, retentionSeconds: 345_600 };

export interface NewMessage {
  body: string;
  groupId?: string | undefined;
  messageAttributes?: MessageAttributes | undefined;
  traceHeader?: string | undefined;
  /** Default: the queue's. */
  delaySeconds?: number | undefined;
  /** Default: a new id. */
  messageId?: string | undefined;
}

export interface ReceivedMessage {
  messageId: string;
  receiptHandle: string;
  body: string;
  bodyMd5: string;
  /** SQS's own attributes, such as `ApproximateReceiveCount` and `SentTimestamp`. */
  attributes: Record<string, string>;
  messageAttributes?: MessageAttributes | undefined;
}

export interface QueueCounts extends Record<MessageState, number> {
  /** Epoch milliseconds at which the oldest message was sent. Undefined: the queue is empty. */
  oldestSentAt?: number | undefined;
}

export function queueArn(name: string): string {
  return `arn:aws:sqs:${region}:${accountId}:${name}`;
}

/** The attributes that SQS sets on a received message. */
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
