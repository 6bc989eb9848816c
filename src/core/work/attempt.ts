import { AttemptCaused } from "../children/attempt-caused.ts";
import type { SealedFamily, Spawner } from "../children/spawner.ts";
import { endedChildren, noChildren } from "../end/child-results.ts";
import { AttemptCancelled, AttemptCrashed, AttemptTimedOut, PermanentError, WorkerStopping } from "../model/errors.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import type { Suspension } from "../model/suspension.ts";
import { storedInput } from "../send/large-input.ts";
import { AttemptSteps, type StoredState } from "../steps/attempt-steps.ts";
import { runInContext, type TaskContext, type TaskLog } from "../task/context.ts";
import { parsedInput } from "../task/parsed-input.ts";
import { redactedLog } from "../task/redact.ts";
import type { TaskType } from "../task/task.ts";
import { inputVersionOf } from "../task/version.ts";
import { type AttemptPorts, type ContextParts, contextOf, type Running } from "./attempt-context.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { type Packed, packResult } from "./pack-result.ts";
import { progressWriter } from "./progress.ts";

/** The end of one attempt's handler. */
export type Ended =
  /** The handler returned, and its result is stored or small. */
  | { how: "returned"; packed: Packed }
  /** The handler returned, and its children are spawned. */
  | { how: "spawned"; family: SealedFamily; threshold: number; aggregated?: Packed }
  | { how: "threw"; error: unknown }
  | { how: "timed_out"; error: AttemptTimedOut }
  /** The attempt goes on later, and is not counted. */
  | { how: "suspended"; suspension: Suspension }
  | { how: "cancelled" };

/**
 * Runs the handler in its ambient context until it settles, times out or is cancelled. Never throws.
 * A handler that goes on after that cannot change anything: its context is closed.
 */
export async function runAttempt(ports: AttemptPorts, running: Running): Promise<Ended> {
  const caused = new AttemptCaused(ports, running.record, running.traceparent, isClosing(running));
  const steps = new AttemptSteps(ports, running.record, running.type.state, caused, isClosing(running));
  let input: unknown;
  let state: StoredState | undefined;
  try {
    // Only an attempt with a state waits for it.
    if (running.record.checkpointed) state = await steps.state();
    if (state !== undefined) caused.startBehind(state);
    // The attempt that aggregates needs no input.
    if (!isClosing(running)) {
      const { envelope } = running;
      // An input in the message is there at once.
      const given = envelope.input_ref === undefined ? envelope.input : await storedInput(ports, envelope);
      input = parsedInput(running.type, given, inputVersionOf(envelope, running.record));
    }
    // After all that takes time.
    mustHoldLease(ports, running.record);
  } catch (error) {
    return { how: "threw", error };
  }
  const attempt = openAttempt(ports, running, { steps, caused, state, log: logOf(ports, running, input) });
  try {
    const ends = [attempt.ended, suspended(steps), call(ports, running, input, attempt)];
    const ended = await Promise.race(ends).then((first) =>
      attempt.cancelled() && first.how !== "timed_out" ? { how: "cancelled" as const } : first,
    );
    return await keepCaused(ports, caused, ended);
  } finally {
    steps.close();
    await attempt.close();
  }
}

/** A later attempt may follow, and must know what this one has caused. An attempt that was suspended, and cannot tell, is tried again. */
async function keepCaused({ log }: AttemptPorts, caused: AttemptCaused, ended: Ended): Promise<Ended> {
  if (ended.how === "returned" || ended.how === "cancelled") return ended;
  try {
    // The seal of a family says all that a note of its pages would say.
    await (ended.how === "spawned" ? caused.submits.keep() : caused.keepAll());
    return ended;
  } catch (error) {
    if (ended.how === "suspended" || ended.how === "spawned") return { how: "threw", error };
    log.warn("could not create the children that a failed attempt has spawned", { error: String(error) });
    return ended;
  }
}

const suspended = (steps: AttemptSteps): Promise<Ended> =>
  steps.suspended.then(
    (suspension) => ({ how: "suspended", suspension }),
    (error: unknown) => ({ how: "threw", error }),
  );

/** If this process was frozen after its claim, the lease may have ended and another worker may have the task. */
function mustHoldLease({ clock }: AttemptPorts, { lease_until: leaseUntil }: TaskRecord): void {
  if (leaseUntil === undefined || leaseUntil > iso(clock.now())) return;
  throw new AttemptCrashed("the lease ended before the handler could start");
}

/** True for the attempt that aggregates the results of children. */
const isClosing = ({ record, type }: Running): boolean =>
  record.family_state === "closing" && type.aggregate !== undefined;

