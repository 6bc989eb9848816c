import {
  BatchGetCommand,
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from "#aws-sdk/lib-dynamodb";
import { WrittenLater } from "../core/model/errors.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keyAttributes } from "./table.ts";

export type Item = Record<string, unknown>;

/** The condition of a write, in DynamoDB's words. */
export interface Condition {
  ConditionExpression: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
}

/** An update, with or without a condition. */
export type Update = Pick<UpdateCommandInput, "UpdateExpression" | keyof Condition>;

/** A query without its table. Its read is consistent, unless it says otherwise or reads an index. */
export type Query = Omit<QueryCommandInput, "TableName">;

/** Some items of a partition. */
export interface ItemPage {
  items: Item[];
  /** Key of the last item that was read. Undefined: there are no more items. */
  last: Item | undefined;
}

export type Consistency = "consistently" | "eventually";

const port = "the table";

/** The condition of a put: no item has the key. */
export const isNew: Condition = { ConditionExpression: "attribute_not_exists(pk)" };

/**
 * The newest form of an item that this release reads, the attribute `form`. Absent: 1. An item that an earlier release
 * would misread has a higher one.
 */
const knownForm = 1;

/** True for an item in a form that this release knows. */
export const isKnown = ({ form = knownForm }: Item): boolean => Number(form) <= knownForm;

/**
 * Reads each item of a list. An item of a later release is left out: the others are shown.
 * @param read Throws WrittenLater for an item of a later release.
 */
export function eachReadable<T>(items: readonly Item[], read: (item: Item) => T): T[] {
  return items.filter(isKnown).flatMap((item) => {
    try {
      return [read(item)];
    } catch (error) {
      if (error instanceof WrittenLater) return [];
      throw error;
    }
  });
}

/** @throws WrittenLater */
function known<Found extends Item | undefined>(item: Found): Found {
  if (item && !isKnown(item)) throw new WrittenLater(`an item of ${String(item.pk).split("#", 1)}`);
  return item;
}

/** The fields of an item, without the attributes that are only keys of the table. */
export function fieldsOf<Fields>(item: Item): Fields {
  // V8 copies an object more slowly once a member was deleted, and records are copied many times.
  const fields: Item = {};
  for (const name of Object.keys(item)) if (!keyAttributes.has(name)) fields[name] = item[name];
  return fields as Fields;
}

/**
 * The table in DynamoDB, for all stores. A write whose condition does not hold is an answer, not an error.
 * Every method throws PortUnavailable when a later try can succeed; reads throw WrittenLater, which is one, for an item
 * in a form of a later release.
 */
export class DynamoTable {
  readonly #client: DynamoDBDocumentClient;
  readonly #name: string;

  constructor(client: DynamoDBDocumentClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async get(Key: Item, how: Consistency = "consistently"): Promise<Item | undefined> {
    const command = new GetCommand({ TableName: this.#name, Key, ConsistentRead: how === "consistently" });
    return known((await viaPort(port, this.#client.send(command))).Item);
  }

  /**
   * Gets the items of at most 100 keys. DynamoDB may leave some keys for another request.
   * @param forms `any`: items in a form of a later release are among them.
   */
  async getBatch(Keys: Item[], how: Consistency, forms?: "any"): Promise<{ found: Item[]; rest: Item[] }> {
    const RequestItems = { [this.#name]: { Keys, ...(how === "consistently" && { ConsistentRead: true }) } };
    const answer = await viaPort(port, this.#client.send(new BatchGetCommand({ RequestItems })));
    const found = answer.Responses?.[this.#name] ?? [];
    return {
      found: forms === "any" ? found : found.map(known),
      rest: answer.UnprocessedKeys?.[this.#name]?.Keys ?? [],
    };
  }

  async put(Item: Item): Promise<void> {
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#name, Item })));
  }

  /** Returns false when the condition did not hold. */
  async putIf(Item: Item, condition: Condition): Promise<boolean> {
    const command = new PutCommand({ TableName: this.#name, Item, ...condition });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }

  /** Returns false when the condition did not hold. */
  async updateIf(Key: Item, update: Update): Promise<boolean> {
    const command = new UpdateCommand({ TableName: this.#name, Key, ...update });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }

  /** Returns the item after the update, or undefined when the condition did not hold. */
  async updated(Key: Item, update: Update): Promise<Item | undefined> {
    const command = new UpdateCommand({ TableName: this.#name, Key, ...update, ReturnValues: "ALL_NEW" });
    return (await ifConditionHolds(port, this.#client.send(command)))?.Attributes;
  }

  async delete(Key: Item): Promise<void> {
    await viaPort(port, this.#client.send(new DeleteCommand({ TableName: this.#name, Key })));
  }

  /** Returns false when the condition did not hold. */
  async deleteIf(Key: Item, condition: Condition): Promise<boolean> {
    const command = new DeleteCommand({ TableName: this.#name, Key, ...condition });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }

  /** Returns the item that was deleted, or undefined when the condition did not hold. */
  async deleted(Key: Item, condition: Condition): Promise<Item | undefined> {
    const command = new DeleteCommand({ TableName: this.#name, Key, ...condition, ReturnValues: "ALL_OLD" });
    return (await ifConditionHolds(port, this.#client.send(command)))?.Attributes;
  }

  /**
   * Sends one query. It reads at most 1 MB, so it can find fewer items than its limit before there are no more.
   * @param forms `any`: items in a form of a later release are among them.
   */
  async page(query: Query, forms?: "any"): Promise<ItemPage> {
    const { Items: items = [], LastEvaluatedKey: last } = await this.#query(query);
    return { items: forms === "any" ? items : items.map(known), last };
  }

  /** Reads all pages of a query, or as many as have its limit of items. */
  async all({ Limit, ...query }: Query, forms?: "any"): Promise<Item[]> {
    const items: Item[] = [];
    let from: Item | undefined;
    do {
      const limit = Limit === undefined ? {} : { Limit: Limit - items.length };
      const asked = { ...query, ...limit, ...(from === undefined ? {} : { ExclusiveStartKey: from }) };
      const page = await this.page(asked, forms);
      items.push(...page.items);
      from = page.last;
    } while (from !== undefined && items.length < (Limit ?? Number.POSITIVE_INFINITY));
    return items;
  }

  /** Counts items, up to the query's limit. */
  async count(query: Query): Promise<number> {
    return Number((await this.#query({ ...query, Select: "COUNT" })).Count ?? 0);
  }

  /** Ends the client's connections. */
  destroy(): void {
    this.#client.destroy();
  }

  #query(query: Query) {
    const consistent = query.IndexName === undefined ? { ConsistentRead: true } : {};
    return viaPort(port, this.#client.send(new QueryCommand({ TableName: this.#name, ...consistent, ...query })));
  }
}
