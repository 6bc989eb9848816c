import { type DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { Upload, Uploads } from "../core/ports/uploads.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Announced uploads in DynamoDB. The TTL deletes them. */
export class DynamoUploads implements Uploads {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async create(upload: Upload): Promise<void> {
    const command = new PutCommand({
      TableName: this.#table,
      Item: { ...upload, ...keys.upload(upload.tenant_id, upload.upload_id) },
      // A late second try of the client must not undo that a task took the upload.
      ConditionExpression: "attribute_not_exists(pk)",
    });
    await ifConditionHolds(port, this.#client.send(command));
  }

  async get(tenantId: string, uploadId: string): Promise<Upload | undefined> {
    const Key = keys.upload(tenantId, uploadId);
    const command = new GetCommand({ TableName: this.#table, Key, ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : uploadOf(Item);
  }

  async take(tenantId: string, uploadId: string, taskId: string, before: string | undefined): Promise<boolean> {
    const free = before === undefined ? "attribute_not_exists(taken_by)" : "taken_by = :before";
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.upload(tenantId, uploadId),
      UpdateExpression: "SET taken_by = :task",
      ConditionExpression: `attribute_exists(pk) AND (taken_by = :task OR ${free})`,
      ExpressionAttributeValues: { ":task": taskId, ":before": before },
    });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }
}

const uploadOf = ({ pk: _, sk: __, ...upload }: Record<string, unknown>): Upload => upload as unknown as Upload;
