import { PortUnavailable } from "../model/errors.ts";
import { internalTypeNames } from "../model/internal-names.ts";
import { Problem } from "../model/problem.ts";
import { iso, statusAt, type TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/words.ts";
import { requestSweep } from "../pipeline/end/request-own-task.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import { cancelAny } from "./control.ts";
import { loadState, partsPurgeAt, startingActions } from "./operation.ts";
import { ratePart } from "./slow-start.ts";

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

/**
 * Cancels an operation: immediately between two attempts. While one runs, it counts the tasks that have begun and
 * begins no other. What is done stays done. May be repeated.
 * @throws Problem `conflict` when it has ended in another way; Overtaken
 */
export async function cancelOperation(ports: EndPorts, record: TaskRecord, correlationId: string): Promise<TaskRecord> {
  const cancelled = record.status === "cancelled" ? record : await cancelAny(ports, record);
  // A running attempt requests the sweeps itself, when it has stopped.
  if (cancelled.status === "cancelled") await requestSweeps(ports, cancelled, correlationId);
  return cancelled;
}

/** Has the messages of processed dead letters deleted from the DLQs. When this fails, the next sweep deletes them. */
async function requestSweeps(ports: EndPorts, record: TaskRecord, correlationId: string): Promise<void> {
  try {
    const state = await loadState(ports.records, record);
    if (state === undefined || state.position + state.window === 0) return;
    for (const tier of state.tiers) await requestSweep(ports, tier, correlationId);
  } catch (error) {
    if (!(error instanceof PortUnavailable || error instanceof Problem)) throw error;
    ports.log.warn("could not request a sweep of the DLQs; the next sweep deletes the messages", {
      operation_id: record.task_id,
      error: String(error),
    });
  }
}
