import { DeleteMessageBatchCommand, ReceiveMessageCommand, type SQSClient } from "#aws-sdk/client-sqs";
import { PortUnavailable } from "../core/model/errors.ts";
import type { Tier } from "../core/model/words.ts";
import type { DeadLetterQueues, ReceivedDeadLetter } from "../core/ports/queues.ts";
import type { Log } from "../core/ports/tasks.ts";
import type { PerTier } from "../settings/config.ts";
import { viaPort } from "./errors.ts";
import { changeVisibility } from "./queues.ts";

const port = "the queue";

/** Receives and deletes messages of the DLQs. */
export class SqsDeadLetterQueues implements DeadLetterQueues {
  readonly #client: SQSClient;
  readonly #dlqUrls: PerTier<string>;
  readonly #log: Log;

  constructor(client: SQSClient, dlqUrls: PerTier<string>, log: Log) {
    this.#client = client;
    this.#dlqUrls = dlqUrls;
    this.#log = log;
  }

  async receive(tier: Tier, holdSeconds: number, waitSeconds = 1): Promise<ReceivedDeadLetter[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#dlqUrls[tier],
      MaxNumberOfMessages: 10,
      VisibilityTimeout: holdSeconds,
      WaitTimeSeconds: waitSeconds,
    });
    const { Messages = [] } = await viaPort(port, this.#client.send(command));
    return Messages.map(({ MessageId = "", ReceiptHandle = "", Body = "" }) => ({
      messageId: MessageId,
      receiptHandle: ReceiptHandle,
      body: Body,
    }));
  }

  async delete(tier: Tier, deadLetters: readonly ReceivedDeadLetter[]): Promise<void> {
    for (const chunk of chunksOfTen(deadLetters)) {
      const Entries = chunk.map((deadLetter, index) => ({
        Id: String(index),
        ReceiptHandle: deadLetter.receiptHandle,
      }));
      const command = new DeleteMessageBatchCommand({ QueueUrl: this.#dlqUrls[tier], Entries });
      const { Failed = [] } = await viaPort(port, this.#client.send(command));
      if (Failed.length > 0) throw new PortUnavailable(port, { cause: Failed });
    }
  }

  async release(tier: Tier, deadLetters: readonly ReceivedDeadLetter[]): Promise<void> {
    const messages = deadLetters.map((deadLetter) => ({ receiptHandle: deadLetter.receiptHandle, seconds: 0 }));
    for (const chunk of chunksOfTen(messages))
      await changeVisibility(this.#client, this.#dlqUrls[tier], chunk, this.#log);
  }
}

function* chunksOfTen<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += 10) yield items.slice(start, start + 10);
}
