import { randomUUID } from "node:crypto";
import type { TaskView } from "../../src/core/model/task-view.ts";
import type { ChangeNotice, EndNotice } from "../../src/core/ports/notify.ts";

const at = "2027-01-01T00:00:01.000Z";

/** A task that has ended. */
const endedTask = (more: Partial<TaskView>): TaskView => ({
  task_id: randomUUID(),
  type: "report.make",
  status: "completed",
  priority: "normal",
  progress: 100,
  caused_by: null,
  on_failed: null,
  progress_message: null,
  progress_data: null,
  attempts: 1,
  max_attempts: 5,
  tags: {},
  created_at: "2027-01-01T00:00:00.000Z",
  updated_at: at,
  started_at: "2027-01-01T00:00:00.000Z",
  finished_at: at,
  run_at: null,
  next_attempt_at: null,
  waiting_for: null,
  expires_at: null,
  retained_until: null,
  cancel_requested_at: null,
  outcome: null,
  result: null,
  result_url: null,
  error: null,
  error_type: null,
  error_kind: null,
  correlation_id: "corr",
  requested_by: "olga",
  schedule_id: null,
  scheduled_for: null,
  parent_id: null,
  children: null,
  ...more,
});

/** The notice of a task's end, of the tenant acme and the principal olga by default. */
export function endNotice({
  task: given = {},
  ...more
}: Partial<Omit<EndNotice, "task">> & { task?: Partial<TaskView> } = {}): EndNotice {
  const task = endedTask({ ...(more.task_id !== undefined && { task_id: more.task_id }), ...given });
  const about = { tenant_id: "acme", task_id: task.task_id, requested_by: "olga", type: task.type };
  return { kind: "end", id: `msg_${task.task_id}`, ...about, ...more, task };
}

/** The notice of a task's progress, of the tenant acme and the principal olga by default. */
export const changeNotice = (more: Partial<ChangeNotice> = {}): ChangeNotice => ({
  kind: "change",
  tenant_id: "acme",
  task_id: randomUUID(),
  requested_by: "olga",
  type: "report.make",
  change: "progress",
  status: "processing",
  progress: 40,
  at,
  ...more,
});
