import { PortUnavailable } from "../../model/errors.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import { reportChanged } from "../../pipeline/send/report.ts";
import { markedRetention, sameRetention } from "../../pipeline/send/retention.ts";
import { isUnstarted } from "../../pipeline/send/start-time.ts";
import type { SubmitPorts } from "../../pipeline/submit/submit-ports.ts";

/**
 * Ends the tasks that waited for their turn when a task took their key, and whose turn has not come: by one write each,
 * as the API has no right to more. So of many submits of one key before a worker comes, two tasks stay open, and the
 * newest one waits for two. The mark lets the worker that gets the new task's message follow up these ends. A write
 * that fails is left to that worker.
 * @param before Tasks that `record` waits for. Its message is sent: it runs for certain.
 */
export async function endWaiters(ports: SubmitPorts, record: TaskRecord, before: readonly TaskRecord[]): Promise<void> {
  for (const waiter of before) {
    if (mayEnd(waiter)) await endWaiter(ports, waiter, record).catch(unlessUnavailable);
  }
}

/** A child's end is counted, and needs its message for a later round: that is left to the worker. */
const mayEnd = (waiter: TaskRecord): boolean =>
  isUnstarted(waiter) && waitsForTurn(waiter) && waiter.family_leaf === undefined;

async function endWaiter(ports: SubmitPorts, waiter: TaskRecord, { task_id }: TaskRecord): Promise<void> {
  const kept = markedRetention(ports, waiter);
  // What is beside the record would have to be kept for longer first.
  if (kept.purge_at > waiter.purge_at) return;
  const nowIso = iso(ports.clock.now());
  const changed = await ports.records.change(waiter, {
    when: {
      ...{ status: { is: "pending" }, attempts_total: { is: 0 }, created_at: { is: waiter.created_at } },
      // Its turn makes it due.
      ...{ due_at: { is: waiter.due_at }, start_by: { above: nowIso, orAbsent: true }, ...sameRetention(waiter) },
    },
    set: { status: "cancelled", superseded_by: task_id, updated_at: nowIso, finished_at: nowIso, ...kept },
    remove: ["start_by", "kept_input"],
  });
  if (changed.done) reportChanged(ports, changed.record, "cancelled");
}

function unlessUnavailable(error: unknown): void {
  if (!(error instanceof PortUnavailable)) throw error;
}
