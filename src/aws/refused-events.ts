import { SendMessageCommand } from "#aws-sdk/client-sqs";
import type { RefusedEvents } from "../core/schedules/ports.ts";
import type { EventFiring } from "../core/schedules/trigger.ts";
import { queueClient } from "./clients.ts";
import { viaPort } from "./errors.ts";

/** The dead-letter queue of firings in SQS. */
export class SqsRefusedEvents implements RefusedEvents {
  readonly #queueUrl: string | undefined;

  /** @param queueUrl Undefined: the app has no triggers. */
  constructor(queueUrl: string | undefined) {
    this.#queueUrl = queueUrl;
  }

  async keep(firing: EventFiring): Promise<void> {
    if (this.#queueUrl === undefined)
      throw new Error("expected the setting OFFLOAD_FIRINGS_DLQ_URL of an app with triggers");
    const command = new SendMessageCommand({ QueueUrl: this.#queueUrl, MessageBody: JSON.stringify(firing) });
    await viaPort("the dead-letter queue of firings", queueClient().send(command));
  }
}
