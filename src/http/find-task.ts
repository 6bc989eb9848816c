import type { Identity } from "../core/model/identity.ts";
import { noSuchTask } from "../core/model/problem.ts";
import { isKept, type TaskRecord } from "../core/model/record.ts";
import type { Clock, Records } from "../core/ports/tasks.ts";
import type { Call } from "./api.ts";

/** True when a text has the form of an id of a task, operation or schedule. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/**
 * Returns the task in the path, if the caller may see it.
 * @throws Problem `not_found`, the same for another caller's task and for a task that does not exist
 */
export async function findTask(
  ports: { records: Records; clock: Clock },
  call: Call,
  identity: Identity,
): Promise<TaskRecord> {
  const taskId = call.req.param("task_id") ?? "";
  if (!isUuid(taskId)) throw noSuchTask();
  const record = await ports.records.get({ tenant_id: identity.tenantId, task_id: taskId });
  if (record === undefined || !isKept(record, ports.clock.now())) throw noSuchTask();
  if (identity.role === "submitter" && record.requested_by !== identity.principal) throw noSuchTask();
  return record;
}
