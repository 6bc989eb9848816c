import { inShort, quiet } from "../../../util/foreign-value.ts";
import type { SealedFamily } from "../../extras/children/spawner.ts";
import type { StoredState } from "../../extras/steps/checkpoints.ts";
import {
  AttemptCancelled,
  AttemptCrashed,
  AttemptTimedOut,
  PermanentError,
  WorkerStopping,
} from "../../model/errors.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { Suspension } from "../../model/suspension.ts";
import { type Ambient, asOwnWork, runAmbient, runInContext } from "../../task/ambient.ts";
import type { TaskContext } from "../../task/context.ts";
import { handlerLog, redactedLog, redactionOf } from "../../task/handler-log.ts";
import { forHandler, isOwnEnd } from "../../task/own-fault.ts";
import { dataOf, inputVersionOf, parseInput } from "../../task/parsed-input.ts";
import type { TaskType } from "../../task/task.ts";
import type { Parent } from "../end/child-results.ts";
import { storedInput } from "../send/large-input.ts";
import { type AttemptPorts, type ContextParts, contextOf, type Running } from "./attempt-context.ts";
import { AttemptTools, mayHaveChildren } from "./attempt-tools.ts";
import { detailsOf, progressWriter, startHeartbeat } from "./heartbeat.ts";
import { reportLate } from "./late-error.ts";
import { type Packed, packResult } from "./pack-result.ts";

/** The end of one attempt's handler. */
export type Ended =
  /** The handler returned, and its result is stored or small. */
  | { how: "returned"; packed: Packed }
  /** The handler returned, and its children are spawned. */
  | { how: "spawned"; family: SealedFamily; threshold: number; aggregated?: Packed }
  | {
      how: "threw";
      error: unknown;
      /** True: Offload's own parts failed, and not the author's code. */
      own?: boolean;
    }
  | { how: "timed_out"; error: AttemptTimedOut }
  /** The attempt goes on later, and is not counted. */
  | { how: "suspended"; suspension: Suspension }
  | Cancelled;

/** The attempt was cancelled. */
export interface Cancelled {
  how: "cancelled";
  /** Says what was interrupted, where the attempt was ended with its process. Absent: its handler had stopped. */
  interrupted?: string;
}

/** From the request of a cancel `now`, an attempt has this time to stop, in milliseconds. */
const stopMs = 5_000;

/** From its signal, an attempt that is told to stop has at least this time, in milliseconds. */
const minStopMs = 2_000;

/**
 * Runs the handler in its ambient context until it settles, times out or is cancelled, or until its code throws where
 * nobody can catch it. Never throws. A handler that goes on after that cannot change anything: its context is closed.
 */
export async function runAttempt(ports: AttemptPorts, running: Running): Promise<Ended> {
  const tools = new AttemptTools(ports, running, isClosing(running));
  const given: Given = { tools, state: undefined, input: running.envelope.input };
  try {
    // Only an attempt with children, a state, or an input that is too large for a message, waits for it: the others
    // start at once.
    if (mayHaveChildren(running)) await tools.loadSpawner();
    if (running.record.checkpointed) given.state = await tools.steps.checkpoints.state();
    if (given.state !== undefined) tools.startBehind(given.state);
    if (running.envelope.input_ref !== undefined && !isClosing(running)) {
      given.input = await storedInput(ports, running.envelope);
    }
    const { readInput } = running.type;
    if (readInput !== undefined) given.input = await readInput(running.record, given.input);
    // After all that takes time.
    mustHoldLease(ports, running.record);
  } catch (error) {
    return threw(error);
  }
  if (ports.isStopping?.()) return { how: "suspended", suspension: { dueAt: ports.clock.now() } };
  const attempt = openAttempt(ports, running);
  tools.open(attempt.parts.remainingMs);
  const working = runAmbient(attempt.ambient, () => call(ports, running, given, attempt));
  let over = false;
  void working.then(() => {
    over = true;
  });
  try {
    const ends = [attempt.ended, suspended(tools), working];
    const ended = await Promise.race(ends).then((first) => {
      if (!attempt.cancelled() || first.how === "timed_out") return first;
      return first.how === "cancelled" ? interruptedIn(first, tools) : { how: "cancelled" as const };
    });
    // A handler that goes on can do nothing any more, also while the writes below take their time.
    tools.close();
    attempt.shut();
    return await keepCaused(ports, tools, ended);
  } finally {
    if (!over) running.onAbandoned?.();
    tools.close();
    await attempt.close();
  }
}

