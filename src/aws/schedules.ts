import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from "#aws-sdk/lib-dynamodb";
import type { Page } from "../core/ports/tasks.ts";
import type { Schedules } from "../core/schedules/ports.ts";
import type { ScheduleKey, ScheduleRecord } from "../core/schedules/schedule-record.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/**
 * The schedules' records in DynamoDB. All schedules of a tenant are in one partition. A partition accepts 1,000 writes a
 * second, which is enough, as EventBridge Scheduler delivers at most 1,000 firings a second.
 */
export class DynamoSchedules implements Schedules {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async create(record: ScheduleRecord): Promise<ScheduleRecord | undefined> {
    const command = new PutCommand({
      TableName: this.#table,
      Item: itemOf(record),
      ConditionExpression: "attribute_not_exists(pk)",
    });
    return (await this.#conditionally(command)) ? undefined : this.get(record);
  }

  async get(key: ScheduleKey): Promise<ScheduleRecord | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.schedule(key), ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : recordOf(Item);
  }

  replace(record: ScheduleRecord, revision: number): Promise<boolean> {
    return this.#conditionally(
      new PutCommand({ TableName: this.#table, Item: itemOf(record), ...ifRevision(revision) }),
    );
  }

  delete(key: ScheduleKey, revision: number): Promise<boolean> {
    return this.#conditionally(
      new DeleteCommand({ TableName: this.#table, Key: keys.schedule(key), ...ifRevision(revision) }),
    );
  }

  async list(tenantId: string, page: { limit: number; from?: string | undefined }): Promise<Page<ScheduleRecord>> {
    const keyOf = (schedule_id: string) => keys.schedule({ tenant_id: tenantId, schedule_id });
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": keyOf("").pk },
      ConsistentRead: true,
      Limit: page.limit,
      ...(page.from === undefined ? {} : { ExclusiveStartKey: keyOf(page.from) }),
    });
    const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
    return { items: Items.map(recordOf), next: LastEvaluatedKey?.sk as string | undefined };
  }

  /** Returns true when the condition held. */
  async #conditionally(command: PutCommand | DeleteCommand): Promise<boolean> {
    return (await ifConditionHolds(port, this.#client.send(command as PutCommand))) !== undefined;
  }
}

const ifRevision = (revision: number) => ({
  ConditionExpression: "revision = :revision",
  ExpressionAttributeValues: { ":revision": revision },
});

/** The task is stored as JSON text, because DynamoDB's numbers have other limits than JSON's. */
const itemOf = (record: ScheduleRecord) => ({ ...record, ...keys.schedule(record), task: JSON.stringify(record.task) });

function recordOf({ pk: _, sk: __, ...item }: Record<string, unknown>): ScheduleRecord {
  return { ...item, task: JSON.parse(String(item.task)) } as unknown as ScheduleRecord;
}
