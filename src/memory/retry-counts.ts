import { type Tier, tiers } from "../core/model/words.ts";
import type { RetryCounts } from "../core/ports/tasks.ts";
import type { MemoryRecords } from "./records.ts";

/** Counts the records in memory. */
export class MemoryRetryCounts implements RetryCounts {
  readonly #records: MemoryRecords;

  constructor(records: MemoryRecords) {
    this.#records = records;
  }

  async ofTiers(): Promise<Record<Tier, number>> {
    const waiting = this.#records.all();
    const countOf = (tier: Tier) => waiting.filter(({ retrying_in }) => retrying_in === tier).length;
    return Object.fromEntries(tiers.map((tier) => [tier, countOf(tier)])) as Record<Tier, number>;
  }
}