/** Says what a handler was doing that had to be interrupted. */
function interruptedIn({ interrupted, ...ended }: Cancelled, { underWay }: AttemptTools): Cancelled {
  if (interrupted === undefined) return ended;
  const steps = underWay.map((name) => JSON.stringify(name)).join(", ");
  return { ...ended, interrupted: steps === "" ? interrupted : `${interrupted}; its step ${steps} had begun` };
}

/** A handler starts with this. */
interface Given {
  tools: AttemptTools;
  state: StoredState | undefined;
  /** Not parsed yet. The attempt that aggregates needs none. */
  input: unknown;
}

/**
 * A later attempt may follow, and must know what this one has caused. An attempt that was suspended, and cannot tell,
 * is tried again.
 */
async function keepCaused({ log }: AttemptPorts, tools: AttemptTools, ended: Ended): Promise<Ended> {
  if (ended.how === "returned" || ended.how === "cancelled") return ended;
  try {
    // The seal of a family says all that a note of its pages would say.
    await (ended.how === "spawned" ? tools.keepSubmits() : tools.keepAll());
    return ended;
  } catch (error) {
    if (ended.how === "suspended" || ended.how === "spawned") return threw(error);
    log.warn("could not create the children that a failed attempt has spawned", { error: String(error) });
    return ended;
  }
}

/** The end by an error that no call of the handler made. */
const threw = (error: unknown): Ended => ({ how: "threw", error, ...(isOwnEnd(error) && { own: true }) });

const suspended = (tools: AttemptTools): Promise<Ended> =>
  tools.suspended.then(
    (suspension) => ({ how: "suspended", suspension }),
    (error: unknown) => threw(error),
  );

/** If this process was frozen after its claim, the lease may have ended and another worker may have the task. */
function mustHoldLease({ clock }: AttemptPorts, { lease_until: leaseUntil }: TaskRecord): void {
  if (leaseUntil === undefined || leaseUntil > iso(clock.now())) return;
  throw new AttemptCrashed("the lease ended before the handler could start");
}

/** True for the attempt that aggregates the results of children. */
const isClosing = ({ record, type }: Running): boolean =>
  record.family_state === "closing" && type.aggregate !== undefined;

/** parse → handle → pack. Never rejects. */
async function call(ports: AttemptPorts, running: Running, given: Given, attempt: OpenAttempt): Promise<Ended> {
  const { type, envelope, record } = running;
  try {
    let { input } = given;
    let parent: Parent | undefined;
    if (isClosing(running)) {
      parent = await (await import("../end/child-results.ts")).parentOf(ports, type, record, envelope);
      input = parent.both;
    } else {
      const parsed = parseInput(type, input, inputVersionOf(envelope, record), envelope.collected);
      // Only an async schema is waited for.
      input = dataOf(parsed instanceof Promise ? await parsed : parsed);
    }
    const redact = type.sensitive ? redactionOf([input, envelope.input]) : undefined;
    if (redact !== undefined) attempt.ambient.redact = redact;
    const log = handlerLog(redact === undefined ? ports.log : redactedLog(ports.log, redact));
    const context = contextOf(ports, running, { ...attempt.parts, ...given, log });
    return await handle(ports, running, input, { tools: given.tools, context, lost: attempt.parts.lost, parent });
  } catch (error) {
    return threw(error);
  }
}

