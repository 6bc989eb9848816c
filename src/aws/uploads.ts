import type { Upload, Uploads } from "../core/ports/blob.ts";
import { type DynamoTable, fieldsOf, isNew } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Announced uploads in DynamoDB. The TTL deletes them. */
export class DynamoUploads implements Uploads {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async create(upload: Upload): Promise<void> {
    // A late second try of the client must not undo that a task took the upload.
    await this.#table.putIf({ ...upload, ...keys.upload(upload.tenant_id, upload.upload_id) }, isNew);
  }

  async get(tenantId: string, uploadId: string): Promise<Upload | undefined> {
    const item = await this.#table.get(keys.upload(tenantId, uploadId));
    return item && fieldsOf(item);
  }

  take(tenantId: string, uploadId: string, taskId: string, before: string | undefined): Promise<boolean> {
    const free = before === undefined ? "attribute_not_exists(taken_by)" : "taken_by = :before";
    return this.#table.updateIf(keys.upload(tenantId, uploadId), {
      UpdateExpression: "SET taken_by = :task",
      ConditionExpression: `attribute_exists(pk) AND (taken_by = :task OR ${free})`,
      ExpressionAttributeValues: { ":task": taskId, ":before": before },
    });
  }
}
