import type { Page } from "./tasks.ts";

/** Parts of a day's list, so that no part gets more writes than a partition of the table takes: 1,000 a second. */
export const blobListShards = 10;

/** A stored object, and what it belongs to. */
export interface BlobEntry {
  /** Key of the object in the bucket. */
  key: string;
  tenant_id: string;
  /** The task that the object belongs to. Absent: it is an upload that no task has taken. */
  task_id?: string;
  /** The upload that the object is. Absent: it is a task's. */
  upload_id?: string;
}

/**
 * Stored objects by the day on which someone looks whether they are still needed. An entry is written before its
 * object, so that a death in between leaves an entry without an object, and never an object without an entry. Contract
 * suite: `test/contract/blob-list.ts`.
 */
export interface BlobList {
  /**
   * Adds an entry to a day's list. Repeatable.
   * @param day UTC date, such as `2027-01-31`.
   * @throws PortUnavailable
   */
  add(day: string, entry: BlobEntry): Promise<void>;
  /**
   * Returns a page of one shard of a day's list.
   * @param shard 0 to 9.
   * @throws PortUnavailable
   */
  page(day: string, shard: number, options: { limit: number; from: string | undefined }): Promise<Page<BlobEntry>>;
  /** Removes an entry. Does nothing when there is none. */
  remove(day: string, entry: BlobEntry): Promise<void>;
}

/** The UTC date of a time in epoch milliseconds. */
export const dayOf = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10);

/** Milliseconds of a day. */
export const dayMs = 86_400_000;
