import type { Attempt, TaskRecord } from "../../model/record.ts";
import type { Records } from "../../ports/tasks.ts";

/** The fields of a round that the next one does not have. */
export const endOfRound = [
  ...(["family_state", "family_root", "family_counts", "closing_from", "family_aggregated"] as const),
  ...(["family_caught", "family_stop"] as const),
  ...(["outcome", "location", "result", "result_ref"] as const),
] as const;

const weekSeconds = 7 * 86_400;

/**
 * Epoch second from which on a part of the history may be deleted: a whole week that ends with or after the record's
 * `purge_at`. So a task that waits again and again does not write its parts each time.
 */
export const keptUntil = (purgeAt: number): number => Math.ceil(purgeAt / weekSeconds) * weekSeconds;

/** True for an attempt whose stack is a part of its own. */
export const isBeside = ({ number, stack_of }: Attempt): boolean => stack_of === number;

/**
 * Stores the attempts of the record's round beside it: the next round begins without them.
 * @param purgeAt The record's new `purge_at`.
 */
export async function storeRound(
  { records }: { records: Records },
  record: TaskRecord,
  purgeAt: number,
): Promise<void> {
  const until = keptUntil(Math.max(purgeAt, record.purge_at));
  await records.savePart(record, `round#${record.round}`, record.history, until);
}
