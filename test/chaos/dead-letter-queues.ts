import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { dlqName } from "../../src/local/deployment/resources.ts";
import { differences } from "./check.ts";
import type { ChaosClient } from "./client.ts";
import type { Planned } from "./workload.ts";

/** The numbers of messages in the DLQs that the API shows. */
export async function shownCounts(client: ChaosClient): Promise<Record<Tier, number>> {
  const { queues } = await client.read<{ queues: Record<Tier, { dead_letters: number }> }>("dev-admin", "/queues");
  return Object.fromEntries(tiers.map((tier) => [tier, queues[tier].dead_letters])) as Record<Tier, number>;
}

/**
 * Compares the DLQs with the dead letters: exactly one message for each. Reads the queues' file, so the server must have stopped.
 * @param letters The tasks that failed permanently and were not discarded.
 */
export function checkDeadLetterQueues(
  stateDir: string,
  letters: ReadonlyMap<Planned, string>,
  shown: Record<Tier, number>,
): string[] {
  const database = new DatabaseSync(join(stateDir, "queues.db"), { readOnly: true });
  const violations: string[] = [];
  for (const tier of tiers) {
    const bodies = database.prepare("SELECT body FROM messages WHERE queue = ?").all(dlqName(tier));
    const expected = [...letters].filter(([one]) => one.tier === tier).map(([, id]) => id);
    const found = bodies.map(({ body }) => taskOf(String(body)));
    violations.push(...differences(`the DLQ of ${tier}`, expected, found));
    if (shown[tier] !== bodies.length) {
      violations.push(`/queues shows ${shown[tier]} dead letters of ${tier}; its DLQ has ${bodies.length} messages`);
    }
  }
  database.close();
  return violations;
}

function taskOf(body: string): string {
  return (JSON.parse(body) as { original_message: { task_id: string } }).original_message.task_id;
}
