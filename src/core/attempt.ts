import {
  type ChildSubmit,
  childSubmitOf,
  runInContext,
  type TaskContext,
  type TaskLog,
  traceHeadersOf,
} from "./context.ts";
import type { Envelope } from "./envelope.ts";
import { AttemptCancelled, AttemptCrashed, AttemptTimedOut, InvalidInput } from "./errors.ts";
import { runOnce } from "./once.ts";
import type { Clock, Log, OnceStore, Records, Watchdog } from "./ports.ts";
import { iso, type TaskRecord } from "./record.ts";
import { redactedLog } from "./redact.ts";
import type { TaskType } from "./task.ts";
import { inputVersionOf, upcastInput } from "./version.ts";

/** How the handler of one attempt ended. */
export type Ended =
  | { how: "returned"; value: unknown }
  | { how: "threw"; error: unknown }
  | { how: "timed_out"; error: AttemptTimedOut }
  | { how: "cancelled" };

/** What running an attempt needs. */
export interface AttemptPorts {
  clock: Clock;
  records: Records;
  once: OnceStore;
  log: Log;
  watchdog: Watchdog;
  /** Submits a task on behalf of another; gives its id. */
  submitChild(parent: TaskRecord, child: ChildSubmit, key: string, traceparent: string | undefined): Promise<string>;
}

/** The longest lease: a dead worker is noticed within it, and longer attempts renew it. */
export const longestLeaseSeconds = 120;

/** The lease of an attempt, in whole seconds: the type's time-out × 1.5 + 15 s, at most 120 s. */
export const leaseSeconds = (timeoutSeconds: number): number =>
  Math.min(longestLeaseSeconds, Math.ceil(timeoutSeconds * 1.5 + 15));

/** How often a running attempt looks whether it was cancelled, and renews its lease when a third of it is left. */
const heartbeatSeconds = 3;

/** How long past its end an attempt's process may be blocked before the watchdog ends it. */
const watchdogGraceSeconds = 2;

/** A once-only key is held for the type's time-out and this long, in seconds: nothing of the attempt runs any more by then. */
const holdOnceSeconds = 5;

/** One attempt that holds its lease. */
export interface Running {
  record: TaskRecord;
  envelope: Envelope;
  type: TaskType;
  /** W3C trace context of the attempt itself: what the handler asks of others is part of it. Undefined: there is no trace. */
  traceparent: string | undefined;
  /** Renews the message's invisibility together with the lease. */
  renewMessage(seconds: number): Promise<void>;
}

/**
 * Runs the handler, in its ambient context, until it settles, times out or is cancelled, whichever is first. Never throws.
 * A handler that goes on after its end can change nothing any more: its context is closed.
 */
export async function runAttempt(ports: AttemptPorts, running: Running): Promise<Ended> {
  let input: unknown;
  try {
    mustHoldLease(ports, running.record);
    input = parsedInput(running);
  } catch (error) {
    return { how: "threw", error };
  }
  const attempt = openAttempt(ports, running, logOf(ports, running, input));
  try {
    return await Promise.race([attempt.ended, call(running.type, input, attempt)]).then((ended) =>
      attempt.cancelled() && ended.how !== "timed_out" ? { how: "cancelled" as const } : ended,
    );
  } finally {
    await attempt.close();
  }
}

/** A process that stood still between its claim and now may have been taken for dead, and the task be another's. */
function mustHoldLease({ clock }: AttemptPorts, { lease_until: leaseUntil }: TaskRecord): void {
  if (leaseUntil === undefined || leaseUntil > iso(clock.now())) return;
  throw new AttemptCrashed("the lease ended before the handler could start");
}

/**
 * The input as the type's schema makes it, one of an earlier version after its steps to the present one; throws when it
 * does not fit, or when code of the schema throws.
 */
