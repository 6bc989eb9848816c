import { SendMessageBatchCommand, type SQSClient } from "#aws-sdk/client-sqs";
import { PortUnavailable } from "../core/errors.ts";
import type { Notice } from "../core/notify/notice.ts";
import type { Notices } from "../core/notify/ports.ts";
import { viaPort } from "./errors.ts";

const port = "the notify queue";

/** Most messages of one request to SQS. */
const mostEntries = 10;

/** The notify queue in SQS. The message group is the tenant, for SQS's fair queues. */
export class SqsNotices implements Notices {
  readonly events: boolean;
  readonly hears: Notices["hears"];
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  /** @param hears Finds channels. Default: the deployment has no push. */
  constructor(
    client: SQSClient,
    queueUrl: string,
    { events, hears = () => Promise.resolve(false) }: { events: boolean; hears?: Notices["hears"] | undefined },
  ) {
    this.#client = client;
    this.#queueUrl = queueUrl;
    this.events = events;
    this.hears = hears;
  }

  async send(notices: readonly Notice[], delaySeconds = 0): Promise<void> {
    for (let from = 0; from < notices.length; from += mostEntries) {
      const Entries = notices.slice(from, from + mostEntries).map((notice, index) => ({
        Id: String(index),
        MessageBody: JSON.stringify(notice),
        MessageGroupId: notice.tenant_id,
        ...(delaySeconds > 0 ? { DelaySeconds: delaySeconds } : {}),
      }));
      const command = new SendMessageBatchCommand({ QueueUrl: this.#queueUrl, Entries });
      const { Failed: [failed] = [] } = await viaPort(port, this.#client.send(command));
      if (failed !== undefined) throw new PortUnavailable(port, { cause: failed });
    }
  }
}
