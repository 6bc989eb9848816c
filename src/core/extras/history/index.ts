import type { Attempt, TaskRecord } from "../../model/record.ts";
import { isBeside, keptUntil } from "../../pipeline/send/parts.ts";
import type { Extra } from "../../ports/extra.ts";
import type { DispatchPorts } from "../../ports/steps.ts";

/**
 * Keeps what of a task's history is stored beside its record: the attempts of earlier rounds, and all stacks but the
 * newest.
 */
async function keepHistory({ records }: DispatchPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  const until = keptUntil(purgeAt);
  if (until <= keptUntil(record.purge_at)) return;
  const keepStacks = (attempts: readonly Attempt[]) =>
    Promise.all(
      attempts.filter(isBeside).map(({ round, number }) => records.keepPart(record, `stack#${round}#${number}`, until)),
    );
  for (let round = 1; round < record.round; round++) {
    await records.keepPart(record, `round#${round}`, until);
    await keepStacks(((await records.loadPart(record, `round#${round}`)) as Attempt[] | undefined) ?? []);
  }
  await keepStacks(record.history);
}

/** The history of a task, which is shown as long as its record. */
export const history: Extra = { name: "history", keep: keepHistory, keepEnded: keepHistory };
