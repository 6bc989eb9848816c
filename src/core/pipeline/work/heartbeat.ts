import { inShort } from "../../../util/foreign-value.ts";
import { fence, leaseSeconds } from "../../model/change.ts";
import { PermanentError } from "../../model/errors.ts";
import { iso, type ProgressNote, type TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { Clock, Records, Watchdog } from "../../ports/tasks.ts";
import type { ProgressDetails } from "../../task/context.ts";
import type { Redact } from "../../task/handler-log.ts";
import { jsonText } from "../../task/json-value.ts";
import * as extras from "../send/extras.ts";

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
        .then((isOwner) => {
          // After a slow look the next one follows immediately: the lease may have to be renewed.
          if (isOwner && !stopped) schedule(Math.max(0, nextMs - ports.clock.now()));
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

/** Most characters of a message; the rest is cut off. */
const maxCharacters = 200;

/** Most bytes of the data, as JSON. */
const maxDataBytes = 1024;

/** The message and the data of a report, as they are stored. */
type Details = Pick<ProgressNote, "message" | "data">;

/** Writes an attempt's progress to its record. */
export interface ProgressWriter {
  /** Takes 0 to 100; a lower value than the last one is ignored, but for its details. */
  report(percent: number, details: Details | undefined): void;
  /** Stops writing, when the last details are written; resolves when the last write has ended. */
  close(): Promise<void>;
}

/**
 * Checks the details of a report.
 * @param redact Removes what a sensitive type keeps secret. Undefined: the type is not sensitive.
 * @throws PermanentError
 */
export function detailsOf(given: ProgressDetails, redact: Redact | undefined): Details {
  const { message, data } = (given ?? {}) as { message?: unknown; data?: unknown };
  if (typeof given !== "object" || Array.isArray(given) || (message !== undefined && typeof message !== "string")) {
    const what = typeof given === "object" && !Array.isArray(given) ? `message ${inShort(message)}` : inShort(given);
    throw new PermanentError(`task.progress: expected { message: "a text", data } behind the percentage, got ${what}`);
  }
  const text = message === undefined ? undefined : (redact?.(message) ?? message).toWellFormed();
  return {
    ...(text !== undefined && { message: [...text.slice(0, 2 * maxCharacters)].slice(0, maxCharacters).join("") }),
    ...(redact === undefined && dataOf(data)),
  };
}

function dataOf(value: unknown): Pick<Details, "data"> {
  const what = "the data of task.progress";
  const { text: data } = jsonText(value, what, "data");
  if (data === undefined) return {};
  const bytes = Buffer.byteLength(data);
  if (bytes <= maxDataBytes) return { data };
  throw new PermanentError(`${what} has ${bytes} bytes as JSON, of at most ${maxDataBytes}`);
}

/** Writes progress at most once a second: the first report immediately, later ones at the end of their second. */
export function progressWriter(
  ports: EndPorts,
  record: TaskRecord,
  onCancelled: (record: TaskRecord) => void,
): ProgressWriter {
  let highest = -1;
  let written = -1;
  let details: Details | undefined;
  let writtenDetails: Details | undefined;
  let writing: Promise<void> | undefined;
  let stopTimer: (() => void) | undefined;
  const write = async (): Promise<void> => {
    written = highest;
    writtenDetails = details;
    const note = details && { progress_note: { attempt: record.attempts_total, ...details } };
    const changed = await ports.records
      .change(record, {
        // A slow write must not undo a faster write that followed it.
        when: { ...fence(record), progress: { atMost: written, orAbsent: true } },
        set: { progress: written, ...note, updated_at: iso(ports.clock.now()) },
      })
      .catch(() => undefined);
    if (changed?.done !== true) return;
    if (changed.record.cancel_requested_at !== undefined) onCancelled(changed.record);
    await extras.changed(ports, changed.record, "progress");
  };
  const isNew = () => highest > written || details !== writtenDetails;
  // Writes of one percentage are not ordered by their condition.
  const writeNew = () => (details === undefined ? write() : (writing ?? Promise.resolve()).then(write));
  const flush = () => {
    stopTimer = undefined;
    if (!isNew()) return;
    writing = writeNew();
    stopTimer = ports.clock.after(1000, flush);
  };
  return {
    report(percent, given) {
      const whole = Math.floor(Math.min(100, Math.max(0, percent)));
      if (Number.isNaN(whole)) return;
      highest = Math.max(whole, highest);
      if (given !== undefined) details = { ...details, ...given };
      if (isNew() && stopTimer === undefined) flush();
    },
    async close() {
      stopTimer?.();
      if (details === writtenDetails) highest = written;
      else writing = writeNew();
      await writing;
    },
  };
}
