import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand, type SQSClient } from "#aws-sdk/client-sqs";
import { parseTicket } from "../core/model/envelope.ts";
import { PortUnavailable } from "../core/model/errors.ts";
import type { Tier } from "../core/model/words.ts";
import type { WorkQueues } from "../core/ports/queues.ts";
import type { Delivery } from "../core/ports/tasks.ts";
import { messageAttributes, type PerTier } from "../settings/config.ts";
import { waiting } from "./call-times.ts";
import { viaPort } from "./errors.ts";

const port = "the queue";

/** The queues of container workers in SQS. */
export class SqsWorkQueues implements WorkQueues {
  readonly #client: SQSClient;
  readonly #queueUrls: PerTier<string>;

  /** @param queueUrls URLs of the tiers' queues for container workers. */
  constructor(client: SQSClient, queueUrls: PerTier<string>) {
    this.#client = client;
    this.#queueUrls = queueUrls;
  }

  async receive(
    tier: Tier,
    { max, waitSeconds, hideSeconds }: { max: number; waitSeconds: number; hideSeconds: number },
    signal: AbortSignal,
  ): Promise<Delivery[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#queueUrls[tier],
      MaxNumberOfMessages: max,
      WaitTimeSeconds: waitSeconds,
      VisibilityTimeout: hideSeconds,
      MessageSystemAttributeNames: ["ApproximateReceiveCount", "SentTimestamp", "MessageGroupId"],
      MessageAttributeNames: Object.values(messageAttributes),
    });
    if (signal.aborted) return [];
    try {
      const receiving = waiting(waitSeconds * 1000, signal, () => this.#client.send(command));
      const { Messages = [] } = await viaPort(port, receiving);
      return Messages.map((message) => deliveryOf(message, tier));
    } catch (error) {
      if (signal.aborted) return [];
      throw error;
    }
  }

  async remove({ tier, receiptHandle }: Delivery): Promise<void> {
    const Entries = [{ Id: "0", ReceiptHandle: receiptHandle }];
    const command = new DeleteMessageBatchCommand({ QueueUrl: this.#queueUrls[tier], Entries });
    const { Failed = [] } = await viaPort(port, this.#client.send(command));
    if (Failed.length > 0) throw new PortUnavailable(port, { cause: Failed });
  }
}

function deliveryOf(message: Message, tier: Tier): Delivery {
  const { MessageId = "", ReceiptHandle = "", Body = "", Attributes = {}, MessageAttributes = {} } = message;
  const number = (name: string) => Number(MessageAttributes[name]?.StringValue ?? 0) || 0;
  const { MessageGroupId } = Attributes;
  const ticket = parseTicket(MessageAttributes[messageAttributes.grant]?.StringValue);
  return {
    tier,
    runsOn: "container",
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body,
    receiveCount: Number(Attributes.ApproximateReceiveCount),
    solo: number(messageAttributes.solo) === 1,
    redrives: number(messageAttributes.redrives),
    ...(MessageGroupId === undefined ? {} : { tenantId: MessageGroupId }),
    ...(ticket === undefined ? {} : { ticket }),
    sentAt: Number(Attributes.SentTimestamp),
  };
}
