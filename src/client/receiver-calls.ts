import type { ReceiverDelivery, ReceiverSecret, ReceiverView } from "../api/acts/views.ts";
import type { OperationView } from "../core/control/operation.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import { type ClientOptions, path, type Query, Transport } from "./transport.ts";
import { type Time, toWire } from "./wire.ts";

/** A receiver to create: its URL, and the ends of tasks that it asks for. */
export interface NewReceiver {
  /** `https`, at most 2,048 characters. */
  url: string;
  /** Default: all four. */
  events?: ReceiverView["events"] | undefined;
  /** Types of the tasks, 1 to 100. Null, the default: all. */
  types?: readonly string[] | null | undefined;
  /** At most 256 characters. */
  description?: string | null | undefined;
}

/** Deliveries that began in a range of time. */
export interface DeliveryFilter {
  after?: Time | undefined;
  before?: Time | undefined;
}

/**
 * Calls about receivers of webhooks, for operators: programs that are told of each end of a task of the tenant that
 * they ask for.
 */
export class Receivers {
  readonly #transport: Transport;

  /**
   * @throws TypeError when an option is missing or not valid
   * @example const { secret } = await new Receivers({ url, key }).create({ url: "https://shop.example.com/hooks" });
   */
  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** The receivers of the tenant, oldest first; of all tenants where the client's option `tenant` is `*`. */
  async list(options?: CallOptions): Promise<ReceiverView[]> {
    const list = new List<ReceiverView>(this.#transport, "/webhooks", "webhooks", {}, options);
    const all: ReceiverView[] = [];
    for (let cursor: string | undefined; ; ) {
      const { items, nextCursor } = await list.page({ cursor });
      all.push(...items);
      if (nextCursor === null) return all;
      cursor = nextCursor;
    }
  }

  get(webhookId: string, options?: CallOptions): Promise<ReceiverView> {
    return this.#transport.get(path`/webhooks/${webhookId}`, options);
  }

  /** Creates a receiver. Only this answer has its secret. Sent again only when the API did not take the request. */
  create(receiver: NewReceiver, options?: CallOptions): Promise<ReceiverView & { secret: string }> {
    return this.#transport.postOnce("/webhooks", toWire(receiver), options);
  }

  /** Replaces each given field. `enabled: true` opens a receiver that was disabled. */
  change(
    webhookId: string,
    change: Omit<NewReceiver, "url"> & { url?: string | undefined; enabled?: boolean | undefined },
    options?: CallOptions,
  ): Promise<ReceiverView> {
    const body = toWire(change);
    return this.#transport.call({ method: "PATCH", path: path`/webhooks/${webhookId}`, body }, options);
  }

  async delete(webhookId: string, options?: CallOptions): Promise<void> {
    await this.#transport.call({ method: "DELETE", path: path`/webhooks/${webhookId}` }, options);
  }

  /** Sends a webhook of the type `webhook.test`. */
  test(webhookId: string, options?: CallOptions): Promise<{ webhook_id: string; delivery_id: string }> {
    return this.#transport.postOnce(path`/webhooks/${webhookId}/test`, {}, options);
  }

  /**
   * Makes a new secret. For 24 hours the earlier one signs as well. Sent again only when the API did not take the
   * request.
   */
  rotateSecret(webhookId: string, options?: CallOptions): Promise<ReceiverSecret> {
    return this.#transport.postOnce(path`/webhooks/${webhookId}/secret/rotate`, {}, options);
  }

  /** Lists the deliveries, newest first, each with its body and its tries. */
  deliveries(
    webhookId: string,
    filter: DeliveryFilter & { status?: ReceiverDelivery["status"] | undefined } = {},
    options?: CallOptions,
  ): List<ReceiverDelivery> {
    return new List(
      this.#transport,
      path`/webhooks/${webhookId}/deliveries`,
      "deliveries",
      toWire(filter) as Query,
      options,
    );
  }

  /** Delivers again, in an operation. Default: every delivery that was given up, at most 10,000. */
  replay(
    webhookId: string,
    filter: DeliveryFilter & { status?: "delivered" | "failed" | undefined; perSecond?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<Pick<OperationView, "operation_id" | "matched">> {
    return this.#transport.postOnce(path`/webhooks/${webhookId}/replay`, toWire(filter), options);
  }
}
