import { type BlobEntry, type BlobList, blobListShards } from "../core/ports/blob.ts";
import type { Page } from "../core/ports/tasks.ts";
import { copy } from "./copy.ts";

const nameOf = ({ key, task_id, upload_id = "" }: BlobEntry): string => `${key}#${task_id ?? upload_id}`;

/** The lists of stored objects in memory. */
export class MemoryBlobList implements BlobList {
  readonly #days = new Map<string, Map<string, BlobEntry>>();

  async add(day: string, entry: BlobEntry): Promise<void> {
    const entries = this.#days.get(day) ?? new Map<string, BlobEntry>();
    this.#days.set(day, entries.set(nameOf(entry), { ...entry }));
  }

  async page(
    day: string,
    shard: number,
    { limit, from = "" }: { limit: number; from: string | undefined },
  ): Promise<Page<BlobEntry>> {
    const rest = this.on(day).filter((entry) => shardOf(entry.key) === shard && nameOf(entry) > from);
    const items = rest.slice(0, limit);
    const last = items.at(-1);
    return { items, next: rest.length > items.length && last !== undefined ? nameOf(last) : undefined };
  }

  async remove(day: string, entry: BlobEntry): Promise<void> {
    this.#days.get(day)?.delete(nameOf(entry));
  }

  /** All entries of a day, sorted by key. */
  on(day: string): BlobEntry[] {
    const entries = [...(this.#days.get(day)?.values() ?? [])];
    return copy(entries).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }
}

/** A shard for a key, the same for the same key. */
function shardOf(key: string): number {
  let sum = 0;
  for (let index = 0; index < key.length; index++) sum = (sum * 31 + key.charCodeAt(index)) % 1_000_003;
  return sum % blobListShards;
}
