import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { idOf, type TaskRef } from "./task-ref.ts";
import { type ClientOptions, path, Transport } from "./transport.ts";

/** One try of a webhook. */
export interface WebhookTry {
  /** The same for each try of one end of a task: the header `webhook-id`. */
  webhook_id: string;
  number: number;
  at: string;
  /** HTTP status. Null: there was no answer. */
  status: number | null;
  /** Why there was no answer. */
  error: string | null;
  duration_ms: number;
}

/** The tries of a task's webhooks, oldest first. */
export interface WebhookTries {
  /** State of the newest webhook. Null: none was tried. */
  state: "pending" | "delivered" | "failed" | null;
  next_try_at: string | null;
  deliveries: WebhookTry[];
}

/** A webhook that was given up. */
export interface FailedWebhook {
  task_id: string;
  webhook_id: string;
  type: string;
  url: string;
  status: "failed";
  tries: number;
  last_try_at: string | null;
  last_status: number | null;
  last_error: string | null;
}

/** The secret that signs a tenant's webhooks. */
export interface WebhookSecret {
  tenant_id: string;
  secret: string;
  /** Number of earlier secrets that sign, too, for 24 hours after a rotation. */
  also_signing: number;
}

/** Calls about webhooks. Those about secrets and failed webhooks require the role operator. */
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

  /** Makes a new secret. For 24 hours the earlier one signs as well. Sent again only when the API did not take the request. */
  rotateSecret(options?: CallOptions): Promise<WebhookSecret> {
    return this.#transport.postOnce("/webhooks/secret/rotate", {}, options);
  }
}
