import { hourOf, type OpenCount, type Spent, type Usage } from "../core/limits/ports.ts";
import type { DynamoTable, Item, Update } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/**
 * A bucket's item expires after this time without a submit. The bucket is full by then, and a missing item means the
 * same.
 */
const keepBucketSeconds = 86_400;

/** Name of the attribute for one hour's count: `h` and the number of hours since 1970. */
const attributeOf = (hour: number): string => `h${hour}`;

/** Usage of tenants in the table: two items for each tenant that has limits, none for other tenants. */
export class DynamoUsage implements Usage {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async spend(tenantId: string, spend: Parameters<Usage["spend"]>[1]): Promise<Spent> {
    const key = keys.usage(tenantId, "rate");
    if (spend.nowMs + spend.costMs > spend.atMostMs) return this.#refused(key, spend);
    const full = () => this.#table.updated(key, spendFromFull(spend));
    const partial = () => this.#table.updated(key, spendFromPartial(spend));
    const [first, second] = spend.likelyIdle ? [full, partial] : [partial, full];
    const spent = (await first()) ?? (await second());
    if (spent !== undefined) return { done: true, spentUntilMs: Number(spent.spent_until) };
    return this.#refused(key, spend);
  }

  async #refused(key: Item, { nowMs }: Spend): Promise<Spent> {
    const item = await this.#table.get(key);
    return { done: false, spentUntilMs: Number(item?.spent_until ?? nowMs) };
  }

  async reserve(tenantId: string, { by, atMost, nowMs }: Parameters<Usage["reserve"]>[1]) {
    const key = keys.usage(tenantId, "open");
    if (by > atMost) return { done: false, open: openOf(await this.#table.get(key)) };
    const item = await this.#table.updated(key, {
      UpdateExpression: "ADD #total :by, #hour :by SET reserved_at = :now",
      ConditionExpression: "attribute_not_exists(#total) OR #total <= :room",
      ExpressionAttributeNames: { "#total": "total", "#hour": attributeOf(hourOf(nowMs)) },
      ExpressionAttributeValues: { ":by": by, ":room": atMost - by, ":now": nowMs },
    });
    return { done: item !== undefined, open: openOf(item ?? (await this.#table.get(key))) };
  }

  async unreserve(tenantId: string, { by, reservedAtMs }: Parameters<Usage["unreserve"]>[1]): Promise<void> {
    const { ConditionExpression, ExpressionAttributeValues, ...less } = lessOf(hourOf(reservedAtMs), by);
    await this.#table.updated(keys.usage(tenantId, "open"), {
      ...less,
      ConditionExpression: `${ConditionExpression} AND (attribute_not_exists(audited_at) OR audited_at < :reserved)`,
      ExpressionAttributeValues: { ...ExpressionAttributeValues, ":reserved": reservedAtMs },
    });
  }

  async release(tenantId: string, hour: number, by: number): Promise<void> {
    await this.#table.updated(keys.usage(tenantId, "open"), lessOf(hour, by));
  }

  async forget(tenantId: string, hour: number): Promise<void> {
    await this.#table.updated(keys.usage(tenantId, "open"), {
      UpdateExpression: "SET #total = #total - #hour REMOVE #hour",
      ConditionExpression: "attribute_exists(#hour)",
      ExpressionAttributeNames: { "#total": "total", "#hour": attributeOf(hour) },
    });
  }

  async beginAudit(tenantId: string, nowMs: number, unlessAfterMs: number): Promise<boolean> {
    const item = await this.#table.updated(keys.usage(tenantId, "open"), {
      UpdateExpression: "SET audited_at = :now",
      ConditionExpression: "attribute_not_exists(audited_at) OR audited_at <= :before",
      ExpressionAttributeValues: { ":now": nowMs, ":before": unlessAfterMs },
    });
    return item !== undefined;
  }

  async correct(tenantId: string, hour: number, from: number, to: number): Promise<void> {
    await this.#table.updated(keys.usage(tenantId, "open"), {
      UpdateExpression: "SET #hour = :to ADD #total :more",
      ConditionExpression: "#hour = :from",
      ExpressionAttributeNames: { "#total": "total", "#hour": attributeOf(hour) },
      ExpressionAttributeValues: { ":from": from, ":to": to, ":more": to - from },
    });
  }
}

type Spend = Parameters<Usage["spend"]>[1];

/** The update that subtracts from an hour's count. */
const lessOf = (hour: number, by: number): Update => ({
  UpdateExpression: "ADD #total :less, #hour :less",
  ConditionExpression: "#hour >= :by",
  ExpressionAttributeNames: { "#total": "total", "#hour": attributeOf(hour) },
  ExpressionAttributeValues: { ":by": by, ":less": -by },
});

/** The update for a full bucket, whose `spent_until` is in the past. The cost counts from now. */
export const spendFromFull = ({ nowMs, costMs }: Spend): Update => ({
  UpdateExpression: "SET spent_until = :until, purge_at = :purge_at",
  ConditionExpression: "attribute_not_exists(spent_until) OR spent_until <= :now",
  ExpressionAttributeValues: {
    ":until": nowMs + costMs,
    ":now": nowMs,
    ":purge_at": Math.ceil(nowMs / 1000) + keepBucketSeconds,
  },
});

/** The update for a bucket that is not full. The cost is added to `spent_until`. */
export const spendFromPartial = ({ nowMs, costMs, atMostMs }: Spend): Update => ({
  UpdateExpression: "SET spent_until = spent_until + :cost, purge_at = :purge_at",
  ConditionExpression: "spent_until > :now AND spent_until <= :latest",
  ExpressionAttributeValues: {
    ":cost": costMs,
    ":now": nowMs,
    ":latest": atMostMs - costMs,
    ":purge_at": Math.ceil(nowMs / 1000) + keepBucketSeconds,
  },
});

function openOf(item: Item | undefined): OpenCount {
  const hours = Object.entries(item ?? {}).filter(([name]) => /^h\d+$/.test(name));
  return {
    total: Number(item?.total ?? 0),
    hours: new Map(hours.map(([name, count]) => [Number(name.slice(1)), Number(count)])),
    reservedAtMs: Number(item?.reserved_at ?? 0),
  };
}
