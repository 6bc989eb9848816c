import { Database } from "../disk/database.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";
import type { ScheduleInput, Target } from "./schedule-input.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS schedule_groups (name TEXT PRIMARY KEY, created_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS schedules (
    group_name TEXT NOT NULL, name TEXT NOT NULL, created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
    next_at INTEGER, input TEXT NOT NULL, PRIMARY KEY (group_name, name)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS schedules_by_time ON schedules (next_at) WHERE next_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS firings (
    execution_id TEXT PRIMARY KEY, group_name TEXT NOT NULL, name TEXT NOT NULL, scheduled_at INTEGER NOT NULL,
    begun_at INTEGER NOT NULL, attempt INTEGER NOT NULL, try_at INTEGER NOT NULL, target TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS firings_by_time ON firings (try_at);`;

/** A stored schedule. Times are epoch milliseconds. */
export interface Schedule {
  input: ScheduleInput;
  createdAt: number;
  changedAt: number;
  /** Next time. Undefined: the schedule is disabled, or has fired for the last time. */
  nextAt: number | undefined;
}

/** One time of one schedule that is due and not yet delivered. */
export interface Firing {
  executionId: string;
  groupName: string;
  name: string;
  scheduledAt: number;
  /** Time of the first attempt. The age of the event counts from it. */
  begunAt: number;
  /** Number of the next attempt, from 1. */
  attempt: number;
  /** Time of the next attempt. */
  tryAt: number;
  /** The schedule's target at the time when the firing became due. */
  target: Target;
}

type Row = Record<string, string | number | null>;
type Statements = ReturnType<typeof prepare>;

/** Schedules and their firings in SQLite. */
export class ScheduleRows extends Database {
  readonly #statements: Statements;

  constructor(stateDir: string | undefined, faults?: DiskFaults) {
    super({ stateDir, file: "schedules.db", schema, faults });
    this.#statements = prepare(this);
  }

  group(name: string): { createdAt: number } | undefined {
    const row = this.#statements.group.get(name);
    return row && { createdAt: Number(row.created_at) };
  }

  addGroup(name: string, createdAt: number): void {
    this.#statements.addGroup.run(name, createdAt);
  }

  schedule(groupName: string, name: string): Schedule | undefined {
    const row = this.#statements.schedule.get(groupName, name);
    return row && toSchedule(row as Row);
  }

  /** All schedules, or the schedules of one group. */
  list(groupName: string | undefined): Schedule[] {
    const { list, listGroup } = this.#statements;
    const rows = groupName === undefined ? list.all() : listGroup.all(groupName);
    return (rows as Row[]).map(toSchedule);
  }

  save({ input, createdAt, changedAt, nextAt }: Schedule): void {
    const { GroupName, Name } = input;
    this.#statements.save.run(GroupName, Name, createdAt, changedAt, nextAt ?? null, JSON.stringify(input));
  }

  delete(groupName: string, name: string): void {
    this.#statements.delete.run(groupName, name);
  }

  dueSchedules(now: number): Schedule[] {
    return (this.#statements.dueSchedules.all(now) as Row[]).map(toSchedule);
  }

  dueFirings(now: number, limit: number): Firing[] {
    return (this.#statements.dueFirings.all(now, limit) as Row[]).map(toFiring);
  }

  /** Time of the next schedule. */
  nextScheduleAt(): number | undefined {
    return time(this.#statements.nextScheduleAt.get()?.at);
  }

  /** Time of the next attempt after the given time. */
  nextTryAt(after: number): number | undefined {
    return time(this.#statements.nextTryAt.get(after)?.at);
  }

  isFiring(groupName: string, name: string): boolean {
    return this.#statements.isFiring.get(groupName, name) !== undefined;
  }

  saveFiring(firing: Firing): void {
    const { executionId, groupName, name, scheduledAt, begunAt, attempt, tryAt, target } = firing;
    const json = JSON.stringify(target);
    this.#statements.saveFiring.run(executionId, groupName, name, scheduledAt, begunAt, attempt, tryAt, json);
  }

  deleteFiring(executionId: string): void {
    this.#statements.deleteFiring.run(executionId);
  }
}

function prepare(database: Database) {
  return {
    group: database.prepare("SELECT created_at FROM schedule_groups WHERE name = ?"),
    addGroup: database.prepare("INSERT OR IGNORE INTO schedule_groups (name, created_at) VALUES (?, ?)"),
    schedule: database.prepare("SELECT * FROM schedules WHERE group_name = ? AND name = ?"),
    list: database.prepare("SELECT * FROM schedules"),
    listGroup: database.prepare("SELECT * FROM schedules WHERE group_name = ?"),
    save: database.prepare("INSERT OR REPLACE INTO schedules VALUES (?, ?, ?, ?, ?, ?)"),
    delete: database.prepare("DELETE FROM schedules WHERE group_name = ? AND name = ?"),
    dueSchedules: database.prepare("SELECT * FROM schedules WHERE next_at <= ? ORDER BY next_at"),
    dueFirings: database.prepare("SELECT * FROM firings WHERE try_at <= ? ORDER BY try_at LIMIT ?"),
    nextScheduleAt: database.prepare("SELECT min(next_at) AS at FROM schedules WHERE next_at IS NOT NULL"),
    nextTryAt: database.prepare("SELECT min(try_at) AS at FROM firings WHERE try_at > ?"),
    isFiring: database.prepare("SELECT 1 FROM firings WHERE group_name = ? AND name = ? LIMIT 1"),
    saveFiring: database.prepare("INSERT OR REPLACE INTO firings VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
    deleteFiring: database.prepare("DELETE FROM firings WHERE execution_id = ?"),
  };
}

function toSchedule(row: Row): Schedule {
  return {
    input: JSON.parse(String(row.input)) as ScheduleInput,
    createdAt: Number(row.created_at),
    changedAt: Number(row.changed_at),
    nextAt: time(row.next_at),
  };
}

function toFiring(row: Row): Firing {
  return {
    executionId: String(row.execution_id),
    groupName: String(row.group_name),
    name: String(row.name),
    scheduledAt: Number(row.scheduled_at),
    begunAt: Number(row.begun_at),
    attempt: Number(row.attempt),
    tryAt: Number(row.try_at),
    target: JSON.parse(String(row.target)) as Target,
  };
}

function time(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
