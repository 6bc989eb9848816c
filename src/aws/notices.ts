import { SendMessageBatchCommand, type SQSClient } from "#aws-sdk/client-sqs";
import { messageText } from "../core/model/envelope.ts";
import { PortUnavailable } from "../core/model/errors.ts";
import type { Notice, Notices } from "../core/ports/notify.ts";
import type { Config } from "../settings/config.ts";
import { queueClient, tableClient } from "./clients.ts";
import { DynamoTable } from "./dynamo-table.ts";
import { viaPort } from "./errors.ts";
import { DynamoListeners } from "./listeners.ts";
import { systemClock } from "./process.ts";

const port = "the notify queue";

/** Most messages of one request to SQS. */
const maxEntries = 10;

/**
 * The port to the deployment's notify queue and its channels.
 * @throws Error without the URL of the queue
 */
export function openNotices(
  config: Config<"table" | "notifyUrl" | "notifyEvents">,
  receives: Notices["receives"],
): Notices {
  if (config.notifyUrl === undefined) throw new Error("OFFLOAD_NOTIFY_URL: expected the URL of the notify queue");
  const listeners = new DynamoListeners(new DynamoTable(tableClient(), config.table), systemClock);
  return new SqsNotices(queueClient(), config.notifyUrl, {
    events: config.notifyEvents,
    receives,
    hears: ({ tenant_id, requested_by }, fresh) => listeners.hears(tenant_id, requested_by, fresh),
  });
}

/** The notify queue in SQS. The message group is the tenant, for SQS's fair queues. */
export class SqsNotices implements Notices {
  readonly events: boolean;
  readonly receives: Notices["receives"];
  readonly hears: Notices["hears"];
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(
    client: SQSClient,
    queueUrl: string,
    { events, receives, hears }: Pick<Notices, "events" | "receives" | "hears">,
  ) {
    this.#client = client;
    this.#queueUrl = queueUrl;
    this.events = events;
    this.receives = receives;
    this.hears = hears;
  }

  async send(notices: readonly Notice[], delaySeconds = 0): Promise<void> {
    for (let from = 0; from < notices.length; from += maxEntries) {
      const Entries = notices.slice(from, from + maxEntries).map((notice, index) => ({
        Id: String(index),
        MessageBody: messageText(notice),
        MessageGroupId: notice.tenant_id,
        ...(delaySeconds > 0 ? { DelaySeconds: delaySeconds } : {}),
      }));
      const command = new SendMessageBatchCommand({ QueueUrl: this.#queueUrl, Entries });
      const { Failed: [failed] = [] } = await viaPort(port, this.#client.send(command));
      if (failed !== undefined) throw new PortUnavailable(port, { cause: failed });
    }
  }
}
