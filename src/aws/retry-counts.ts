import { type Tier, tiers } from "../core/model/words.ts";
import type { RetryCounts } from "../core/ports/tasks.ts";
import { indexes } from "../settings/config.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { retryingPartitions } from "./table.ts";

/** Counts the entries of an index. One page of each partition is read, at most 1 MB: some thousands of entries. */
export class DynamoRetryCounts implements RetryCounts {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async ofTiers(): Promise<Record<Tier, number>> {
    const counts = await Promise.all(tiers.map(async (tier) => [tier, await this.#ofTier(tier)] as const));
    return Object.fromEntries(counts) as Record<Tier, number>;
  }

  async #ofTier(tier: Tier): Promise<number> {
    const counts = await Promise.all(
      retryingPartitions(tier).map((partition) =>
        this.#table.count({
          IndexName: indexes.deadLetters,
          KeyConditionExpression: "dead_letter_pk = :pk",
          ExpressionAttributeValues: { ":pk": partition },
        }),
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}
