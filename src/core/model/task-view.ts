import type { Counts } from "./counts.ts";
import type { ErrorKind } from "./errors.ts";
import type { Status } from "./status.ts";
import type { WaitView } from "./suspension.ts";
import type { Tier } from "./tier.ts";

/** A task as clients see it: the fields and order of the contract. */
export interface TaskView {
  task_id: string;
  type: string;
  status: Status;
  priority: Tier;
  progress: number | null;
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
  /** Only in a list of all tenants. */
  tenant_id?: string | undefined;
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
