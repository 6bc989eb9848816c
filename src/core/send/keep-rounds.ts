import type { TaskRecord } from "../model/record.ts";
import type { Records } from "../ports/tasks.ts";

/** The fields of a round that the next one does not have. */
export const endOfRound = [
  ...(["family_state", "family_root", "family_counts", "closing_from", "family_aggregated"] as const),
  ...(["outcome", "location", "result", "result_ref"] as const),
] as const;

/** Keeps the attempts of a task's earlier rounds at least until `purgeAt`, epoch seconds. */
export async function keepRounds(
  { records }: { records: Records },
  record: TaskRecord,
  purgeAt: number,
): Promise<void> {
  for (let round = 1; round < record.round; round++) {
    const attempts = await records.loadPart(record, `round#${round}`);
    if (attempts !== undefined) await records.savePart(record, `round#${round}`, attempts, purgeAt);
  }
}
