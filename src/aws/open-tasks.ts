import { type DynamoDBDocumentClient, ScanCommand } from "#aws-sdk/lib-dynamodb";
import type { TaskRecord } from "../core/model/record.ts";
import type { OpenTasks } from "../core/ports/tasks.ts";
import { eachReadable, type Item } from "./dynamo-table.ts";
import { viaPort } from "./errors.ts";
import { recordOf } from "./record-items.ts";

/** The open tasks in DynamoDB. */
export class DynamoOpenTasks implements OpenTasks {
  readonly #client: DynamoDBDocumentClient;
  readonly #name: string;

  constructor(client: DynamoDBDocumentClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async part(from: string | undefined): Promise<{ items: TaskRecord[]; next: string | undefined }> {
    const scan = new ScanCommand({
      TableName: this.#name,
      FilterExpression: "sk = :record AND (#status IN (:pending, :processing) OR attribute_exists(rescued_at))",
      ExpressionAttributeNames: { "#status": "status" },
      ExpressionAttributeValues: { ":record": "record", ":pending": "pending", ":processing": "processing" },
      ...(from !== undefined && { ExclusiveStartKey: JSON.parse(from) as Item }),
    });
    const { Items: items = [], LastEvaluatedKey: last } = await viaPort("the table", this.#client.send(scan));
    return { items: eachReadable(items, recordOf), next: last && JSON.stringify(last) };
  }
}
