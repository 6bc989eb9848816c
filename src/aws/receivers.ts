import type { Page } from "../core/ports/tasks.ts";
import {
  type LoggedDelivery,
  type LogQuery,
  logKey,
  type Receiver,
  type ReceiverKey,
  type Receivers,
} from "../core/ports/webhooks.ts";
import { type DynamoTable, fieldsOf, type Item } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/**
 * Receivers of webhooks in DynamoDB: those of a tenant in one partition, the log of each in a partition of its own. The
 * TTL deletes the log.
 */
export class DynamoReceivers implements Receivers {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async get(key: ReceiverKey): Promise<Receiver | undefined> {
    const item = await this.#table.get(keys.receiver(key));
    return item && receiverOf(item);
  }

  async list(tenantId: string): Promise<Receiver[]> {
    const items = await this.#table.all({
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": keys.receiver({ tenant_id: tenantId, webhook_id: "" }).pk },
    });
    return items.map(receiverOf).sort((a, b) => a.created_at.localeCompare(b.created_at));
  }

  put(receiver: Receiver, revision: number): Promise<boolean> {
    const asSeen = revision === 0 ? "attribute_not_exists(pk)" : "revision = :seen";
    return this.#table.putIf(
      { ...receiver, ...keys.receiver(receiver) },
      {
        // A repeated request of a client whose first answer was lost stores the same receiver again.
        ConditionExpression: `${asSeen} OR (revision = :own AND updated_at = :at)`,
        ExpressionAttributeValues: {
          ...(revision > 0 && { ":seen": revision }),
          ":own": receiver.revision,
          ":at": receiver.updated_at,
        },
      },
    );
  }

  delete(key: ReceiverKey): Promise<void> {
    return this.#table.delete(keys.receiver(key));
  }

  log(key: ReceiverKey, delivery: LoggedDelivery): Promise<void> {
    return this.#table.put({ ...delivery, ...keys.receiverLog(key, logKey(delivery)) });
  }

  async logged(key: ReceiverKey, query: LogQuery): Promise<Page<LoggedDelivery>> {
    const { limit, from, after = "0", before = "~" } = query;
    const { items, last } = await this.#table.page({
      KeyConditionExpression: "pk = :pk AND sk BETWEEN :after AND :before",
      ExpressionAttributeValues: { ":pk": keys.receiverLog(key, "").pk, ":after": after, ":before": before },
      ScanIndexForward: false,
      ConsistentRead: false,
      Limit: limit,
      ...(from !== undefined && { ExclusiveStartKey: keys.receiverLog(key, from) }),
    });
    return { items: items.map((item) => fieldsOf<LoggedDelivery>(item)), next: last?.sk as string | undefined };
  }
}

const receiverOf = (item: Item): Receiver => fieldsOf<Receiver>(item);
