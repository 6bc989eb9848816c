import { type DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from "#aws-sdk/lib-dynamodb";
import type { Page } from "../core/ports/tasks.ts";
import type { FiringProgress, Firings, Tenants } from "../core/schedules/ports.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { directoryPartitions, keys } from "./table.ts";

const port = "the table";

/** The directory of tenants in the table, with one item for each tenant, in several partitions. */
export class DynamoTenants implements Tenants {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async note(tenantId: string): Promise<void> {
    const command = new PutCommand({
      TableName: this.#table,
      Item: keys.tenantEntry(tenantId),
      ConditionExpression: "attribute_not_exists(pk)",
    });
    await ifConditionHolds(port, this.#client.send(command));
  }

  /** Reads all partitions from the same id on, and merges them. The merged list is complete up to where the first one stopped. */
  async list(page: { limit: number; from?: string | undefined }): Promise<Page<string>> {
    const answers = await Promise.all(directoryPartitions.map((partition) => this.#query(partition, page)));
    const stop = answers.flatMap(({ stoppedAt }) => stoppedAt ?? []).sort()[0];
    const found = [...new Set(answers.flatMap(({ ids }) => ids))].sort();
    const complete = stop === undefined ? found : found.filter((id) => id <= stop);
    const items = complete.slice(0, page.limit);
    return { items, next: items.length < complete.length || stop !== undefined ? items.at(-1) : undefined };
  }

  async #query(partition: string, { limit, from }: { limit: number; from?: string | undefined }) {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: from === undefined ? "pk = :pk" : "pk = :pk AND sk > :from",
      ExpressionAttributeValues: { ":pk": partition, ...(from === undefined ? {} : { ":from": from }) },
      Limit: limit,
    });
    const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
    return { ids: Items.map((item) => String(item.sk)), stoppedAt: LastEvaluatedKey?.sk as string | undefined };
  }
}

/** Progress of firings for each tenant, in the table. */
export class DynamoFirings implements Firings {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async load(scheduleId: string, scheduledFor: string): Promise<FiringProgress | undefined> {
    const Key = keys.firing(scheduleId, scheduledFor);
    const command = new GetCommand({ TableName: this.#table, Key, ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item?.progress as FiringProgress | undefined;
  }

  async save(scheduleId: string, scheduledFor: string, progress: FiringProgress, purgeAt: number): Promise<void> {
    const Item = { ...keys.firing(scheduleId, scheduledFor), progress, purge_at: purgeAt };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }
}
