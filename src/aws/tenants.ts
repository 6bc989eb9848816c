import { type DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from "#aws-sdk/lib-dynamodb";
import type { Page } from "../core/ports.ts";
import type { FiringProgress, Firings, Tenants } from "../core/schedules/ports.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** The known tenants: a directory in the table, one item each. */
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

  async list({ limit, from }: { limit: number; from?: string | undefined }): Promise<Page<string>> {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": keys.tenantEntry("").pk },
      Limit: limit,
      ...(from === undefined ? {} : { ExclusiveStartKey: keys.tenantEntry(from) }),
    });
    const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
    return { items: Items.map((item) => String(item.sk)), next: LastEvaluatedKey?.sk as string | undefined };
  }
}

/** How far firings for each tenant have come, in the table. */
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
