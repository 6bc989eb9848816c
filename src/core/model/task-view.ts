import type { ErrorKind } from "./errors.ts";
import type { Counts } from "./family-node.ts";
import { noteIn, type TaskRecord } from "./record.ts";
import type { WaitView } from "./suspension.ts";
import type { Status, Tier } from "./words.ts";

/** A task as clients see it: the fields and order of the contract. */
export interface TaskView {
  task_id: string;
  type: string;
  status: Status;
  priority: Tier;
  progress: number | null;
  progress_message: string | null;
  progress_data: unknown;
  attempts: number;
  max_attempts: number;
  tags: Record<string, string>;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
  run_at: string | null;
  next_attempt_at: string | null;
  waiting_for: WaitView | null;
  expires_at: string | null;
  retained_until: string | null;
  cancel_requested_at: string | null;
  outcome: string | null;
  result: unknown;
  result_url: string | null;
  error: string | null;
  error_type: string | null;
  error_kind: ErrorKind | null;
  correlation_id: string;
  requested_by: string;
  schedule_id: string | null;
  scheduled_for: string | null;
  parent_id: string | null;
  children: ChildrenView | null;
  caused_by: string | null;
  /** Only of a task that was read by itself or in a list: the task that runs the `onFailed` of its failed round. */
  on_failed: OnFailedView | null;
  /** Only in a list of all tenants. */
  tenant_id?: string | undefined;
}

/** Fields of a view that are not in the record as they are shown. */
type Computed = Pick<
  TaskView,
  | "status"
  | "progress"
  | "attempts"
  | "finished_at"
  | "next_attempt_at"
  | "waiting_for"
  | "outcome"
  | "result"
  | "result_url"
  | "children"
  | "on_failed"
>;

/** The message and the data of a task's progress. */
export function noteView(record: TaskRecord): Pick<TaskView, "progress_message" | "progress_data"> {
  const { message = null, data } = noteIn(record) ?? {};
  return { progress_message: message, progress_data: data === undefined ? null : JSON.parse(data) };
}

/** The view of a record. A field that is shown as it is stored is here, in the record and in the document. */
export const taskView = (record: TaskRecord, computed: Computed): TaskView => ({
  task_id: record.task_id,
  type: record.type,
  status: computed.status,
  priority: record.priority,
  progress: computed.progress,
  ...noteView(record),
  attempts: computed.attempts,
  max_attempts: record.max_attempts,
  tags: record.tags ?? {},
  created_at: record.created_at,
  updated_at: record.updated_at,
  started_at: record.started_at ?? null,
  finished_at: computed.finished_at,
  run_at: record.run_at ?? null,
  next_attempt_at: computed.next_attempt_at,
  waiting_for: computed.waiting_for,
  expires_at: record.expires_at ?? null,
  retained_until: record.retained_until ?? null,
  cancel_requested_at: record.cancel_requested_at ?? null,
  outcome: computed.outcome,
  result: computed.result,
  result_url: computed.result_url,
  error: record.error ?? null,
  error_type: record.error_type ?? null,
  error_kind: record.error_kind ?? null,
  correlation_id: record.correlation_id,
  requested_by: record.requested_by,
  schedule_id: record.schedule_id ?? null,
  scheduled_for: record.scheduled_for ?? null,
  parent_id: record.parent_id ?? null,
  children: computed.children,
  caused_by: record.caused_by ?? null,
  on_failed: computed.on_failed,
});

/** The task that runs `onFailed`. */
export interface OnFailedView {
  task_id: string;
  status: Status;
}

/**
 * The children of a task as clients see them. While they are open, the numbers of a large family lag by some children.
 */
export interface ChildrenView extends Counts {
  total: number;
  open: number;
  /** False while the handler still spawns. */
  sealed: boolean;
}
