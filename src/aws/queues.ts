import {
  type BatchResultErrorEntry,
  ChangeMessageVisibilityBatchCommand,
  type ChangeMessageVisibilityBatchRequestEntry,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  type SQSClient,
} from "#aws-sdk/client-sqs";
import { type DeadLetterMessage, messageText, ticketText } from "../core/model/envelope.ts";
import { PortUnavailable, WrittenLater } from "../core/model/errors.ts";
import type { Tier } from "../core/model/words.ts";
import type { Log, MainQueue, Outgoing, Queues } from "../core/ports/tasks.ts";
import { messageAttributes, type PerTier } from "../settings/config.ts";
import { isPassingName, viaPort } from "./errors.ts";

const port = "the queue";

/** The request that sends a message to a tier. The message group is the tenant, for SQS's fair queues. */
export function sendRequest(queueUrl: string, message: Outgoing): SendMessageCommandInput {
  const attributes = {
    ...(message.solo ? { [messageAttributes.solo]: { DataType: "Number", StringValue: "1" } } : {}),
    ...(message.redrives > 0
      ? { [messageAttributes.redrives]: { DataType: "Number", StringValue: String(message.redrives) } }
      : {}),
    ...(message.ticket === undefined
      ? {}
      : { [messageAttributes.grant]: { DataType: "String", StringValue: ticketText(message.ticket) } }),
  };
  return {
    QueueUrl: queueUrl,
    MessageBody: messageText(message.envelope),
    MessageGroupId: message.envelope.tenant_id,
    ...(message.delaySeconds > 0 ? { DelaySeconds: message.delaySeconds } : {}),
    ...(Object.keys(attributes).length > 0 ? { MessageAttributes: attributes } : {}),
  };
}

/** The tier queues and their DLQs in SQS. */
export class SqsQueues implements Queues {
  readonly #client: SQSClient;
  readonly #queueUrls: PerTier<string>;
  readonly #dlqUrls: PerTier<string>;
  readonly #log: Log;
  readonly #containerQueueUrls: PerTier<string> | undefined;

  /** @param containerQueueUrls Undefined: the deployment has no container workers. */
  constructor(
    client: SQSClient,
    queueUrls: PerTier<string>,
    dlqUrls: PerTier<string>,
    log: Log,
    containerQueueUrls?: PerTier<string>,
  ) {
    this.#client = client;
    this.#queueUrls = queueUrls;
    this.#dlqUrls = dlqUrls;
    this.#log = log;
    this.#containerQueueUrls = containerQueueUrls;
  }

  async send(message: Outgoing): Promise<void> {
    await viaPort(port, this.#client.send(new SendMessageCommand(sendRequest(this.#urlOf(message), message))));
  }

  async sendCheck({ check, delaySeconds, ...queue }: Parameters<Queues["sendCheck"]>[0]): Promise<void> {
    const command = new SendMessageCommand({
      QueueUrl: this.#urlOf(queue),
      MessageBody: messageText(check),
      ...(delaySeconds > 0 ? { DelaySeconds: delaySeconds } : {}),
    });
    await viaPort(port, this.#client.send(command));
  }

  /**
   * Sends up to ten messages, of at most 1 MiB together, in one call. Returns the error of each message; undefined: it
   * was sent.
   * @throws PortUnavailable when none was sent
   */
  async sendMany(queue: MainQueue, messages: readonly Outgoing[]): Promise<readonly (PortUnavailable | undefined)[]> {
    const QueueUrl = this.#urlOf(queue);
    const Entries = messages.map((message, index) => {
      const { QueueUrl: _, ...entry } = sendRequest(QueueUrl, message);
      return { Id: String(index), ...entry };
    });
    const { Failed = [] } = await viaPort(port, this.#client.send(new SendMessageBatchCommand({ QueueUrl, Entries })));
    const failed = new Map(Failed.map((entry) => [entry.Id, entry]));
    return messages.map((_, index) => {
      const cause = failed.get(String(index));
      return cause === undefined ? undefined : new PortUnavailable(port, { cause });
    });
  }

  async hold(
    tier: Tier,
    messages: readonly { receiptHandle: string; seconds: number }[],
    runsOn?: "container" | undefined,
  ): Promise<void> {
    await changeVisibility(this.#client, this.#urlOf({ tier, runsOn }), messages, this.#log);
  }

  async deadLetter(tier: Tier, deadLetter: DeadLetterMessage, tenantId: string | undefined): Promise<void> {
    const command = new SendMessageCommand({
      QueueUrl: this.#dlqUrls[tier],
      MessageBody: messageText(deadLetter),
      ...(tenantId === undefined ? {} : { MessageGroupId: tenantId }),
    });
    await viaPort(port, this.#client.send(command));
  }

  #urlOf({ tier, runsOn }: MainQueue): string {
    const urls = runsOn === undefined ? this.#queueUrls : this.#containerQueueUrls;
    if (urls?.[tier] !== undefined) return urls[tier];
    if (urls !== undefined) throw new WrittenLater("a tier");
    throw new Error('no container workers: a task type has runsOn "container"; set `containers` on the TaskPipeline');
  }
}

type Entries = ChangeMessageVisibilityBatchRequestEntry[];

/** Best effort for each message: those that SQS refused for a passing reason are sent once more. */
export async function changeVisibility(
  client: SQSClient,
  queueUrl: string,
  messages: readonly { receiptHandle: string; seconds: number }[],
  log: Log,
): Promise<void> {
  const send = async (Entries: Entries): Promise<BatchResultErrorEntry[]> => {
    if (Entries.length === 0) return [];
    const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries });
    return (await viaPort(port, client.send(command))).Failed ?? [];
  };
  const entries = messages.map(({ receiptHandle, seconds }, index) => ({
    ...{ Id: String(index), ReceiptHandle: receiptHandle, VisibilityTimeout: seconds },
  }));
  const refused = await send(entries);
  const passing = new Set(refused.filter(isPassing).map(({ Id }) => Id));
  const final = [
    ...refused.filter(({ Id }) => !passing.has(Id)),
    ...(await send(entries.filter(({ Id }) => passing.has(Id)))),
  ];
  for (const { Code } of final) log.debug("SQS did not change the visibility of a message", { error: Code });
}

/**
 * An entry can fail for the request's own reasons, such as a message that was deleted, or because SQS cannot do it now.
 */
const isPassing = ({ SenderFault, Code = "" }: BatchResultErrorEntry): boolean =>
  SenderFault !== true || isPassingName(Code);
