import type { Attempt, TaskRecord } from "../../model/record.ts";
import { keepEntries } from "../../pipeline/send/keep-entries.ts";
import { isBeside, keptUntil } from "../../pipeline/send/parts.ts";
import type { Extra } from "../../ports/extra.ts";
import type { DispatchPorts, StepStore } from "../../ports/steps.ts";

/*
 * Four extras with one rule: what a task has stored beside its record is kept for as long as the record.
 */

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

/** The list of a task that collects inputs: the pages are beside its record. */
export const collect: Extra = {
  name: "collect",
  field: "collects",
  keep: ({ lists }, record, purgeAt) => lists.keep(record, keptUntil(purgeAt)),
};

/** Keeps the part with the newest input, where a later submit or an operator has given one. */
export async function keepInput({ records }: DispatchPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  const { input_part: part } = record;
  const until = keptUntil(purgeAt);
  if (part !== undefined && until > keptUntil(record.purge_at)) await records.keepPart(record, `input#${part}`, until);
}

/** The newest input of a task, which its next attempt reads. */
export const input: Extra = { name: "input", field: "input_part", keep: keepInput };

/**
 * The entries of a task's steps, sleeps and waits, and its signals: a later round goes on with them. A task that never
 * started has signals at most, and an attempt has kept the entries that it read.
 */
export const entries = (steps: Pick<StepStore, "load" | "keep">): Extra => ({
  name: "entries",
  async keepRead({ clock }, record, purgeAt) {
    if (record.attempts_total === 0 && record.signals === undefined) return;
    await keepEntries({ clock, steps }, record, await steps.load(record), purgeAt);
  },
});
