import { longestKey, uniqueKeyOf } from "../../core/model/idempotency.ts";
import { noSuchTask } from "../../core/model/problem.ts";
import type { TaskRecord } from "../../core/model/record.ts";
import type { Clock, Records } from "../../core/ports/tasks.ts";
import type { UniqueKeys } from "../../core/ports/unique.ts";
import type { Asked } from "./act.ts";

/** A request for a task. */
export type AskedForTask = Pick<Asked, "by" | "params"> & { addTarget: Asked["addTarget"] | undefined };

/** The ports that find a task. */
export interface FindTaskPorts {
  records: Records;
  clock: Clock;
  uniqueKeys: Pick<UniqueKeys, "holder">;
}

/**
 * Reads the task that took a unique key last, of the keys that the caller's submits have.
 * @param address Type and key as `type:key`, without the `~` before them. A key may have colons, a type has none.
 * @throws Problem `not_found`, the same for a key that nobody took and for another caller's
 */
export async function taskOfKey(
  ports: FindTaskPorts,
  { by, addTarget }: AskedForTask,
  address: string,
): Promise<TaskRecord> {
  const at = address.indexOf(":");
  const [type, key] = [address.slice(0, at), address.slice(at + 1)];
  if (at < 1 || key === "" || key.length > longestKey || !key.isWellFormed()) throw noSuchTask();
  const tenant_id = by.tenantId;
  const holder = await ports.uniqueKeys.holder({ tenant_id, type, unique_key: uniqueKeyOf(by, { key }) });
  const record = holder && (await ports.records.get({ tenant_id, task_id: holder.task_id }));
  // Another task can have the id since: that of a later submit with the same idempotency key.
  if (record === undefined || record.created_at !== holder?.created_at) throw noSuchTask();
  await addTarget?.({ task_id: record.task_id, unique_key: address });
  return record;
}
