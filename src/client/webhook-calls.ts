import type { FailedWebhook, WebhookSecret, WebhookTries } from "../api/acts/views.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { idOf, type TaskRef } from "./task-ref.ts";
import { type ClientOptions, path, Transport } from "./transport.ts";

/** Calls about webhooks. Calls about secrets and failed webhooks require the role operator. */
export class Webhooks {
  readonly #transport: Transport;

  /**
   * @throws TypeError when an option is missing or not valid
   * @example const { secret } = await new Webhooks({ url, key }).secret();
   */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** Lists the tries of a task's webhooks. */
  tries(task: TaskRef, options?: CallOptions): Promise<WebhookTries> {
    return this.#transport.get(path`/tasks/${idOf(task)}/deliveries`, options);
  }

  /** Lists the webhooks that were given up, newest first. */
  failed(options?: CallOptions): List<FailedWebhook> {
    return new List(this.#transport, "/deliveries", "deliveries", { status: "failed" }, options);
  }

  /** Sends a task's newest webhook again, with the same id, also after a success. */
  redeliver(task: TaskRef, options?: CallOptions): Promise<{ task_id: string; webhook_id: string }> {
    return this.#transport.postOnce(path`/tasks/${idOf(task)}/deliveries/redeliver`, {}, options);
  }

  /** Reads the tenant's secret. */
  secret(options?: CallOptions): Promise<WebhookSecret> {
    return this.#transport.get("/webhooks/secret", options);
  }

  /**
   * Makes a new secret. For 24 hours the earlier one signs as well. Sent again only when the API did not take the
   * request.
   */
  rotateSecret(options?: CallOptions): Promise<WebhookSecret> {
    return this.#transport.postOnce("/webhooks/secret/rotate", {}, options);
  }
}
