import type { TaskRecord } from "../../model/record.ts";
import type { StepOwner, StepStore, StoredEntry } from "../../ports/steps.ts";
import type { Clock } from "../../ports/tasks.ts";

export interface EntryPorts {
  clock: Clock;
  steps: StepStore;
}

const daySeconds = 86_400;

/** A new entry is kept at least for this time, in seconds. */
const newSeconds = 60 * daySeconds;

/**
 * An attempt that reads its entries keeps them at least for this time, in seconds: whatever follows, the next attempt
 * finds them. The longest wait for a retry and the longest retention of a failed task, which a client may start again,
 * have 30 days each; a message may be in its queue for 14 more.
 */
const readSeconds = 45 * daySeconds;

/**
 * Epoch second from which on a new entry may be deleted. It outlives its record, which a retry or a longer retention
 * may keep for longer.
 */
export const newEntryPurgeAt = (clock: Clock, { purge_at }: TaskRecord): number =>
  Math.max(purge_at + 2 * daySeconds, Math.floor(clock.now() / 1000) + newSeconds);

/** True for a record that is kept for longer than an entry that was stored a moment before. */
export const outlivesNewEntries = (clock: Clock, purgeAt: number): boolean =>
  purgeAt > Math.floor(clock.now() / 1000) + newSeconds;

/** Keeps the entries that an attempt has read. */
export const keepReadEntries = (ports: EntryPorts, record: TaskRecord, entries: readonly StoredEntry[]) =>
  keepEntries(ports, record, entries, Math.max(record.purge_at, Math.floor(ports.clock.now() / 1000) + readSeconds));

/**
 * Keeps the entries of a task at least until `purgeAt`, epoch seconds. It keeps them for twice as long from now on, so
 * that a task that waits again and again does not write them each time.
 */
export async function keepEntries(
  { clock, steps }: { clock: Clock; steps: Pick<StepStore, "keep"> },
  owner: StepOwner,
  entries: readonly StoredEntry[],
  purgeAt: number,
): Promise<void> {
  const early = entries.filter(({ purge_at }) => purge_at < purgeAt);
  if (early.length > 0) await steps.keep(owner, early, 2 * purgeAt - Math.floor(clock.now() / 1000));
}
