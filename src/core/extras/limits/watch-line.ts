import type { Line } from "../../model/line.ts";
import type { Tier } from "../../model/tier.ts";
import type { WaitingEntry } from "../../ports/flow.ts";
import type { Clock, Log, Metrics } from "../../ports/tasks.ts";

/** The findings of a check in a line whose tasks still wait. */
export interface Held {
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
