import { noSuchTask, Problem } from "../model/problem.ts";
import { iso, statusAt, type TaskKey, type TaskRecord } from "../model/record.ts";
import { type Blobs, resultKey } from "../ports/blob.ts";
import type { Clock, Part, Records } from "../ports/tasks.ts";

export interface AcknowledgePorts {
  records: Records;
  clock: Clock;
  blobs: Pick<Blobs, "delete">;
  /** Removes the result from the webhooks of a task. */
  forgetResult: (key: TaskKey) => Promise<void>;
}

/**
 * Deletes the result of a completed task, because the client has it. First the record loses it, so that no answer
 * refers to a deleted object. Repeatable: another call deletes what a call left that died in between.
 * @throws Problem `conflict` when the task is not completed
 */
export async function acknowledge(ports: AcknowledgePorts, record: TaskRecord): Promise<void> {
  const now = iso(ports.clock.now());
  // The record may be behind the end that the client has seen. The change decides.
  const changed = await ports.records.change(record, {
    when: { status: { is: "completed" }, acknowledged_at: { absent: true } },
    set: { acknowledged_at: now, updated_at: now },
    remove: ["result", "result_ref"],
  });
  if (changed.record === undefined) throw noSuchTask();
  const status = statusAt(changed.record, now);
  if (status !== "completed") {
    throw new Problem("conflict", `A task that is ${status} has no result to acknowledge.`);
  }
  await deleteResult(ports, changed.record);
  if (changed.record.callback?.include_result === true) await ports.forgetResult(changed.record);
}

/** The attempt that completed the task was its last one, so its number is that of the result. */
async function deleteResult({ records, blobs }: AcknowledgePorts, record: TaskRecord): Promise<void> {
  const part: Part = `result#${record.attempts_total}`;
  await blobs.delete(resultKey(record));
  const stored = await records.loadPart(record, part);
  if (stored !== undefined && stored !== null) await records.savePart(record, part, null, record.purge_at);
}
