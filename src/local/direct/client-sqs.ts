import { SQSClient as LeanClient } from "../../aws/lean/client-sqs.ts";
import type { ClientConfig, Fields } from "../../aws/lean/service.ts";
import { DirectService } from "./direct-service.ts";

export * from "../../aws/lean/client-sqs.ts";

type QueueCommand = Parameters<LeanClient["send"]>[0];

export class SQSClient extends LeanClient {
  readonly #direct: DirectService;

  constructor(config: ClientConfig = {}) {
    super(config);
    this.#direct = new DirectService("sqs", config);
  }

  /** A long poll goes over HTTP, where the end of its connection ends it. */
  override send(command: QueueCommand): Promise<Fields> {
    if (command.operation === "ReceiveMessage") return super.send(command);
    return this.#direct.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": `AmazonSQS.${command.operation}` },
      body: JSON.stringify(command.input),
      at: String(command.input.QueueUrl),
    });
  }
}
