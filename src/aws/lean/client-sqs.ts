import { type ClientConfig, Command, type Fields, Service } from "./service.ts";

/** An operation on a queue. */
abstract class QueueCommand extends Command {
  /** Name of the operation in SQS's API. */
  abstract readonly operation: string;
}

export class SendMessageCommand extends QueueCommand {
  readonly operation = "SendMessage";
}

export class SendMessageBatchCommand extends QueueCommand {
  readonly operation = "SendMessageBatch";
}

export class ReceiveMessageCommand extends QueueCommand {
  readonly operation = "ReceiveMessage";
}

export class DeleteMessageBatchCommand extends QueueCommand {
  readonly operation = "DeleteMessageBatch";
}

export class ChangeMessageVisibilityBatchCommand extends QueueCommand {
  readonly operation = "ChangeMessageVisibilityBatch";
}

export class GetQueueAttributesCommand extends QueueCommand {
  readonly operation = "GetQueueAttributes";
}

/**
 * A small replacement for the SDK's SQS client. It does not support binary message attributes, which would need Base64.
 */
export class SQSClient {
  readonly #service: Service;

  constructor(config: ClientConfig = {}) {
    this.#service = new Service({ name: "sqs", contentType: "application/x-amz-json-1.0" }, config);
  }

  /** @throws AwsError when SQS refused the request; Error with Node's code when no answer came */
  send(command: QueueCommand): Promise<Fields> {
    return this.#service.send({
      method: "POST",
      path: "/",
      headers: { "x-amz-target": `AmazonSQS.${command.operation}`, "x-amzn-query-mode": "true" },
      body: JSON.stringify(command.input),
      // Like the SDK, it sends the request to the host of the queue's URL.
      at: String(command.input.QueueUrl),
    });
  }

  destroy(): void {
    this.#service.destroy();
  }
}
