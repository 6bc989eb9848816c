import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Tier, tiers } from "../../src/core/tier.ts";
import { dlqName } from "../../src/local/resources.ts";
import { differences } from "./check.ts";
import type { ChaosClient } from "./client.ts";
import type { Planned } from "./workload.ts";

/** The numbers of messages in the DLQs that the API shows. */
export async function shownCounts(client: ChaosClient): Promise<Record<Tier, number>> {
  const { queues } = await client.read<{ queues: Record<Tier, { dead_letters: number }> }>("dev-admin", "/queues");
  return Object.fromEntries(tiers.map((tier) => [tier, queues[tier].dead_letters])) as Record<Tier, number>;
}

/**
 * Compares the DLQs with the tasks that failed for good: one message for each. A kill between the sending of a DLQ message and
 * its note in the record makes a second, identical one, which the next sweep removes; these are counted, and are no violations.
 * Reads the queues' file, so the server must have stopped.
 */
export function checkDeadLetterQueues(
  stateDir: string,
  ids: ReadonlyMap<Planned, string>,
  shown: Record<Tier, number>,
): { violations: string[]; identical: number } {
  const database = new DatabaseSync(join(stateDir, "queues.db"), { readOnly: true });
  const violations: string[] = [];
  let identical = 0;
  for (const tier of tiers) {
    const bodies = database.prepare("SELECT body FROM messages WHERE queue = ?").all(dlqName(tier));
    const distinct = new Set(bodies.map(({ body }) => String(body)).map(letterOf));
    identical += bodies.length - distinct.size;
    const failed = [...ids].filter(([one]) => one.ends === "failed" && one.tier === tier).map(([, id]) => id);
    const found = [...distinct].map((letter) => letter.split(" ")[0] ?? "");
    violations.push(...differences(`the DLQ of ${tier}`, failed, found));
    if (shown[tier] !== bodies.length) {
      violations.push(`/queues shows ${shown[tier]} dead letters of ${tier}; its DLQ has ${bodies.length} messages`);
    }
  }
  database.close();
  return { violations, identical };
}

/** A DLQ message's task and time of failure, as text. */
function letterOf(body: string): string {
  const letter = JSON.parse(body) as { original_message: { task_id: string }; last_failed_at: string };
  return `${letter.original_message.task_id} ${letter.last_failed_at}`;
}
