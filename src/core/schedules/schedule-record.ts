import { namedUuid } from "../../util/uuid.ts";
import type { ScheduleSource } from "../model/words.ts";
import { nextTime } from "./calendar.ts";
import type { Overlap, ScheduleDefinition, ScheduledTask } from "./definition.ts";

/** Key of a schedule. The tenant is part of it, so that no read can cross tenants. */
export interface ScheduleKey {
  tenant_id: string;
  schedule_id: string;
}

/**
 * A schedule's row in the table, the only truth about it: the rule in EventBridge Scheduler is derived from it. Times
 * are ISO 8601 UTC with milliseconds. Each field's comment says which action writes it, when it changes, and what its
 * absence means.
 */
export interface ScheduleRecord extends ScheduleKey, ScheduleDefinition {
  /**
   * Every writer but fire: `creating` until the rule exists in EventBridge Scheduler, `deleting` until it is deleted
   * there. In both states the schedule is not shown and submits nothing.
   */
  state: "creating" | "ready" | "deleting";
  /**
   * Every writer: increases with each write, also over a deletion. A write fails if the revision changed since its
   * read.
   */
  revision: number;
  /** Every client's write: the revision from which the rule in EventBridge Scheduler is made. */
  rule_revision: number;
  /** create, and a change of the task: version of the task's input. Absent: 1. */
  input_version?: number;
  /**
   * create: fingerprint of the definition, to tell a repeat from another schedule with the same name; never changes.
   */
  request_hash: string;
  /** create: the principal, who also is the principal of its tasks; never changes. */
  created_by: string;
  /** create; never changes. */
  created_at: string;
  /** Every client's write. */
  updated_at: string;
  /** pause: time of it and its principal; resume removes them. Absent: not paused, or by an earlier release. */
  paused_since?: string;
  paused_by?: string;
  /** create and resume: scheduled times before this one submit nothing. */
  enabled_since: string;
  /** fire: the latest 32 times that got a task, in the order of the decisions. */
  fired: string[];
  /** fire: the latest of those times; run: time of the call. Absent: never. */
  last_run_at?: string;
  /** fire and run: id of the newest task. Absent: there is none. */
  last_task_id?: string;
  /** fire: number of skipped times. */
  skipped: number;
  /** fire: the latest 32 skipped times, so that a second delivery of one finds the decision. */
  skips: string[];
  /** fire: reason of the last skip. Absent: there was none. */
  last_skip_reason?: string;
  /** fire: reason why the last time's task was refused; removed when one is accepted. Absent: it was not refused. */
  last_error?: string;
  last_error_at?: string;
}

/** Namespace of schedule ids. It must never change, as clients rely on the ids. */
const namespace = "0f4f0b5e-6c4b-4d0c-9d0e-2f9a8f3f7c55";

/**
 * Returns the id of a tenant's schedule. It is derived from the name, so that no two schedules can have the same name.
 */
export const scheduleIdOf = (tenantId: string, name: string): string =>
  namedUuid(JSON.stringify([tenantId, name]), namespace);

/** Returns the id of a schedule that belongs to the app. */
export const appScheduleIdOf = (name: string): string => namedUuid(JSON.stringify([name]), namespace);

/** Idempotency key of a scheduled time. No client can send it, as a client's key has no line breaks. */
export const firingKey = (scheduleId: string, scheduledFor: string): string =>
  `schedule\n${scheduleId}\n${scheduledFor}`;

/** A schedule as clients see it. */
export interface ScheduleView {
  schedule_id: string;
  name: string;
  /** `code`: the app's own, which its code defines; `api`: made by a client. */
  source: ScheduleSource;
  /** True: each time submits one task for every known tenant. */
  for_each_tenant: boolean;
  cron: string | null;
  every_seconds: number | null;
  timezone: string;
  enabled: boolean;
  paused_since: string | null;
  paused_by: string | null;
  starts_at: string | null;
  ends_at: string | null;
  overlap: Overlap;
  /** One of the code: it has an alarm of its own. */
  alarm: boolean;
  task: ScheduledTask;
  next_run_at: string | null;
  last_run_at: string | null;
  last_task_id: string | null;
  skipped: number;
  last_skipped_at: string | null;
  last_skip_reason: string | null;
  last_error: string | null;
  last_error_at: string | null;
  created_by: string;
  /** Null for one of the code. */
  created_at: string | null;
  updated_at: string | null;
  /** Only in a list of all tenants. */
  tenant_id?: string | undefined;
}

/** A client's schedule as clients see it. */
export function scheduleView(schedule: ScheduleRecord, nowMs: number): ScheduleView {
  return {
    schedule_id: schedule.schedule_id,
    name: schedule.name,
    source: "api",
    for_each_tenant: false,
    cron: schedule.cron ?? null,
    every_seconds: schedule.every_seconds ?? null,
    timezone: schedule.timezone,
    enabled: schedule.enabled,
    paused_since: schedule.paused_since ?? null,
    paused_by: schedule.paused_by ?? null,
    starts_at: schedule.starts_at ?? null,
    ends_at: schedule.ends_at ?? null,
    overlap: schedule.overlap,
    alarm: schedule.alarm ?? false,
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
