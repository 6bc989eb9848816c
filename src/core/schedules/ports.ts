import type { Page } from "../ports.ts";
import type { AppPayload, SchedulePayload } from "./rule-input.ts";
import type { ScheduleKey, ScheduleRecord } from "./schedule-record.ts";

/** The schedules' records in the table. All methods throw `PortUnavailable`. Contract suite: `test/contract/schedules.ts`. */
export interface Schedules {
  /** Writes a new record unless one with its key is there; then gives that one. */
  create(record: ScheduleRecord): Promise<ScheduleRecord | undefined>;
  /** The record as it is now. */
  get(key: ScheduleKey): Promise<ScheduleRecord | undefined>;
  /** Writes the record in place of the one that has this revision; false when that one is gone. */
  replace(record: ScheduleRecord, revision: number): Promise<boolean>;
  /** Deletes the record that has this revision; false when that one is gone. */
  delete(key: ScheduleKey, revision: number): Promise<boolean>;
  /** The tenant's records, in the order of their ids, as they are now. */
  list(tenantId: string, page: { limit: number; from?: string | undefined }): Promise<Page<ScheduleRecord>>;
}

/** A rule as EventBridge Scheduler keeps it: when to fire, and what it hands over then. */
export interface SchedulerRule {
  /** The schedule's id. */
  name: string;
  /** In EventBridge Scheduler's language. */
  expression: string;
  timezone: string;
  /** ISO times; absent: no bound. */
  startAt?: string;
  endAt?: string;
  enabled: boolean;
  payload: SchedulePayload | AppPayload;
}

/** The rules in EventBridge Scheduler. Contract suite: `test/contract/schedules.ts`. */
export interface Rules {
  /**
   * Creates the rule, or replaces the one of its name.
   * @throws PortUnavailable; RuleRefused when EventBridge Scheduler does not take the rule
   */
  put(rule: SchedulerRule): Promise<void>;
  /** Deletes the rule; one that is not there is fine. */
  delete(name: string): Promise<void>;
}

/** Has fire look at schedules again. Throws `PortUnavailable`. */
export interface RuleChecks {
  /** In a minute, and again until it could: by then, whoever asked has finished or failed. */
  request(key: ScheduleKey): Promise<void>;
}

/** The tenants that are known: those that ever got a key or submitted a task. */
export interface Tenants {
  /** Makes a tenant known; one that is known already is fine. */
  note(tenantId: string): Promise<void>;
  /** A page of them, in an order that stays. */
  list(page: { limit: number; from?: string | undefined }): Promise<Page<string>>;
}

/** How far a firing for each tenant has come. */
export interface FiringProgress {
  /** Where the next page of tenants starts. Absent: with the first one. */
  from?: string;
  submitted: number;
  /** Tenants whose task was refused. */
  refused: number;
  done: boolean;
}

/** Where firings for each tenant keep how far they have come, by schedule and scheduled time. */
export interface Firings {
  load(scheduleId: string, scheduledFor: string): Promise<FiringProgress | undefined>;
  save(scheduleId: string, scheduledFor: string, progress: FiringProgress, purgeAt: number): Promise<void>;
}
