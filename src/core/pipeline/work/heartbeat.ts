import { fence, leaseSeconds } from "../../model/lease.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { Clock, Records, Watchdog } from "../../ports/tasks.ts";

/** Seconds between two looks at the record. The lease is renewed when a third of it is left. */
const heartbeatSeconds = 3;

/** The watchdog ends a blocked process this many seconds after its attempt should have ended. */
const watchdogGraceSeconds = 2;

/** The watchdog looks at a process for at most this many seconds before it ends it. */
const lookSeconds = 3;

export interface HeartbeatPorts {
  clock: Clock;
  records: Records;
  watchdog: Watchdog;
  /**
   * Calls back when the worker must end now: its attempts are given back, and are not counted. Returns a function that
   * ends this. Absent: that never happens.
   */
  onStopping?: (call: () => void) => () => void;
  /** True when that time has come, so that no handler starts any more. Absent: that never happens. */
  isStopping?: () => boolean;
  /** Ends this process as soon as its other attempts are given back, which are not counted. Absent: nobody ends it. */
  endProcess?: () => void;
}

/** A running attempt, as its heartbeat sees it. */
export interface Beating {
  /** The record as the attempt claimed it. */
  record: TaskRecord;
  timeoutSeconds: number;
  /** Hides the message for that many more seconds, together with the lease. */
  renewMessage(seconds: number): Promise<void>;
  /** Called with the record, at most once for each look that finds the task cancelled. */
  onCancelled(record: TaskRecord): void;
}

/**
 * Reads the record every few seconds to see a cancellation, and renews lease and message. A look that fails is followed
 * by the next one. The process is killed when its event loop is blocked past the attempt's time-out or lease.
 * @returns Stops the heartbeat and the guard.
 */
export function startHeartbeat(ports: HeartbeatPorts, beating: Beating): () => void {
  let leaseUntil = Date.parse(beating.record.lease_until ?? iso(ports.clock.now()));
  const guard = guardLoop(ports, beating, leaseUntil);
  let stopTimer = () => {};
  let stopped = false;
  const onRenewed = (untilMs: number) => {
    leaseUntil = untilMs;
    if (!stopped) guard.renew(untilMs);
  };
  const schedule = (delayMs: number) => {
    stopTimer = ports.clock.after(delayMs, () => {
      const nextMs = ports.clock.now() + heartbeatSeconds * 1000;
      void beat(ports, beating, leaseUntil, onRenewed)
        .catch(() => true)
        .then((goOn) => {
          // After a slow look the next one follows immediately: the lease may have to be renewed.
          if (goOn && !stopped) schedule(Math.max(0, nextMs - ports.clock.now()));
        });
    });
  };
  schedule(heartbeatSeconds * 1000);
  return () => {
    stopped = true;
    stopTimer();
    guard.release();
  };
}

/** One look at the record. Returns false when the attempt has lost it. */
async function beat(
  ports: HeartbeatPorts,
  { record, timeoutSeconds, renewMessage, onCancelled }: Beating,
  leaseUntil: number,
  onRenewed: (untilMs: number) => void,
): Promise<boolean> {
  const seconds = leaseSeconds(timeoutSeconds);
  if (leaseUntil - ports.clock.now() < (seconds * 1000) / 3) {
    const until = ports.clock.now() + seconds * 1000;
    const renewed = await ports.records.change(record, { when: fence(record), set: { lease_until: iso(until) } });
    if (!renewed.done) return false;
    onRenewed(until);
    await renewMessage(seconds);
    if (renewed.record.cancel_requested_at !== undefined) onCancelled(renewed.record);
    return true;
  }
  const current = await ports.records.get(record);
  if (current?.cancel_requested_at !== undefined) onCancelled(current);
  return true;
}

/**
 * A process that cannot renew a lease must not go on working under it, so the watchdog's limit follows the lease. The
 * handler starts now, which can be seconds after its claim.
 */
function guardLoop(ports: HeartbeatPorts, { record, timeoutSeconds }: Beating, leaseUntil: number) {
  const overAt = ports.clock.now() + (timeoutSeconds + watchdogGraceSeconds) * 1000;
  const guard = (leaseUntilMs: number) =>
    ports.watchdog.guard(Math.min(overAt, leaseUntilMs - lookSeconds * 1000), record);
  let release = guard(leaseUntil);
  return {
    renew: (leaseUntilMs: number) => {
      release();
      release = guard(leaseUntilMs);
    },
    release: () => release(),
  };
}
