import { type DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import type { ApiKey, ApiKeys } from "../core/keys.ts";
import { viaPort } from "./errors.ts";
import { keys } from "./table.ts";

/** API keys in the table. */
export class DynamoApiKeys implements ApiKeys {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async find(keyId: string): Promise<ApiKey | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.apiKey(keyId) });
    const { Item } = await viaPort("the table", this.#client.send(command));
    return Item === undefined ? undefined : ({ ...Item, key_id: keyId } as unknown as ApiKey);
  }
}