/** The parts of an attempt with which its handler runs. */
interface Handling {
  context: TaskContext;
  tools: AttemptTools;
  lost: ContextParts["lost"];
  /** The parent that aggregates. Undefined: the handler runs. */
  parent: Parent | undefined;
}

async function handle(
  ports: AttemptPorts,
  running: Running,
  input: unknown,
  { context, tools, lost, parent }: Handling,
): Promise<Ended> {
  const { type, record } = running;
  const packed = async (value: unknown): Promise<Packed> => {
    // The handler has returned: nothing that it left open may end the attempt otherwise.
    tools.close();
    // The process tells of a rejection that nobody awaits only when it has run all that was ready.
    await ports.turn?.();
    return packResult(ports, record, type, value, context.signal);
  };
  if (parent !== undefined) {
    const children = parent.children(forHandler(lost));
    const result = await runInContext(context, () => type.aggregate?.(children, context));
    return afterAggregate(record, tools, await packed(result));
  }
  const threshold = thresholdOf(type, input);
  const value = await runInContext(context, () => type.handler(input as never, context));
  const family = await tools.seal();
  if (family === undefined)
    return { how: "returned", packed: await packed(await withoutChildren(running, input, value, context)) };
  tools.close();
  await ports.turn?.();
  return { how: "spawned", family, threshold };
}

/** The children that `aggregate` spawned are waited for, too. */
async function afterAggregate(record: TaskRecord, tools: AttemptTools, packed: Packed): Promise<Ended> {
  const family = tools.spawner?.hasUncounted ? await tools.seal() : undefined;
  if (family === undefined) return { how: "returned", packed };
  return { how: "spawned", family, threshold: record.family_threshold ?? 1, aggregated: packed };
}

/** Result of a handler that spawned no child: its own, or that of `aggregate` where the handler returned nothing. */
async function withoutChildren(
  { type }: Running,
  input: unknown,
  value: unknown,
  context: TaskContext,
): Promise<unknown> {
  if (value !== undefined || type.aggregate === undefined) return value;
  const { noChildren } = await import("../end/child-results.ts");
  return runInContext(context, () => type.aggregate?.(noChildren(input), context));
}

/** @throws PermanentError for a type's own threshold that is not a share */
function thresholdOf({ children }: TaskType, input: unknown): number {
  const { threshold = 1 } = children ?? {};
  const share = typeof threshold === "number" ? threshold : threshold(input as never);
  if (typeof share === "number" && share >= 0 && share <= 1) return share;
  quiet(share);
  throw new PermanentError(`children.threshold returned ${inShort(share)}; expected a number from 0 to 1`);
}

/** A running attempt: the parts of its context, and the ends that come from outside the handler. */
interface OpenAttempt {
  ambient: Ambient;
  parts: Omit<ContextParts, "tools" | "state" | "log">;
  /** Resolves when the attempt times out, or its code throws where nobody can catch it; otherwise never. */
  ended: Promise<Ended>;
  cancelled(): boolean;
  /** Closes the context. The lease is still renewed. */
  shut(): void;
  /** Ends the renewals of the lease; resolves when the last progress is written. */
  close(): Promise<void>;
}

