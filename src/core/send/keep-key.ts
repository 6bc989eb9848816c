import type { TaskRecord } from "../model/record.ts";
import type { UniqueKeys } from "../ports/unique.ts";

interface KeepKeyPorts {
  uniqueKeys: UniqueKeys;
}

/** A key is stored for this many seconds longer than the record of its task, as far as that is known. */
const marginSeconds = 86_400;

/** Epoch seconds until which the key of a task is stored. */
export const keyPurgeAt = (recordPurgeAt: number): number => recordPurgeAt + marginSeconds;

/**
 * Keeps the unique key of a task whose record is about to be kept for longer. Called before the change, so that a crash
 * in between leaves no task without its key.
 * @param purgeAt The record's new `purge_at`.
 */
export async function keepKey(ports: KeepKeyPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  const { unique_key } = record;
  if (unique_key !== undefined && purgeAt > record.purge_at)
    await ports.uniqueKeys.keep({ ...record, unique_key }, record, keyPurgeAt(purgeAt));
}
