import type { Consistency, DynamoTable } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** A reader reads the stored number again after this time, in milliseconds. */
const readEveryMs = 10_000;

/** A larger number is used this long after it was stored, in milliseconds: by then every reader has read it. */
const usableAfterMs = 20_000;

/** The largest number of shards that a deployment ever used, as it is stored. */
interface Stored {
  shards: number;
  /** Epoch milliseconds from which records may be written to all these shards. */
  usableAtMs: number;
}

/**
 * The number of shards of each list. It is a setting, and the largest one ever used is stored in the table: readers
 * read that many shards, so that no task leaves a list when the setting changes. A writer uses only shard 0 until all
 * readers know of its number.
 */
export class ListShards {
  readonly #table: DynamoTable;
  readonly #setting: number;
  #usableAt: Promise<number> | undefined;
  #stored: { value: Promise<Stored>; untilMs: number } | undefined;

  constructor(table: DynamoTable, setting: number) {
    this.#table = table;
    this.#setting = setting;
  }

  /**
   * Returns the number of shards for a new entry. Costs a request only once in a process, and none when the setting is
   * 1.
   */
  async forWriting(): Promise<number> {
    if (this.#setting === 1) return 1;
    // When the number cannot be stored, shard 0 takes the entry, and the next one tries again.
    this.#usableAt ??= this.#announce().catch(() => {
      this.#usableAt = undefined;
      return Number.POSITIVE_INFINITY;
    });
    return Date.now() >= (await this.#usableAt) ? this.#setting : 1;
  }

  /** Returns the number of shards to read. */
  async forReading(): Promise<number> {
    const now = Date.now();
    if (this.#stored === undefined || now >= this.#stored.untilMs) {
      this.#stored = { value: this.#read("eventually"), untilMs: now + readEveryMs };
      this.#stored.value.catch(() => {
        this.#stored = undefined;
      });
    }
    return Math.max(this.#setting, (await this.#stored.value).shards);
  }

  /** Stores the setting if it is larger than the stored number. Returns the time from which it may be used. */
  async #announce(): Promise<number> {
    const stored = await this.#read("consistently");
    if (stored.shards >= this.#setting) return stored.usableAtMs;
    const usableAtMs = Date.now() + usableAfterMs;
    const done = await this.#table.updateIf(keys.listShards(), {
      UpdateExpression: "SET shards = :shards, usable_at = :at",
      ConditionExpression: "attribute_not_exists(shards) OR shards < :shards",
      ExpressionAttributeValues: { ":shards": this.#setting, ":at": usableAtMs },
    });
    return done ? usableAtMs : this.#announce();
  }

  async #read(how: Consistency): Promise<Stored> {
    const item = await this.#table.get(keys.listShards(), how);
    return { shards: Number(item?.shards ?? 1), usableAtMs: Number(item?.usable_at ?? 0) };
  }
}
