import type { Line } from "../../model/line.ts";
import type { Tier } from "../../model/tier.ts";
import type { AuditLog } from "../../ports/audit.ts";
import type { SettlePorts } from "../../ports/extra.ts";
import type { FlowSettings, LineState, Lines, WaitingEntry, WaitingTask } from "../../ports/flow.ts";
import type { Clock, Log, Metrics, NewId, Queues, Records } from "../../ports/tasks.ts";
import type { EntryPorts } from "../../send/keep-entries.ts";
import type { Taker } from "../../task/taker.ts";
import type { Registry } from "../../task/task.ts";
import type { LimitedType } from "../../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";

export interface LinePorts {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  queues: Queues;
  lines: Lines;
  /** Tells which tasks are over. */
  records: Pick<Records, "get">;
  flowSettings: FlowSettings;
  flow: FlowBook;
  /** Has what a type did by itself. */
  audit: Pick<AuditLog, "add">;
  /** The types of this process. */
  registry: ReadonlyMap<string, LimitedType>;
  newId: NewId;
  /** Places in a bucket of a line. Absent: as many as one write unit pays for. */
  bucketSize?: number;
  /** Places, or starts a second, of a line whose tasks wait in one partition. Absent: as many as that serves. */
  mostInOne?: number;
  /** A worker goes on with the tasks of a line for this time, in milliseconds. Absent: a minute. */
  shareMs?: number | undefined;
  /** Takes the next task of a line for this worker. Absent: each goes by message. */
  taker?: Taker | undefined;
}

/** The ports of a worker that lets tasks start. */
export interface FlowPorts extends SettlePorts, EntryPorts, LinePorts {
  records: Records;
  registry: Registry;
  isStopping?: () => boolean;
}

/** Tasks that one call lets go at most. */
export const mostLetGo = 100;

/** Tries while others change the line. */
export const mostTries = 10;

/**
 * Starts of a rate are given away this long ahead, in milliseconds: a changed rate applies to the tasks behind them.
 */
export const aheadMs = 4_000;

/** A line that could go on is looked at again after this time, in milliseconds. */
export const soonMs = 1_000;

/** A line whose tasks get places is looked at this often at least, in milliseconds: a sender may have died. */
export const latestMs = 60_000;

/**
 * A line that a pause does not stop is looked at this often at least, in milliseconds: alarms count periods of five
 * minutes.
 */
export const leastOftenMs = 240_000;

/** The rest of a line after a call. */
export interface Rest extends Held {
  /** Epoch milliseconds at which it must be looked at again. Absent: nothing waits. */
  nextMs?: number;
  /** True when no task waits. */
  empty: boolean;
  /** True when the call let one task go for its worker, and a place is still free. */
  hasRoom?: true;
  /** The line's own state as it was read. Absent: it was not. */
  state?: LineState | undefined;
  /**
   * Times at which further messages to look at the line are sent, in epoch milliseconds: in a tier that is behind, one
   * after the other would come too seldom. Absent: none.
   */
  furtherMs?: readonly number[];
}

export const nothing: Rest = { empty: true };

/** The knowledge of a caller about a line. */
export interface Known {
  /** Tier in whose queue the next check waits. */
  tier: Tier;
  /** The state of the line's bucket of places that the caller has just changed. Absent: it has changed none. */
  changed?: { index: number; state: LineState };
  /** The task that the caller has just added. Absent: it has added none. */
  added?: WaitingTask;
  /** The id of the check that the caller is. Absent: it is none. */
  checkId?: string | undefined;
}

/** The findings of a check in a line whose tasks still wait. */
interface Held {
  /** The first task. Absent: it was not read. */
  oldest?: WaitingEntry | undefined;
  /** Epoch milliseconds of the pause that stops the line. Absent: none does. */
  pausedMs?: number | undefined;
  /** True when the line's breaker is open. */
  open?: boolean | undefined;
}

interface WatchPorts {
  clock: Clock;
  log: Log;
  metrics: Metrics;
}

/** All lines of a deployment count under one tier: an alarm on each of four metrics would cost four times as much. */
const tier: Tier = "normal";

/**
 * Counts what a check finds: for the alarms on breakers that are open, pauses that are old, and tasks that wait for
 * long.
 */
export function watchLine({ clock, log, metrics }: WatchPorts, { name, type = "" }: Line, held: Held): void {
  const now = clock.now();
  const of = { tier, type };
  const { oldest, pausedMs, open } = held;
  if (open) metrics.add("breaker_open", 1, of);
  if (pausedMs !== undefined) metrics.add("pause_age_ms", now - pausedMs, of);
  const waitsMs = oldest?.sinceMs === undefined ? undefined : Math.max(0, now - oldest.sinceMs);
  if (waitsMs !== undefined && pausedMs === undefined && !open) metrics.add("line_wait_ms", waitsMs, of);
  log.info("tasks wait in a line", {
    line: name,
    ...(type !== "" && { type }),
    ...(open && { breaker: "open" }),
    ...(pausedMs !== undefined && { paused_since: new Date(pausedMs).toISOString() }),
    ...(waitsMs !== undefined && { oldest_wait_ms: waitsMs }),
  });
}
