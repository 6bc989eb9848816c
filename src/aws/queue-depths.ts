import { GetQueueAttributesCommand, type SQSClient } from "#aws-sdk/client-sqs";
import type { PerTier } from "../config.ts";
import type { QueueDepth, QueueDepths } from "../core/ports.ts";
import type { Tier } from "../core/tier.ts";
import { viaPort } from "./errors.ts";

/** Which attribute of a queue is which count. */
const attributes = {
  visible: "ApproximateNumberOfMessages",
  inFlight: "ApproximateNumberOfMessagesNotVisible",
  delayed: "ApproximateNumberOfMessagesDelayed",
} as const;

/** How full the queues are, by SQS's own count. */
export class SqsQueueDepths implements QueueDepths {
  readonly #client: SQSClient;
  readonly #queueUrls: PerTier<string>;
  readonly #dlqUrls: PerTier<string>;

  constructor(client: SQSClient, queueUrls: PerTier<string>, dlqUrls: PerTier<string>) {
    this.#client = client;
    this.#queueUrls = queueUrls;
    this.#dlqUrls = dlqUrls;
  }

  ofTier(tier: Tier): Promise<QueueDepth> {
    return this.#depthOf(this.#queueUrls[tier]);
  }

  ofDlq(tier: Tier): Promise<QueueDepth> {
    return this.#depthOf(this.#dlqUrls[tier]);
  }

  async #depthOf(queueUrl: string): Promise<QueueDepth> {
    const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: Object.values(attributes) });
    const { Attributes = {} } = await viaPort("the queue", this.#client.send(command));
    return {
      visible: Number(Attributes[attributes.visible] ?? 0),
      inFlight: Number(Attributes[attributes.inFlight] ?? 0),
      delayed: Number(Attributes[attributes.delayed] ?? 0),
    };
  }
}
