import { gunzipSync, gzipSync } from "node:zlib";
import { DeleteCommand, type DynamoDBDocumentClient, GetCommand, PutCommand } from "#aws-sdk/lib-dynamodb";
import { viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** The catalogue of task types in the table, as compressed JSON. An item has at most 400 KB, the JSON about ten times that. */
export class DynamoCatalog {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  /** @param json A catalogue as text. */
  async save(json: string): Promise<void> {
    const Item = { ...keys.catalog(), gzip: gzipSync(json) };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async delete(): Promise<void> {
    await viaPort(port, this.#client.send(new DeleteCommand({ TableName: this.#table, Key: keys.catalog() })));
  }

  /** Returns the saved text, or undefined. Reads eventually consistent. */
  async load(): Promise<string | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.catalog() });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : gunzipSync(Item.gzip as Uint8Array).toString("utf8");
  }
}