function parsedInput({ record, type, envelope }: Running): unknown {
  const version = inputVersionOf(envelope, record);
  const parsed = type.input.safeParse(upcastInput(type, envelope.input, version));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.length ? `input.${issue.path.join(".")}` : "input";
  const origin = version === type.version ? "" : `made of version ${version}, `;
  throw new InvalidInput(`${origin}${where}: ${issue?.message ?? "does not fit the schema"}`);
}

async function call(type: TaskType, input: unknown, { context, isOpen }: OpenAttempt): Promise<Ended> {
  try {
    return { how: "returned", value: await runInContext(context, isOpen, () => type.handler(input as never, context)) };
  } catch (error) {
    return { how: "threw", error };
  }
}

/** An attempt that is under way: its context, and the ends that come from outside of the handler. */
interface OpenAttempt {
  context: TaskContext;
  isOpen(): boolean;
  /** Resolves when the attempt times out; otherwise never. */
  ended: Promise<Ended>;
  cancelled(): boolean;
  /** Closes the context; resolves when the last progress is written. */
  close(): Promise<void>;
}

/** The handler's log; a sensitive type's has nothing of the input, neither as it was submitted nor as the handler got it. */
const logOf = ({ log }: AttemptPorts, { type, envelope }: Running, input: unknown): TaskLog =>
  type.sensitive ? redactedLog(log, [input, envelope.input]) : log;

function openAttempt(ports: AttemptPorts, running: Running, log: TaskLog): OpenAttempt {
  const abort = new AbortController();
  let open = true;
  let cancelled = false;
  const onCancelled = () => {
    if (!open || cancelled) return;
    cancelled = true;
    abort.abort(new AttemptCancelled());
  };
  const progress = progressWriter(ports, running.record, onCancelled);
  const guard = guardLoop(ports, running);
  const stopHeartbeat = heartbeat(ports, running, onCancelled, guard.renew);
  let stopTimer = () => {};
  const ended = new Promise<Ended>((resolve) => {
    stopTimer = ports.clock.after(running.type.timeoutSeconds * 1000, () => {
      const error = new AttemptTimedOut(`the attempt took longer than ${running.type.timeoutSeconds} s`);
      resolve(cancelled ? { how: "cancelled" } : { how: "timed_out", error });
      abort.abort(error);
    });
  });
  const isOpen = () => open;
  const report = (percent: number) => open && progress.report(percent);
  return {
    context: contextOf(ports, running, log, abort.signal, report, isOpen),
    isOpen,
    ended,
    cancelled: () => cancelled,
    close: async () => {
      open = false;
      stopTimer();
      stopHeartbeat();
      guard.release();
      await progress.close();
    },
  };
}

/**
 * Has the process killed when its event loop is blocked past the attempt's time-out or its lease: whoever cannot renew a
 * lease must not go on working under it.
 */
function guardLoop(ports: AttemptPorts, { record, type }: Running) {
  const startedAt = Date.parse(record.started_at ?? iso(ports.clock.now()));
  const overAt = startedAt + (type.timeoutSeconds + watchdogGraceSeconds) * 1000;
  let release = ports.watchdog.guard(Math.min(overAt, startedAt + leaseSeconds(type.timeoutSeconds) * 1000));
  return {
    renew: (leaseUntilMs: number) => {
      release();
      release = ports.watchdog.guard(Math.min(overAt, leaseUntilMs));
    },
    release: () => release(),
  };
}

/** The fence of an attempt: only while it holds the record may it change it. */
export const fence = (record: TaskRecord) =>
  ({ status: { is: "processing" }, attempts_total: { is: record.attempts_total } }) as const;

/**
 * Looks every few seconds whether the task was cancelled, and renews lease and message when a third of the lease is left.
 * A look that fails is followed by the next one.
 */
