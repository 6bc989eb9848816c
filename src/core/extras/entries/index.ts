import { keepEntries } from "../../pipeline/send/keep-entries.ts";
import type { Extra } from "../../ports/extra.ts";
import type { StepStore } from "../../ports/steps.ts";

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
