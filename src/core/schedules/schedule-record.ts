import { v5 as uuidV5 } from "uuid";
import { nextTime } from "./calendar.ts";
import type { ScheduleDefinition } from "./definition.ts";

/** Which schedule: the tenant is part of the key, so that no look-up can cross tenants. */
export interface ScheduleKey {
  tenant_id: string;
  schedule_id: string;
}

/**
 * A schedule's row in the table, the truth about it: its rule in EventBridge Scheduler follows. Times are ISO 8601 UTC with
 * milliseconds. After each field: who writes it, when it changes, what its absence means.
 */
export interface ScheduleRecord extends ScheduleKey, ScheduleDefinition {
  /**
   * `creating` until EventBridge Scheduler has the rule, `deleting` until it has it no more: neither is shown or submits.
   * Every writer but fire.
   */
  state: "creating" | "ready" | "deleting";
  /** Grows with each write, also over a deletion: a writer names the one it has read, and loses to whoever was faster. */
  revision: number;
  /** The revision of the last write by a client: what the rule in EventBridge Scheduler was made from. */
  rule_revision: number;
  /** create, and a change of the task: the version of its input by its type. Absent: 1. */
  input_version?: number;
  /** create: fingerprint of the definition, to tell a repeat from another schedule of the same name; never changes. */
  request_hash: string;
  /** create: the principal, in whose name tasks are submitted; never changes. */
  created_by: string;
  /** create; never changes. */
  created_at: string;
  /** Every client's write. */
  updated_at: string;
  /** create and resume: times before this one were due while nothing was to run, and submit nothing. */
  enabled_since: string;
  /** fire: the times that were given a task, in the order of the decisions, at most the latest 32. */
  fired: string[];
  /** fire: the latest of those times; run: when it was called. Absent: never. */
  last_run_at?: string;
  /** fire and run: the newest task. Absent: there is none. */
  last_task_id?: string;
  /** fire: how many times were given no task. */
  skipped: number;
  /** fire: those times, as in `fired`: a second delivery finds what was decided. */
  skips: string[];
  /** fire: why the last of them was skipped. Absent: none was. */
  last_skip_reason?: string;
  /** fire: why the last time's task was refused, until one is accepted. Absent: it was not. */
  last_error?: string;
  last_error_at?: string;
}

/** The namespace of schedule ids. Fixed for ever: it is part of the promise. */
const namespace = "0f4f0b5e-6c4b-4d0c-9d0e-2f9a8f3f7c55";

/** The id of a tenant's schedule: it follows from the name, so that a name cannot be given twice. */
export const scheduleIdOf = (tenantId: string, name: string): string =>
  uuidV5(JSON.stringify([tenantId, name]), namespace);

/** The id of a schedule that belongs to the app. */
export const appScheduleIdOf = (name: string): string => uuidV5(JSON.stringify([name]), namespace);

/** A schedule as clients see it. */
export function scheduleView(schedule: ScheduleRecord, nowMs: number) {
  return {
    schedule_id: schedule.schedule_id,
    name: schedule.name,
    cron: schedule.cron ?? null,
    every_seconds: schedule.every_seconds ?? null,
    timezone: schedule.timezone,
    enabled: schedule.enabled,
    starts_at: schedule.starts_at ?? null,
    ends_at: schedule.ends_at ?? null,
    overlap: schedule.overlap,
    task: schedule.task,
    next_run_at: schedule.enabled ? (nextTime(schedule, schedule.created_at, nowMs) ?? null) : null,
    last_run_at: schedule.last_run_at ?? null,
    last_task_id: schedule.last_task_id ?? null,
    skipped: schedule.skipped,
    last_skipped_at: schedule.skips.at(-1) ?? null,
    last_skip_reason: schedule.last_skip_reason ?? null,
    last_error: schedule.last_error ?? null,
    last_error_at: schedule.last_error_at ?? null,
    created_by: schedule.created_by,
    created_at: schedule.created_at,
    updated_at: schedule.updated_at,
  };
}
