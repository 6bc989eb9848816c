import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { expectStatus, until } from "../support/http-client.ts";
import { anonymous } from "./callers.ts";

/** Why a test that looks into queues is skipped. */
export const noQueueAccess =
  "no way into the queues: /health names none, and OFFLOAD_E2E_QUEUES (JSON of each tier's url and dlq_url) is not set";

/** A look at a DLQ hides its messages for this time. */
const hiddenSeconds = 2;

type Tier = "critical" | "high" | "normal" | "low";

interface QueueUrls {
  url: string;
  dlq_url: string;
}

/** The tier queues and their DLQs, seen by any SQS client. */
class QueueAccess {
  private readonly sqs: SQSClient;
  private readonly urls: Record<Tier, QueueUrls>;

  constructor(sqs: SQSClient, urls: Record<Tier, QueueUrls>) {
    this.sqs = sqs;
    this.urls = urls;
  }

  /** Puts a message into a tier's queue by hand. */
  async send(tier: Tier, body: string, tenant: string): Promise<void> {
    const message = { QueueUrl: this.urls[tier].url, MessageBody: body, MessageGroupId: tenant };
    await this.sqs.send(new SendMessageCommand(message));
  }

  /** The body of the tier's dead letter that fits. */
  async deadLetter(tier: Tier, fits: (body: string) => boolean, timeoutMs = 240_000): Promise<string> {
    return until(
      `a message in the DLQ of ${tier}`,
      async () => (await this.scan(tier, fits)).map(({ Body = "" }) => Body)[0],
      timeoutMs,
    );
  }

  /** Waits until no dead letter of the tier fits. Looks rarely: a look hides the messages from the sweep that deletes them. */
  async noDeadLetter(tier: Tier, fits: (body: string) => boolean, timeoutMs = 240_000): Promise<void> {
    await until(
      `the message to leave the DLQ of ${tier}`,
      async () => {
        if ((await this.scan(tier, fits)).length === 0) return true;
        await sleep(3 * hiddenSeconds * 1000);
        return undefined;
      },
      timeoutMs,
    );
  }

  /** Deletes dead letters that belong to no task, which no one else could. */
  async remove(tier: Tier, fits: (body: string) => boolean): Promise<void> {
    for (const { ReceiptHandle } of await this.scan(tier, fits)) {
      await this.sqs.send(new DeleteMessageCommand({ QueueUrl: this.urls[tier].dlq_url, ReceiptHandle }));
    }
  }

  /** Walks through a DLQ, hiding each message for a moment only. */
  private async scan(tier: Tier, fits: (body: string) => boolean): Promise<Message[]> {
    const receive = { QueueUrl: this.urls[tier].dlq_url, MaxNumberOfMessages: 10, VisibilityTimeout: hiddenSeconds };
    const found = new Map<string, Message>();
    const deadline = Date.now() + 2500;
    while (Date.now() < deadline) {
      const { Messages = [] } = await this.sqs.send(new ReceiveMessageCommand({ ...receive, WaitTimeSeconds: 1 }));
      for (const message of Messages) {
        if (fits(message.Body ?? "")) found.set(message.MessageId ?? "", message);
      }
      if (found.size > 0) break;
    }
    return [...found.values()];
  }
}

/** The queues of the server under test: as its /health names them, else from the environment. */
export async function queueAccess(): Promise<QueueAccess | undefined> {
  const health = expectStatus(await anonymous.get("/health"), 200).json<{
    sqs_url?: string;
    queues?: Record<Tier, QueueUrls>;
  }>();
  if (health.sqs_url !== undefined && health.queues !== undefined) {
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    return new QueueAccess(
      new SQSClient({ endpoint: health.sqs_url, region: "us-east-1", credentials }),
      health.queues,
    );
  }
  const given = process.env.OFFLOAD_E2E_QUEUES;
  return given ? new QueueAccess(new SQSClient({}), JSON.parse(given) as Record<Tier, QueueUrls>) : undefined;
}
