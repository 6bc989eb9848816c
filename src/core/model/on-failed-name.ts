import { taskIdOf } from "./idempotency.ts";
import type { TaskRecord } from "./record.ts";

/** The idempotency key of a failed round's `onFailed`. No client can send it, as their keys have no line breaks. */
export const onFailedKey = ({ task_id, created_at, round }: TaskRecord): string =>
  `on_failed\n${task_id}\n${created_at}\n${round}`;

/** The id of the task that runs the `onFailed` of a failed round. */
export const onFailedId = (record: TaskRecord): string =>
  taskIdOf(record.tenant_id, record.requested_by, onFailedKey(record));
