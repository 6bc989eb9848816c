import { taskIdOf } from "../../model/idempotency.ts";
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

/** The idempotency key of a failed round's `onFailed`. No client can send it, as their keys have no line breaks. */
export const onFailedKey = ({ task_id, created_at, round }: TaskRecord): string =>
  `on_failed\n${task_id}\n${created_at}\n${round}`;

/** The id of the task that runs the `onFailed` of a failed round. */
export const onFailedId = (record: TaskRecord): string =>
  taskIdOf(record.tenant_id, record.requested_by, onFailedKey(record));
