import { onFailedId } from "../../model/on-failed-name.ts";
import { iso, statusAt, type TaskRecord } from "../../model/record.ts";
import type { OnFailedView } from "../../model/task-view.ts";
import type { Clock, Records } from "../../ports/tasks.ts";

/** Reads the task that runs the `onFailed` of a failed task. Null: it has not started. */
export async function readOnFailed(
  { records, clock }: { records: Records; clock: Clock },
  record: TaskRecord,
): Promise<OnFailedView | null> {
  const found = await records.get({ tenant_id: record.tenant_id, task_id: onFailedId(record) });
  return found === undefined ? null : { task_id: found.task_id, status: statusAt(found, iso(clock.now())) };
}
