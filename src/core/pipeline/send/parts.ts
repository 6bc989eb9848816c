import type { Attempt, TaskKey, TaskRecord } from "../../model/record.ts";
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

/*
 * A stack has up to 2 KB, and each write of a record costs a unit for each KB of it. So a record has the newest stack
 * only. When another attempt fails, an earlier stack becomes a part beside the record, or is not stored again if the
 * new one is the same.
 */

/**
 * The history of a record before an attempt that failed, with the stacks that leave the record stored beside it.
 * Undefined: none leaves it.
 * @param purgeAt The record's new `purge_at`.
 */
export async function historyBefore(
  { records }: { records: Records },
  record: TaskRecord,
  failed: Attempt,
  purgeAt: number,
): Promise<Attempt[] | undefined> {
  const { history } = record;
  if (failed.stack === undefined || history.every(({ stack }) => stack === undefined)) return undefined;
  const same = new Set(history.flatMap(({ number, stack }) => (stack === failed.stack ? [number] : [])));
  const until = keptUntil(Math.max(purgeAt, record.purge_at));
  const entries = history.map(async ({ stack, ...entry }): Promise<Attempt> => {
    const { round, number, stack_of } = entry;
    if (same.has(stack_of ?? number)) return { ...entry, stack_of: failed.number };
    if (stack === undefined) return entry;
    await records.savePart(record, `stack#${round}#${number}`, stack, until);
    return { ...entry, stack_of: number };
  });
  return Promise.all(entries);
}

/** The attempts of one round, each with its stack. Reads those that are stored beside the record. */
export async function withStacks(
  { records }: { records: Records },
  key: TaskKey,
  attempts: readonly Attempt[],
): Promise<Attempt[]> {
  const stacks = new Map(
    attempts.map((attempt) => {
      const { round, number, stack } = attempt;
      return [number, isBeside(attempt) ? records.loadPart(key, `stack#${round}#${number}`) : stack];
    }),
  );
  return Promise.all(
    attempts.map(async ({ stack_of: of, ...attempt }) => {
      const stack = await stacks.get(of ?? attempt.number);
      return typeof stack === "string" ? { ...attempt, stack } : attempt;
    }),
  );
}
