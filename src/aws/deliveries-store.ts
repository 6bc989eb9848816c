import type { TaskKey } from "../core/model/record.ts";
import type { Page } from "../core/ports/tasks.ts";
import { type Deliveries, type Delivery, type FailedQuery, failedKey, type SlowHosts } from "../core/ports/webhooks.ts";
import { indexes } from "../settings/config.ts";
import { type DynamoTable, eachReadable, fieldsOf, type Item, isNew } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { failedDeliveries, keys } from "./table.ts";

/** Deliveries of webhooks in DynamoDB, in the partition of their task. The TTL deletes them. */
export class DynamoDeliveries implements Deliveries {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async get(key: TaskKey, id: string): Promise<Delivery | undefined> {
    const item = await this.#table.get(keys.delivery(key, id));
    return item && deliveryOf(item);
  }

  async getMany(wanted: readonly (TaskKey & { id: string })[]): Promise<(Delivery | undefined)[]> {
    const found = await getMany(
      this.#table,
      wanted.map((key) => keys.delivery(key, key.id)),
    );
    const byKey = new Map(found.map((item) => [`${item.pk} ${item.sk}`, deliveryOf(item)] as const));
    return wanted.map((key) => {
      const { pk, sk } = keys.delivery(key, key.id);
      return byKey.get(`${pk} ${sk}`);
    });
  }

  async ofTask(key: TaskKey): Promise<Delivery[]> {
    const { pk, sk } = keys.delivery(key, "");
    const query = {
      KeyConditionExpression: "pk = :pk AND begins_with(sk, :sk)",
      ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
      ConsistentRead: false,
    };
    return eachReadable(await this.#table.all(query, "any"), deliveryOf).sort((a, b) =>
      a.created_at.localeCompare(b.created_at),
    );
  }

  put(delivery: Delivery, expectedTries: number): Promise<boolean> {
    const { tenant_id, tries, state } = delivery;
    const item = {
      ...delivery,
      tries_count: tries.length,
      ...keys.delivery(delivery, delivery.id),
      ...(state === "failed" && { dead_letter_pk: failedDeliveries(tenant_id), dead_letter_sk: failedKey(delivery) }),
    };
    const asExpected =
      expectedTries < 0
        ? isNew
        : { ConditionExpression: "tries_count = :tries", ExpressionAttributeValues: { ":tries": expectedTries } };
    return this.#table.putIf(item, asExpected);
  }

  async listFailed({ tenantId, limit, from }: FailedQuery): Promise<Page<Delivery>> {
    const query = {
      IndexName: indexes.deadLetters,
      KeyConditionExpression:
        from === undefined ? "dead_letter_pk = :pk" : "dead_letter_pk = :pk AND dead_letter_sk < :from",
      ExpressionAttributeValues: { ":pk": failedDeliveries(tenantId), ...(from !== undefined && { ":from": from }) },
      ScanIndexForward: false,
      Limit: limit,
    };
    const { items, last } = await this.#table.page(query, "any");
    const found = await getMany(
      this.#table,
      items.map(({ pk, sk }) => ({ pk, sk })),
      "consistently",
      "any",
    );
    // A delivery that was made again since has left the list.
    const failed = eachReadable(found, deliveryOf)
      .filter(({ state }) => state === "failed")
      .sort((a, b) => (failedKey(a) < failedKey(b) ? 1 : -1));
    return { items: failed, next: last?.dead_letter_sk as string | undefined };
  }
}

const deliveryOf = ({ tries_count: _, ...item }: Item): Delivery => fieldsOf(item);

/** Length of the interval whose requests share the places, in milliseconds. */
const intervalMs = 10_000;

/** Slow hosts in DynamoDB: an item for each host of a tenant, and one for each interval in which places are taken. */
export class DynamoSlowHosts implements SlowHosts {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async areSlow(tenantId: string, hosts: readonly string[], nowMs: number): Promise<boolean[]> {
    const wanted = hosts.map((host) => keys.slowHost(tenantId, host));
    const items = await getMany(this.#table, wanted, "eventually");
    const until = new Map(items.map((item) => [item.sk, Number(item.slow_until ?? 0)]));
    return hosts.map((host) => (until.get(host) ?? 0) > nowMs);
  }

  markSlow(tenantId: string, host: string, untilMs: number): Promise<void> {
    const purgeAt = Math.ceil(untilMs / 1000);
    return this.#table.put({ ...keys.slowHost(tenantId, host), slow_until: untilMs, purge_at: purgeAt });
  }

  acquirePermit(tenantId: string, host: string, nowMs: number, max: number): Promise<boolean> {
    const interval = Math.floor(nowMs / intervalMs);
    return this.#table.updateIf(keys.slowHost(tenantId, `${host}#${interval}`), {
      UpdateExpression: "ADD taken :one SET purge_at = :purge",
      ConditionExpression: "attribute_not_exists(taken) OR taken < :most",
      ExpressionAttributeValues: { ":one": 1, ":most": max, ":purge": Math.ceil(nowMs / 1000) + 60 },
    });
  }

  async releasePermit(tenantId: string, host: string, takenMs: number): Promise<void> {
    const interval = Math.floor(takenMs / intervalMs);
    await this.#table.updateIf(keys.slowHost(tenantId, `${host}#${interval}`), {
      UpdateExpression: "ADD taken :back",
      ConditionExpression: "taken > :none",
      ExpressionAttributeValues: { ":back": -1, ":none": 0 },
    });
  }
}