function heartbeat(
  ports: AttemptPorts,
  running: Running,
  onCancelled: () => void,
  onRenewed: (leaseUntilMs: number) => void,
): () => void {
  const seconds = leaseSeconds(running.type.timeoutSeconds);
  let leaseUntil = Date.parse(running.record.lease_until ?? iso(ports.clock.now()));
  let stop = () => {};
  let stopped = false;
  const beat = async () => {
    if (leaseUntil - ports.clock.now() < (seconds * 1000) / 3) {
      const until = ports.clock.now() + seconds * 1000;
      const renewed = await ports.records.change(running.record, {
        when: fence(running.record),
        set: { lease_until: iso(until) },
      });
      if (!renewed.done) return false;
      leaseUntil = until;
      if (!stopped) onRenewed(until);
      await running.renewMessage(seconds);
      if (renewed.record.cancel_requested_at !== undefined) onCancelled();
      return true;
    }
    const record = await ports.records.get(running.record);
    if (record?.cancel_requested_at !== undefined) onCancelled();
    return true;
  };
  const schedule = () => {
    stop = ports.clock.after(heartbeatSeconds * 1000, () => {
      void beat()
        .catch(() => true)
        .then((goOn) => {
          if (goOn && !stopped) schedule();
        });
    });
  };
  schedule();
  return () => {
    stopped = true;
    stop();
  };
}

/** Writes progress at most once a second: the first report at once, later ones at the end of their second. */
function progressWriter(ports: AttemptPorts, record: TaskRecord, onCancelled: () => void) {
  let highest = -1;
  let written = -1;
  let writing: Promise<void> | undefined;
  let stopTimer: (() => void) | undefined;
  const write = async (): Promise<void> => {
    written = highest;
    const changed = await ports.records
      .change(record, {
        // A slow write must not undo a faster one that followed it.
        when: { ...fence(record), progress: { atMost: written, orAbsent: true } },
        set: { progress: written, updated_at: iso(ports.clock.now()) },
      })
      .catch(() => undefined);
    if (changed?.done && changed.record.cancel_requested_at !== undefined) onCancelled();
  };
  const flush = () => {
    stopTimer = undefined;
    if (highest <= written) return;
    writing = write();
    stopTimer = ports.clock.after(1000, flush);
  };
  return {
    report(percent: number): void {
      const whole = Math.floor(Math.min(100, Math.max(0, percent)));
      if (Number.isNaN(whole) || whole <= highest) return;
      highest = whole;
      if (stopTimer === undefined) flush();
    },
    async close(): Promise<void> {
      stopTimer?.();
      highest = written;
      await writing;
    },
  };
}

function contextOf(
  ports: AttemptPorts,
  { record, type, traceparent }: Running,
  log: TaskLog,
  signal: AbortSignal,
  progress: (percent: number) => void,
  isOpen: () => boolean,
): TaskContext {
  let submits = 0;
  const effects = new Map<string, Promise<unknown>>();
  const mustBeOpen = (what: string) => {
    if (!isOpen()) throw new Error(`task.${what} was called after the attempt had ended`);
  };
  const identity = {
    tenantId: record.tenant_id,
    taskId: record.task_id,
    type: type.name,
    attempt: record.attempts,
    attemptOverall: record.attempts_total,
    correlationId: record.correlation_id,
    requestedBy: record.requested_by,
    traceparent,
  };
  return Object.freeze({
    ...identity,
    signal,
    progress,
    log,
    traceHeaders: () => traceHeadersOf(identity),
    submit: async (...given: Parameters<typeof childSubmitOf>) => {
      mustBeOpen("submit");
      submits += 1;
      const child = childSubmitOf(...given);
      return ports.submitChild(record, child, child.key ?? `#${submits}`, traceparent);
    },
    once: async <T>(key: string, effect: (idempotencyKey: string) => Promise<T> | T) => {
      mustBeOpen("once");
      const owner = `${record.task_id}.${record.attempts_total}`;
      const untilMs = ports.clock.now() + (type.timeoutSeconds + holdOnceSeconds) * 1000;
      const caller = { tenantId: record.tenant_id, owner, untilMs };
      const running = effects.get(key) ?? runOnce(ports, caller, key, effect).finally(() => effects.delete(key));
      effects.set(key, running);
      return running as Promise<T>;
    },
  });
}
