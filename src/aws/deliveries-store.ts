import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from "#aws-sdk/lib-dynamodb";
import { indexes } from "../config.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Page } from "../core/ports/tasks.ts";
import { type Deliveries, type Delivery, type FailedQuery, failedKey, type SlowHosts } from "../core/ports/webhooks.ts";
import { batchGet } from "./batch-get.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { failedDeliveries, keyAttributes, keys } from "./table.ts";

const port = "the table";

/** Deliveries of webhooks in DynamoDB, in the partition of their task. The TTL deletes them. */
export class DynamoDeliveries implements Deliveries {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async get(key: TaskKey, id: string): Promise<Delivery | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.delivery(key, id), ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : deliveryOf(Item);
  }

  async ofTask(key: TaskKey): Promise<Delivery[]> {
    const { pk, sk } = keys.delivery(key, "");
    const items: Record<string, unknown>[] = [];
    let from: Record<string, unknown> | undefined;
    do {
      const command = new QueryCommand({
        TableName: this.#table,
        KeyConditionExpression: "pk = :pk AND begins_with(sk, :sk)",
        ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
        ...(from && { ExclusiveStartKey: from }),
      });
      const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
      items.push(...Items);
      from = LastEvaluatedKey;
    } while (from !== undefined);
    return items.map(deliveryOf).sort((a, b) => a.created_at.localeCompare(b.created_at));
  }

  async put(delivery: Delivery, expectedTries: number): Promise<boolean> {
    const { tenant_id, tries, state } = delivery;
    const command = new PutCommand({
      TableName: this.#table,
      Item: {
        ...delivery,
        tries_count: tries.length,
        ...keys.delivery(delivery, delivery.id),
        ...(state === "failed" && { dead_letter_pk: failedDeliveries(tenant_id), dead_letter_sk: failedKey(delivery) }),
      },
      ...(expectedTries < 0
        ? { ConditionExpression: "attribute_not_exists(pk)" }
        : { ConditionExpression: "tries_count = :tries", ExpressionAttributeValues: { ":tries": expectedTries } }),
    });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }

  async listFailed({ tenantId, limit, from }: FailedQuery): Promise<Page<Delivery>> {
    const command = new QueryCommand({
      TableName: this.#table,
      IndexName: indexes.deadLetters,
      KeyConditionExpression:
        from === undefined ? "dead_letter_pk = :pk" : "dead_letter_pk = :pk AND dead_letter_sk < :from",
      ExpressionAttributeValues: { ":pk": failedDeliveries(tenantId), ...(from !== undefined && { ":from": from }) },
      ScanIndexForward: false,
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
    const wanted = Items.map(({ pk, sk }) => ({ pk, sk }));
    const found = await batchGet(this.#client, this.#table, wanted, { port, consistent: true });
    // One that was redelivered since has left the list.
    const items = found
      .map(deliveryOf)
      .filter(({ state }) => state === "failed")
      .sort((a, b) => (failedKey(a) < failedKey(b) ? 1 : -1));
    return { items, next: LastEvaluatedKey?.dead_letter_sk as string | undefined };
  }
}

function deliveryOf(item: Record<string, unknown>): Delivery {
  const { tries_count: _, ...delivery } = item;
  for (const name of keyAttributes) delete delivery[name];
  return delivery as unknown as Delivery;
}

/** Length of the interval whose requests share the places, in milliseconds. */
const intervalMs = 10_000;

/** Slow hosts in DynamoDB: an item for each host of a tenant, and one for each interval in which places are taken. */
export class DynamoSlowHosts implements SlowHosts {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async isSlow(tenantId: string, host: string, nowMs: number): Promise<boolean> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.slowHost(tenantId, host) });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Number(Item?.slow_until ?? 0) > nowMs;
  }

  async markSlow(tenantId: string, host: string, untilMs: number): Promise<void> {
    const Item = { ...keys.slowHost(tenantId, host), slow_until: untilMs, purge_at: Math.ceil(untilMs / 1000) };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async takePlace(tenantId: string, host: string, nowMs: number, most: number): Promise<boolean> {
    const interval = Math.floor(nowMs / intervalMs);
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.slowHost(tenantId, `${host}#${interval}`),
      UpdateExpression: "ADD taken :one SET purge_at = :purge",
      ConditionExpression: "attribute_not_exists(taken) OR taken < :most",
      ExpressionAttributeValues: { ":one": 1, ":most": most, ":purge": Math.ceil(nowMs / 1000) + 60 },
    });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }
}
