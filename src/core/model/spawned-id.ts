import { taskIdOf } from "./idempotency.ts";
import type { TaskRecord } from "./record.ts";

/**
 * The idempotency key of a spawned child: apart from those of `submitChild`. No client can send it.
 */
export const spawnKey = ({ task_id, created_at }: TaskRecord, key: string): string =>
  `family\n${task_id}\n${created_at}\n${key}`;

/** The id of a parent's spawned child. */
export const spawnedId = (parent: TaskRecord, key: string): string =>
  taskIdOf(parent.tenant_id, parent.requested_by, spawnKey(parent, key));
