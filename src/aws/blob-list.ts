import type { BlobEntry, BlobList } from "../core/ports/blob.ts";
import type { Page } from "../core/ports/tasks.ts";
import { type DynamoTable, eachReadable, fieldsOf } from "./dynamo-table.ts";
import { blobListPartition, keys } from "./table.ts";

/**
 * The lists of stored objects in DynamoDB: a partition for each day and shard. Entries have no TTL: without its entry
 * nothing would delete an object before the bucket's lifecycle rule does.
 */
export class DynamoBlobList implements BlobList {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  add(day: string, entry: BlobEntry): Promise<void> {
    return this.#table.put({ ...entry, ...keys.blobEntry(day, entry) });
  }

  async page(
    day: string,
    shard: number,
    { limit, from }: { limit: number; from: string | undefined },
  ): Promise<Page<BlobEntry>> {
    const query = {
      KeyConditionExpression: from === undefined ? "pk = :pk" : "pk = :pk AND sk > :from",
      ExpressionAttributeValues: { ":pk": blobListPartition(day, shard), ":from": from },
      Limit: limit,
    };
    const { items, last } = await this.#table.page(query, "any");
    return { items: eachReadable(items, (item) => fieldsOf<BlobEntry>(item)), next: last?.sk as string | undefined };
  }

  remove(day: string, entry: BlobEntry): Promise<void> {
    return this.#table.delete(keys.blobEntry(day, entry));
  }
}
