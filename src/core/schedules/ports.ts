import type { Page } from "../ports/tasks.ts";
import type { AppPayload, PurgePayload, SchedulePayload } from "./rule-input.ts";
import type { ScheduleKey, ScheduleRecord } from "./schedule-record.ts";
import type { EventFiring } from "./trigger.ts";

/**
 * The schedules' records in the table. All methods throw `PortUnavailable`. Contract suite:
 * `test/contract/schedules.ts`.
 */
export interface Schedules {
  /** Writes a new record. If one with its key exists, writes nothing and returns that one. */
  create(record: ScheduleRecord): Promise<ScheduleRecord | undefined>;
  /** Reads the record with strong consistency. */
  get(key: ScheduleKey): Promise<ScheduleRecord | undefined>;
  /** Replaces the record that has this revision. Returns false when there is none. */
  replace(record: ScheduleRecord, revision: number): Promise<boolean>;
  /** Deletes the record that has this revision. Returns false when there is none. */
  delete(key: ScheduleKey, revision: number): Promise<boolean>;
  /** Reads a page of the tenant's records with strong consistency, ordered by id. */
  list(tenantId: string, page: { limit: number; from?: string | undefined }): Promise<Page<ScheduleRecord>>;
}

/** A rule in EventBridge Scheduler: the times to fire, and the payload of each firing. */
export interface SchedulerRule {
  /** The schedule's id. */
  name: string;
  /** Cron or rate expression of EventBridge Scheduler. */
  expression: string;
  timezone: string;
  /** ISO times; absent: no bound. */
  startAt?: string;
  endAt?: string;
  enabled: boolean;
  payload: SchedulePayload | AppPayload | PurgePayload;
}

/** The rules in EventBridge Scheduler. Contract suite: `test/contract/schedules.ts`. */
export interface Rules {
  /**
   * Creates the rule, or replaces the rule with its name.
   * @throws PortUnavailable; RuleRefused when EventBridge Scheduler refuses the rule
   */
  put(rule: SchedulerRule): Promise<void>;
  /** Deletes the rule, if it exists. */
  delete(name: string): Promise<void>;
}

/** Requests for fire to check a schedule's rule later. Throws `PortUnavailable`. */
export interface RuleChecks {
  /** Requests a check in a minute, retried until it succeeds. By then, the caller has finished or failed. */
  request(key: ScheduleKey): Promise<void>;
}

/** The directory of known tenants: those that have ever received a key or submitted a task. */
export interface Tenants {
  /** Saves a tenant in the directory, if it is not there yet. */
  note(tenantId: string): Promise<void>;
  /** Reads a page of tenants, in a stable order. */
  list(page: { limit: number; from?: string | undefined }): Promise<Page<string>>;
}

/** The directory, for reading. */
export type TenantList = Pick<Tenants, "list">;

/** The states of the app's schedules. Throws `PortUnavailable`. Contract suite: `test/contract/schedules.ts`. */
export interface AppScheduleStates {
  /** Reads the state with strong consistency. */
  get(key: ScheduleKey): Promise<AppScheduleState | undefined>;
  /** Reads the states of some keys, of which none is named twice, in any order. */
  getMany(keys: readonly ScheduleKey[]): Promise<AppScheduleState[]>;
  /**
   * Reads the states of one schedule for the tenants from `first` to `last`, in the order of their ids, with strong
   * consistency.
   */
  between(scheduleId: string, first: string, last: string): Promise<AppScheduleState[]>;
  /**
   * Replaces the state that has this revision; undefined: there is none yet. Returns false when another writer was
   * first.
   */
  save(state: AppScheduleState, revision: number | undefined): Promise<boolean>;
}

/** Progress of a firing for all tenants. */
export interface FiringProgress {
  /** Start of the next page of tenants. Absent: the first page. */
  from?: string;
  submitted: number;
  /** Number of tenants for which the time was skipped: paused, or over their limits. Absent: none. */
  skipped?: number;
  /** Number of tenants whose task was refused. */
  refused: number;
  done: boolean;
}

/** Stored progress of firings for all tenants, by schedule and scheduled time. */
export interface Firings {
  load(scheduleId: string, scheduledFor: string): Promise<FiringProgress | undefined>;
  save(scheduleId: string, scheduledFor: string, progress: FiringProgress, purgeAt: number): Promise<void>;
}

/**
 * State of a schedule of the app: all that its definition in the code does not say. A schedule for each tenant has one
 * for the whole deployment, whose tenant is `wholeDeployment`, and one for each tenant that differs. Absent: never
 * fired, never paused. Times are ISO 8601 UTC with milliseconds.
 */
export interface AppScheduleState extends ScheduleKey {
  /** Every writer: increases with each write. A write fails if the revision changed since its read. */
  revision: number;
  /** pause; resume removes them. Absent: not paused. */
  paused_since?: string;
  paused_by?: string;
  /** fire: the latest scheduled time that was decided, with a task or without one. Absent: none yet. */
  last_time?: string;
  /** fire: the schedule's interval at `last_time`. Absent: it had a cron, or an earlier release wrote this. */
  last_every_seconds?: number;
  /** fire: the latest scheduled time that got a task; run: time of the call. Absent: never. */
  last_run_at?: string;
  /** fire and run: id of the newest task. Absent: there is none, or this is the state of the whole deployment. */
  last_task_id?: string;
  /** fire: number of skipped times. */
  skipped: number;
  /** fire: the latest 32 skipped times, so that a second delivery of one finds the decision. */
  skips: string[];
  /** fire: reason of the last skip. Absent: there was none. */
  last_skip_reason?: string;
  /**
   * fire: reason why the task of a time was refused; removed by the next time that gets a task. Absent: it was not
   * refused.
   */
  last_error?: string;
  last_error_at?: string;
  /** Every writer. */
  updated_at: string;
}

/** The dead-letter queue of firings, which keeps refused events until an operator moves them back to fire. */
export interface RefusedEvents {
  /** @throws PortUnavailable */
  keep(firing: EventFiring): Promise<void>;
}

/** A deployment that has ended. A start or reload of the local server is one. */
export interface Deployment {
  /** Time from which the new code may have run. The same as `deployed_at` where nobody heard of the start. */
  started_at: string;
  /** Time of its end. */
  deployed_at: string;
  /** Offload's version. */
  version: string;
  /** True: it failed, and what was there before is there again. */
  rolled_back: boolean;
}

/** The deployments that are listed at most. */
export const maxDeployments = 50;

/** Time after which a deployment is deleted, in seconds: longer than any task is kept. */
export const deploymentSeconds = 90 * 86_400;

/** The times of deployments. All methods throw `PortUnavailable`. Contract suite: `test/contract/deployments.ts`. */
export interface Deployments {
  /** Stores that a deployment has started. */
  begin(at: string): Promise<void>;
  /** The start that was stored last. Undefined: none. */
  begun(): Promise<string | undefined>;
  /** Stores a deployment. One of the same end is replaced: its event may come twice. */
  note(deployment: Deployment): Promise<void>;
  /** The newest deployments, newest first, at most `maxDeployments`. */
  newest(): Promise<Deployment[]>;
}
