import type { WaitQueue } from "../../model/wait-queue.ts";
import type { Tier } from "../../model/words.ts";
import type { EntryPorts } from "../../pipeline/send/keep-entries.ts";
import type { AuditLog } from "../../ports/audit.ts";
import type { SettlePorts } from "../../ports/extra.ts";
import type {
  FlowSettings,
  NextCheck,
  PlannedCheck,
  WaitingEntry,
  WaitingTask,
  WaitQueueState,
  WaitQueues,
} from "../../ports/flow.ts";
import type { Clock, Log, Metrics, NewId, Queues, Records } from "../../ports/tasks.ts";
import type { Puller } from "../../task/puller.ts";
import type { Registry } from "../../task/task.ts";
import type { LimitedType } from "../../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";
import { orWarn } from "./sure-write.ts";

export interface WaitQueuePorts {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  queues: Queues;
  lines: WaitQueues;
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
  maxInOne?: number;
  /** A worker goes on with the tasks of a line for this time, in milliseconds. Absent: a minute. */
  shareMs?: number | undefined;
  /** Takes the next task of a line for this worker. Absent: each goes by message. */
  puller?: Puller | undefined;
}

/** The ports of a worker that lets tasks start. */
export interface FlowPorts extends SettlePorts, EntryPorts, WaitQueuePorts {
  records: Records;
  registry: Registry;
  isStopping?: () => boolean;
}

/** Tasks that one call lets go at most. */
export const maxAdmitted = 100;

/** Tries while others change the line. */
export const maxTries = 10;

/**
 * Starts of a rate are given away this long ahead, in milliseconds: a changed rate applies to the tasks behind them.
 */
export const aheadMs = 4_000;

/** A line that could go on is looked at again after this time, in milliseconds. */
export const soonMs = 1_000;

/** A line whose tasks get permits is looked at this often at least, in milliseconds: a sender may have died. */
export const latestMs = 60_000;

/**
 * A line that a pause does not stop is looked at this often at least, in milliseconds: alarms count periods of five
 * minutes.
 */
export const maxIntervalMs = 240_000;

/** The rest of a line after a call. */
export interface Rest extends WaitState {
  /** Epoch milliseconds at which it must be looked at again. Absent: nothing waits. */
  nextMs?: number;
  /** True when no task waits. */
  empty: boolean;
  /** True when the call admitted one task for its worker, and a permit is still free. */
  hasRoom?: true;
  /** The line's own state as it was read. Absent: it was not. */
  state?: WaitQueueState | undefined;
  /**
   * Times at which further messages to look at the line are sent, in epoch milliseconds: in a tier that is behind, one
   * after the other would come too seldom. Absent: none.
   */
  furtherMs?: readonly number[];
}

export const nothing: Rest = { empty: true };

/** The knowledge of a caller about a line. */
export interface LookContext {
  /** Tier in whose queue the next check waits. */
  tier: Tier;
  /** The state of the line's bucket of permits that the caller has just changed. Absent: it has changed none. */
  changed?: { index: number; state: WaitQueueState };
  /** The task that the caller has just added. Absent: it has added none. */
  added?: WaitingTask;
  /** The id of the check that the caller is. Absent: it is none. */
  checkId?: string | undefined;
}

/** The findings of a check in a line whose tasks still wait. */
interface WaitState {
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
export function watchLine({ clock, log, metrics }: WatchPorts, { name, type = "" }: WaitQueue, held: WaitState): void {
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

/** A planned look at a line counts as lost this long after its time, in milliseconds. */
const lostMs = 15_000;

/** True when a look at a line is planned and not lost. In a tier that is behind, it comes later by that time. */
export const stands = ({ clock, puller }: WaitQueuePorts, planned: PlannedCheck | undefined): planned is PlannedCheck =>
  planned !== undefined && planned.atMs > clock.now() - lostMs - (puller?.behindMs ?? 0);

/**
 * Sends a check of a line and notes it. Returns false when another one was planned meanwhile. Nothing follows a check
 * that comes before it is noted: where the write took so long, another check follows it.
 */
export async function plan(
  ports: WaitQueuePorts,
  line: WaitQueue,
  { tier, ...at }: { tier: Tier } & Omit<NextCheck, "id">,
  planned: PlannedCheck | undefined,
): Promise<boolean> {
  const { clock, lines, newId } = ports;
  let check = { id: newId(), ...at };
  for (let seen = planned; ; ) {
    const sentMs = clock.now();
    await sendCheck(ports, line, { tier, ...check });
    if (!(await lines.planCheck(line.name, check, seen))) return false;
    const now = clock.now();
    if (now < check.atMs) return true;
    seen = check;
    check = { ...check, id: newId(), atMs: now + soonMs + Math.min(2 * (now - sentMs), latestMs) };
  }
}

/**
 * Plans a check that is far away for an earlier time: no task of the line was admitted for long, and this worker may
 * die before it sends the message of the task that it lets go. Without this, the planned check finds that task.
 */
export async function planSooner(
  ports: WaitQueuePorts,
  line: WaitQueue,
  at: { tier: Tier; atMs: number },
  planned: PlannedCheck | undefined,
): Promise<void> {
  if (!stands(ports, planned) || planned.atMs <= at.atMs) return;
  await orWarn(ports.log, "could not plan a check of a line for an earlier time", plan(ports, line, at, planned));
}

/** Sends a message that looks at a line again. */
export const sendCheck = (
  { queues, clock }: Pick<WaitQueuePorts, "queues" | "clock">,
  line: WaitQueue,
  { tier, atMs, id }: { tier: Tier; atMs: number; id: string },
): Promise<void> =>
  queues.sendCheck({
    tier,
    check: { line: line.name, check_id: id },
    delaySeconds: Math.max(0, Math.ceil((atMs - clock.now()) / 1000)),
  });
