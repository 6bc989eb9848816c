import { gunzipSync, gzipSync } from "node:zlib";
import type { DynamoTable } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/**
 * The catalogue of task types in the table, as compressed JSON. An item has at most 400 KB, the JSON about ten times
 * that.
 */
export class DynamoCatalog {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  /** @param json A catalogue as text. */
  save(json: string): Promise<void> {
    return this.#table.put({ ...keys.catalog(), gzip: gzipSync(json) });
  }

  delete(): Promise<void> {
    return this.#table.delete(keys.catalog());
  }

  /** Returns the saved text, or undefined. Reads eventually consistent. */
  async load(): Promise<string | undefined> {
    const item = await this.#table.get(keys.catalog(), "eventually");
    return item && gunzipSync(item.gzip as Uint8Array).toString("utf8");
  }
}