function openAttempt(ports: AttemptPorts, running: Running): OpenAttempt {
  const { record, type, renewMessage } = running;
  const ends = attemptEnds(ports, running);
  const { onCancelled } = ends;
  const progress = progressWriter(ports, record, onCancelled);
  const stopHeartbeat = startHeartbeat(ports, {
    record,
    timeoutSeconds: type.timeoutSeconds,
    renewMessage,
    onCancelled,
  });
  const endsAt = ports.clock.now() + type.timeoutSeconds * 1000;
  const stopTimer = ports.clock.after(type.timeoutSeconds * 1000, () => {
    const error = new AttemptTimedOut(`the attempt took longer than ${type.timeoutSeconds} s`);
    ends.endAs(ends.cancelled() ? { how: "cancelled" } : { how: "timed_out", error }, error);
  });
  const stopListening = ports.onStopping?.(() => {
    if (ends.cancelled()) ends.endAs(interruptedBy("the worker had to end"), new WorkerStopping());
    else ends.endAs({ how: "suspended", suspension: { dueAt: ports.clock.now() } }, new WorkerStopping());
  });
  const { isOpen } = ends.ambient;
  const report: TaskContext["progress"] = (percent, details) => {
    const given: unknown = percent;
    // What is no number has no place, and is passed over.
    if (typeof given === "bigint" || typeof given === "symbol") {
      throw new PermanentError(`task.progress: expected a number from 0 to 100, got ${inShort(given)}`);
    }
    const stored = details === undefined ? undefined : detailsOf(details, ends.ambient.redact);
    if (isOpen()) asOwnWork(() => progress.report(percent, stored));
  };
  const remainingMs = () => Math.max(0, endsAt - ports.clock.now());
  return {
    ...ends,
    parts: {
      ...{ signal: ends.signal, progress: report, remainingMs, isOpen, late: ends.late },
      lost: ends.lost,
    },
    shut: ends.close,
    close: async () => {
      ends.close();
      stopTimer();
      ends.stopTimer();
      stopListening?.();
      stopHeartbeat();
      await progress.close();
    },
  };
}

const interruptedBy = (why: string): Cancelled => ({
  how: "cancelled",
  interrupted: `the handler was interrupted, as ${why} before it had stopped`,
});

/** Ends the process of an attempt that has not stopped, some time after a request to cancel it now. */
function endProcessLater(
  ports: AttemptPorts,
  { cancel_requested_at: askedAt }: TaskRecord,
  end: (ended: Cancelled) => void,
): () => void {
  const askedMs = askedAt === undefined ? ports.clock.now() : Date.parse(askedAt);
  const afterMs = Math.max(minStopMs, askedMs + stopMs - ports.clock.now());
  return ports.clock.after(afterMs, () => {
    ports.log.warn(
      "an attempt has not stopped after its cancel: its process ends, and the other attempts in it go on elsewhere",
    );
    end(interruptedBy("its process was ended"));
  });
}

/** The ends of an attempt that come from outside of its handler, of which the first one counts. */
function attemptEnds(ports: AttemptPorts, running: Running) {
  const abort = new AbortController();
  let [open, cancelled, endedItself] = [true, false, true];
  let stopTimer: (() => void) | undefined;
  let end: ((ended: Ended) => void) | undefined;
  const ended = new Promise<Ended>((resolve) => {
    end = resolve;
  });
  const late = (error: unknown) => void reportLate(ports, running, error, { endedItself });
  // What listens to the signal is code of the attempt, and may throw.
  const abortWith = (reason: unknown) => runAmbient(ambient, () => abort.abort(reason));
  const endAs = (ending: Ended, reason: unknown) => {
    endedItself = ending.how === "threw" && ending.own !== true;
    end?.(ending);
    end = undefined;
    abortWith(reason);
  };
  const stray = (error: unknown) => {
    if (open && end !== undefined) endAs({ how: "threw", error }, error);
    else late(error);
  };
  const ambient: Ambient = { isOpen: () => open, stray };
  // Closed first: what listens to the signal must not begin anything more.
  const lost = (error: unknown) => {
    if (!open || end === undefined) return;
    open = false;
    endAs({ how: "threw", error, own: true }, error);
  };
  const onCancelled = (current: TaskRecord) => {
    if (!open) return;
    if (!cancelled) {
      [cancelled, endedItself] = [true, false];
      abortWith(new AttemptCancelled());
    }
    if (!current.cancel_now) return;
    stopTimer ??= endProcessLater(ports, current, (interrupted) => endAs(interrupted, new AttemptCancelled()));
  };
  const close = () => {
    open = false;
  };
  return {
    ...{ ambient, ended, endAs, late, lost, onCancelled, close, signal: abort.signal },
    cancelled: () => cancelled,
    stopTimer: () => stopTimer?.(),
  };
}
