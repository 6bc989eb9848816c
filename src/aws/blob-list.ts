import { DeleteCommand, type DynamoDBDocumentClient, PutCommand, QueryCommand } from "#aws-sdk/lib-dynamodb";
import type { BlobEntry, BlobList } from "../core/ports/blob-list.ts";
import type { Page } from "../core/ports/tasks.ts";
import { viaPort } from "./errors.ts";
import { blobListPartition, keys } from "./table.ts";

const port = "the table";

/**
 * The lists of stored objects in DynamoDB: a partition for each day and shard. Entries have no TTL: without its entry nothing would delete an
 * object before the bucket's lifecycle rule does.
 */
export class DynamoBlobList implements BlobList {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async add(day: string, entry: BlobEntry): Promise<void> {
    const Item = { ...entry, ...keys.blobEntry(day, entry) };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async page(
    day: string,
    shard: number,
    { limit, from }: { limit: number; from: string | undefined },
  ): Promise<Page<BlobEntry>> {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: from === undefined ? "pk = :pk" : "pk = :pk AND sk > :from",
      ExpressionAttributeValues: { ":pk": blobListPartition(day, shard), ":from": from },
      ConsistentRead: true,
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
    return { items: Items.map(entryOf), next: LastEvaluatedKey?.sk as string | undefined };
  }

  async remove(day: string, entry: BlobEntry): Promise<void> {
    const command = new DeleteCommand({ TableName: this.#table, Key: keys.blobEntry(day, entry) });
    await viaPort(port, this.#client.send(command));
  }
}

const entryOf = ({ pk: _, sk: __, ...entry }: Record<string, unknown>): BlobEntry => entry as unknown as BlobEntry;