async function call(
  ports: AttemptPorts,
  running: Running,
  input: unknown,
  { context, isOpen, caused: { spawner } }: OpenAttempt,
): Promise<Ended> {
  const { type, record } = running;
  const packed = (value: unknown) => packResult(ports, record, type, value, context.signal);
  try {
    if (isClosing(running)) {
      const children = endedChildren(ports, record);
      const result = await runInContext(context, isOpen, () => type.aggregate?.(children, context));
      return await afterAggregate(record, spawner, await packed(result));
    }
    const threshold = thresholdOf(type, input);
    const value = await runInContext(context, isOpen, () => type.handler(input as never, context));
    const family = await spawner.seal();
    if (family !== undefined) return { how: "spawned", family, threshold };
    return { how: "returned", packed: await packed(await withoutChildren(running, value, context, isOpen)) };
  } catch (error) {
    return { how: "threw", error };
  }
}

/** The children that `aggregate` spawned are waited for, too. */
async function afterAggregate(record: TaskRecord, spawner: Spawner, packed: Packed): Promise<Ended> {
  const family = spawner.hasUncounted ? await spawner.seal() : undefined;
  if (family === undefined) return { how: "returned", packed };
  return { how: "spawned", family, threshold: record.family_threshold ?? 1, aggregated: packed };
}

/** Result of a handler that spawned no child: its own, or that of `aggregate` where the handler returned nothing. */
function withoutChildren({ type }: Running, value: unknown, context: TaskContext, isOpen: () => boolean): unknown {
  if (value !== undefined || type.aggregate === undefined) return value;
  return runInContext(context, isOpen, () => type.aggregate?.(noChildren, context));
}

/** @throws PermanentError for a type's own threshold that is not a share */
function thresholdOf({ children }: TaskType, input: unknown): number {
  const { threshold = 1 } = children ?? {};
  const share = typeof threshold === "number" ? threshold : threshold(input as never);
  if (share >= 0 && share <= 1) return share;
  throw new PermanentError(`children.threshold returned ${share}; expected a number from 0 to 1`);
}

/** A running attempt: its context, and the ends that come from outside the handler. */
interface OpenAttempt {
  context: TaskContext;
  caused: AttemptCaused;
  isOpen(): boolean;
  /** Resolves when the attempt times out; otherwise never. */
  ended: Promise<Ended>;
  cancelled(): boolean;
  /** Closes the context; resolves when the last progress is written. */
  close(): Promise<void>;
}

/** The handler's log. For a sensitive type, texts of the submitted and of the parsed input are removed from its lines. */
const logOf = ({ log }: AttemptPorts, { type, envelope }: Running, input: unknown): TaskLog =>
  type.sensitive ? redactedLog(log, [input, envelope.input]) : log;

function openAttempt(
  ports: AttemptPorts,
  running: Running,
  given: Pick<ContextParts, "steps" | "caused" | "state" | "log">,
): OpenAttempt {
  const abort = new AbortController();
  let open = true;
  let cancelled = false;
  const onCancelled = () => {
    if (!open || cancelled) return;
    cancelled = true;
    abort.abort(new AttemptCancelled());
  };
  const { record, type, renewMessage } = running;
  const progress = progressWriter(ports, record, onCancelled);
  const stopHeartbeat = startHeartbeat(ports, {
    record,
    timeoutSeconds: type.timeoutSeconds,
    renewMessage,
    onCancelled,
  });
  let stopTimer = () => {};
  const endsAt = ports.clock.now() + type.timeoutSeconds * 1000;
  let stopListening: (() => void) | undefined;
  const ended = new Promise<Ended>((resolve) => {
    stopTimer = ports.clock.after(type.timeoutSeconds * 1000, () => {
      const error = new AttemptTimedOut(`the attempt took longer than ${type.timeoutSeconds} s`);
      resolve(cancelled ? { how: "cancelled" } : { how: "timed_out", error });
      abort.abort(error);
    });
    stopListening = ports.onStopping?.(() => {
      resolve({ how: "suspended", suspension: { dueAt: ports.clock.now() } });
      abort.abort(new WorkerStopping());
    });
  });
  const isOpen = () => open;
  const report = (percent: number) => open && progress.report(percent);
  const remainingMs = () => Math.max(0, endsAt - ports.clock.now());
  const parts = { ...given, signal: abort.signal, progress: report, remainingMs, isOpen };
  return {
    context: contextOf(ports, running, parts),
    caused: given.caused,
    isOpen,
    ended,
    cancelled: () => cancelled,
    close: async () => {
      open = false;
      stopTimer();
      stopListening?.();
      stopHeartbeat();
      await progress.close();
    },
  };
}
