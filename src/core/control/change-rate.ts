import { internalTypeNames } from "../model/internal-names.ts";
import { Problem } from "../model/problem.ts";
import { iso, statusAt, type TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/status.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import { startingActions } from "./operation-state.ts";
import { ratePart } from "./slow-start.ts";
import { partsPurgeAt } from "./start-operation.ts";

/**
 * Changes the rate of an operation that starts tasks, also while it runs: within some seconds, or with its next ten
 * tasks.
 * @throws Problem `conflict` when it has ended, or starts no tasks
 */
export async function changeRate(
  { records, clock }: { records: Pick<Records, "savePart">; clock: Clock },
  record: TaskRecord,
  perSecond: number,
): Promise<void> {
  const now = clock.now();
  const status = statusAt(record, iso(now));
  if (isTerminal(status)) throw new Problem("conflict", `The operation is ${status}: it starts no more tasks.`);
  if (!startingActions.some((action) => internalTypeNames[action] === record.type)) {
    throw new Problem("conflict", "Only replays, retries and run-nows have a rate.");
  }
  await records.savePart(record, ratePart, { per_second: perSecond }, partsPurgeAt(now));
}
