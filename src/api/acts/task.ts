import { noSuchTask, Problem } from "../../core/model/problem.ts";
import { hasEnded, isKept, type TaskRecord } from "../../core/model/record.ts";
import { type Identity, seesInputs } from "../../core/model/words.ts";
import { pollAfterSeconds, type ViewPorts, viewTask } from "../../core/pipeline/end/view.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import { type Answer, isUuid } from "./act.ts";
import type { AskedForTask, FindTaskPorts } from "./task-of-key.ts";

/**
 * Returns the task in the path, by its id or as `~type:key` by its unique key, if the caller may see it.
 * @throws Problem `not_found`, the same for another caller's task and for a task that does not exist
 */
export async function taskIn(ports: FindTaskPorts, asked: AskedForTask): Promise<TaskRecord> {
  const { by, params } = asked;
  const { task_id: taskId = "" } = params;
  const record =
    taskId[0] === "~"
      ? await (await import("./task-of-key.ts")).taskOfKey(ports, asked, taskId.slice(1))
      : isUuid(taskId)
        ? await ports.records.get({ tenant_id: by.tenantId, task_id: taskId })
        : undefined;
  if (record === undefined || !isKept(record, ports.clock.now())) throw noSuchTask();
  if (by.role === "submitter" && record.requested_by !== by.principal) throw noSuchTask();
  return record;
}

/** @throws Problem `forbidden` for a viewer that may not read inputs and logs */
export function mustSeeInputs(by: Identity): void {
  if (seesInputs(by)) return;
  throw new Problem("forbidden", "The token's role is viewer, and neither its key nor a claim has `inputs: true`.");
}

/** The headers that tell a client when to poll again. */
export function pollHeaders({ clock }: { clock: Clock }, record: TaskRecord): Record<string, string> {
  const now = clock.now();
  if (hasEnded(record, now)) return { "cache-control": "private, max-age=60" };
  return { "cache-control": "no-store", "retry-after": String(pollAfterSeconds(record, now)) };
}

/** Answers with the task after a change of it. */
export async function changedTask(ports: ViewPorts, record: TaskRecord, status: 200 | 202): Promise<Answer> {
  const json = await viewTask(ports, record);
  const headers = pollHeaders(ports, record);
  return {
    json,
    status,
    headers: status === 202 ? { ...headers, "content-location": `/tasks/${record.task_id}` } : headers,
  };
}
