import { GetQueueAttributesCommand, type SQSClient } from "#aws-sdk/client-sqs";
import type { Tier } from "../core/model/words.ts";
import type { QueueDepth, QueueDepths } from "../core/ports/tasks.ts";
import type { PerTier } from "../settings/config.ts";
import { viaPort } from "./errors.ts";

/** Names of the queue attributes for each count. */
const attributes = {
  visible: "ApproximateNumberOfMessages",
  inFlight: "ApproximateNumberOfMessagesNotVisible",
  delayed: "ApproximateNumberOfMessagesDelayed",
} as const;

/** Numbers of messages in the queues, from SQS's attributes. */
export class SqsQueueDepths implements QueueDepths {
  readonly #client: SQSClient;
  readonly #queueUrls: PerTier<string>;
  readonly #dlqUrls: PerTier<string>;
  readonly #containerQueueUrls: PerTier<string> | undefined;

  /** @param containerQueueUrls Undefined: the deployment has no container workers. */
  constructor(
    client: SQSClient,
    queueUrls: PerTier<string>,
    dlqUrls: PerTier<string>,
    containerQueueUrls?: PerTier<string>,
  ) {
    this.#client = client;
    this.#queueUrls = queueUrls;
    this.#dlqUrls = dlqUrls;
    this.#containerQueueUrls = containerQueueUrls;
  }

  async ofTier(tier: Tier): Promise<QueueDepth> {
    const urls = [
      this.#queueUrls[tier],
      ...(this.#containerQueueUrls === undefined ? [] : [this.#containerQueueUrls[tier]]),
    ];
    const depths = await Promise.all(urls.map((url) => this.#depthOf(url)));
    const sum = (of: keyof QueueDepth) => depths.reduce((total, depth) => total + depth[of], 0);
    return { visible: sum("visible"), inFlight: sum("inFlight"), delayed: sum("delayed") };
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
