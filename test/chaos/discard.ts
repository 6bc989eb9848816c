import { setTimeout as sleep } from "node:timers/promises";
import { tiers } from "../../src/core/model/words.ts";
import type { ChaosClient } from "./client.ts";
import { callers, type Planned } from "./workload.ts";

/**
 * Discards one dead letter of each tier and operator, if there is one. The sweep that follows reads the tier's whole DLQ, so it
 * also deletes what a kill between the sending of a DLQ message and its note in the record has left twice.
 * @returns what went wrong, in words
 */
export async function discardSome(
  client: ChaosClient,
  ids: ReadonlyMap<Planned, string>,
  discarded: Set<Planned>,
): Promise<string[]> {
  const violations: string[] = [];
  for (const caller of callers.filter(({ seesAll }) => seesAll)) {
    const letters = [...ids.keys()].filter(
      (one) => one.ends === "failed" && one.caller.tenant === caller.tenant && !discarded.has(one),
    );
    const chosen = tiers.flatMap((tier) => letters.find((one) => one.tier === tier) ?? []);
    if (chosen.length === 0) continue;
    const body = JSON.stringify({ task_ids: chosen.map((one) => ids.get(one)) });
    const { operation_id: id } = await client.insist(caller.token, "/dead-letters/discard", { method: "POST", body });
    let operation = await client.insist(caller.token, `/operations/${id}`);
    for (
      ;
      !terminal.has(String(operation.status));
      operation = await client.insist(caller.token, `/operations/${id}`)
    ) {
      await sleep(500);
    }
    if (operation.status !== "completed" || operation.done !== chosen.length) {
      violations.push(`the discard of ${chosen.length} dead letters of ${caller.tenant}: ${JSON.stringify(operation)}`);
    }
    for (const one of chosen) discarded.add(one);
  }
  return violations;
}

const terminal = new Set(["completed", "failed", "cancelled", "expired"]);
