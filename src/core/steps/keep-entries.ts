import type { Clock } from "../ports.ts";
import type { TaskRecord } from "../record.ts";
import type { StepOwner, StepStore, StoredEntry } from "./ports.ts";

export interface EntryPorts {
  clock: Clock;
  steps: StepStore;
}

/**
 * Keeps the entries of a task at least until `purgeAt`, epoch seconds. It keeps them for twice as long from now on, so that a task that waits again and
 * again does not write them each time.
 */
export async function keepEntries(
  { clock, steps }: EntryPorts,
  owner: StepOwner,
  entries: readonly StoredEntry[],
  purgeAt: number,
): Promise<void> {
  const early = entries.filter(({ purge_at }) => purge_at < purgeAt);
  if (early.length > 0) await steps.keep(owner, early, 2 * purgeAt - Math.floor(clock.now() / 1000));
}

/** Keeps all entries of a task at least until `purgeAt`, epoch seconds: a later round goes on with them. A task that never started has none. */
export async function keepAllEntries(ports: EntryPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  if (record.attempts_total === 0) return;
  await keepEntries(ports, record, await ports.steps.load(record), purgeAt);
}
