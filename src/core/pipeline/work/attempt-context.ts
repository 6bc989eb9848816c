import { inShort } from "../../../util/foreign-value.ts";
import { spawnAll, spawnOne } from "../../extras/children/spawning.ts";
import type { StoredState } from "../../extras/steps/checkpoints.ts";
import type { SignalUrlPorts } from "../../extras/steps/signal-url.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PermanentError } from "../../model/errors.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { StackOf } from "../../model/stack.ts";
import type { Log, OnceStore } from "../../ports/tasks.ts";
import { currentTask, mustNotBeWithin } from "../../task/ambient.ts";
import type { TaskContext, TaskIdentity, WhileOpen } from "../../task/context.ts";
import {
  type checkedRun,
  type checkedSpawn,
  checkedSubmit,
  type childSubmitOf,
  type HandlerSchedule,
  type HandlerSchedules,
  type NamedSchedule,
} from "../../task/handler-submit.ts";
import { checkedOnceKey, onceOwner, runOnce } from "../../task/once.ts";
import { byAuthor, type ForHandler, forHandler } from "../../task/own-fault.ts";
import type { StepAttempt, StepOptions, WaitEnd } from "../../task/step-calls.ts";
import type { TaskType } from "../../task/task.ts";
import { taskFiles } from "../../task/task-file.ts";
import type { AttemptTools, ToolPorts } from "./attempt-tools.ts";
import type { HeartbeatPorts } from "./heartbeat.ts";
import type { PackPorts } from "./pack-result.ts";

export interface AttemptPorts extends HeartbeatPorts, ToolPorts, PackPorts {
  once: OnceStore;
  handlerSchedules: HandlerSchedules;
  log: Log;
  stackOf: StackOf;
  /** Absent: handlers get no addresses for signals. */
  signalUrls?: SignalUrlPorts;
  /**
   * Resolves after one turn of the event loop, when the process has told of every rejection that nobody awaits. Absent:
   * nobody listens to them.
   */
  turn?(): Promise<void>;
  /** Takes errors of a task's code that come after its attempt has ended by itself. Absent: they are logged. */
  onLate?(error: unknown, record: TaskRecord): void;
}

/** One attempt that holds its lease. */
export interface Running {
  record: TaskRecord;
  envelope: Envelope;
  type: TaskType;
  /** W3C trace context of the attempt, for the handler's own requests. Undefined: there is no trace. */
  traceparent: string | undefined;
  /** Hides the message for that many more seconds, together with the lease. */
  renewMessage(seconds: number): Promise<void>;
  /** Called when the attempt ends and its handler has neither returned nor thrown. */
  onAbandoned?(): void;
}

/** A once-only key is held for the type's time-out plus this many seconds: the attempt has certainly ended by then. */
const holdOnceSeconds = 5;

export interface ContextParts extends Pick<TaskContext, "log" | "signal" | "progress" | "remainingMs"> {
  isOpen: () => boolean;
  /** Takes the error of a call after the attempt's end. */
  late: (error: unknown) => void;
  /** Ends the attempt: Offload's own parts have failed. */
  lost: (error: unknown) => void;
  /** The state of the last checkpoint. Undefined: there is none. */
  state: StoredState | undefined;
  tools: AttemptTools;
}

const noFiles = {};

/** Makes the context of an attempt. */
export function contextOf(
  ports: AttemptPorts,
  { record, type, traceparent }: Running,
  { log, signal, progress, state, remainingMs, isOpen, late, lost, tools }: ContextParts,
): TaskContext {
  const effects = new Map<string, Promise<unknown>>();
  const gone = (what: string) => {
    late(new Error(`task.${what} was called after the attempt had ended: it has no effect`));
    // Never resolves, nor rejects: the code that awaits it has nothing more to do.
    return new Promise<never>(() => {});
  };
  const passOn: ForHandler = (answer) => forHandler(lost)(answer);
  const whileOpen: WhileOpen = (what, call) => (isOpen() ? call() : gone(what));
  const guarded: WhileOpen = (what, call) => (isOpen() ? passOn(call()) : gone(what));
  // These calls have no entries by which the next attempt could go on in them.
  const counted: WhileOpen = (what, call) => (isOpen() ? passOn(tools.during(call())) : gone(what));
  const spawning = { type, tools, signal, guarded: counted };
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
    files: record.files === undefined ? noFiles : taskFiles(ports, passOn, record.files),
    spawn: (...given: Parameters<typeof checkedSpawn>) => spawnOne(spawning, "spawn", given),
    // The iterables of `spawnAll` are the author's code.
    spawnAll: (...given: Parameters<typeof spawnAll>[1]) => whileOpen("spawnAll", () => spawnAll(spawning, given)),
    ...storing({ ports, record, tools, signal, log }, guarded, counted),
    state: state?.value,
    remainingMs,
    now: () => new Date(ports.clock.now()),
    maxAttempts: record.max_attempts,
    // Attempts that aggregate are counted anew.
    isLastAttempt: record.attempts - (record.closing_from ?? 0) >= record.max_attempts,
    submit: (...given: Parameters<typeof childSubmitOf>) =>
      counted("submit", async () => tools.submits.submit(checkedSubmit(...given))),
    once: <T>(key: string, effect: (idempotencyKey: string) => Promise<T> | T) =>
      counted("once", async () => {
        mustBeFunction("once", effect);
        mustNotBeWithin({ kind: "once", name: checkedOnceKey(key) });
        const untilMs = ports.clock.now() + (type.timeoutSeconds + holdOnceSeconds) * 1000;
        const ownLog = currentTask()?.log ?? log;
        const caller = { tenantId: record.tenant_id, owner: onceOwner(record), untilMs, log: ownLog };
        const running =
          effects.get(key) ?? runOnce(ports, caller, key, byAuthor(effect)).finally(() => effects.delete(key));
        effects.set(key, running);
        return running as Promise<T>;
      }),
  });
}

type StoringCalls =
  | ("step" | "run" | "sleep" | "sleepUntil" | "waitFor" | "nextSignal" | "waitForAny" | "checkpoint" | "continueLater")
  | ("putSchedule" | "deleteSchedule" | "signalUrl");

interface Storing extends Pick<ContextParts, "tools" | "signal" | "log"> {
  ports: AttemptPorts;
  record: TaskRecord;
}

/** The function of a step. */
type StepRun<T> = (idempotencyKey: string, attempt: StepAttempt) => Promise<T> | T;

async function urlOf(
  { signalUrls, clock }: AttemptPorts,
  record: TaskRecord,
  given: Parameters<TaskContext["signalUrl"]>,
): Promise<string> {
  const { signalUrl } = await import("../../extras/steps/signal-url.ts");
  return signalUrl(signalUrls && { ...signalUrls, clock }, record, ...given);
}

/** The members of a handler's context that store what the next attempt goes on with, schedules, and links. */
const storing = (
  { ports, record, tools, signal, log }: Storing,
  guarded: WhileOpen,
  counted: WhileOpen,
): Pick<TaskContext, StoringCalls> => ({
  putSchedule: (name: string, schedule: HandlerSchedule | NamedSchedule) =>
    counted("putSchedule", () => ports.handlerSchedules.put(record, name, schedule)),
  deleteSchedule: (name) => counted("deleteSchedule", () => ports.handlerSchedules.delete(record, name)),
  step: <T>(name: string, ...given: [StepRun<T>] | [StepOptions, StepRun<T>]) =>
    guarded("step", async () => {
      const [run, options] = given.length < 2 ? [given[0]] : [given[1], given[0] as StepOptions];
      mustBeFunction("step", run);
      const tries = options === undefined ? undefined : { options, log, stackOf: ports.stackOf };
      return tools.steps.step(name, byAuthor(run as StepRun<T>), signal, tries);
    }),
  run: <Output>(...given: Parameters<typeof checkedRun>) => guarded("run", () => tools.run(given) as Promise<Output>),
  sleep: (seconds) => guarded("sleep", () => tools.steps.waits.sleep(seconds)),
  sleepUntil: (date) => guarded("sleepUntil", () => tools.steps.waits.sleepUntil(date)),
  waitFor: <T>(name: string, options: WaitEnd) =>
    guarded("waitFor", () => tools.steps.waits.waitFor(name, options) as Promise<T | undefined>),
  nextSignal: <T>(name: string, options: WaitEnd) =>
    guarded("nextSignal", () => tools.steps.waits.nextSignal(name, options) as Promise<T | undefined>),
  waitForAny: <Name extends string>(signals: object, options: WaitEnd) =>
    guarded(
      "waitForAny",
      () => tools.steps.waits.waitForAny(signals, options) as Promise<{ name: Name; body: unknown } | undefined>,
    ),
  // It has no entry by which the next attempt could go on in it.
  signalUrl: (...given) => guarded("signalUrl", () => tools.during(urlOf(ports, record, given))),
  checkpoint: (state) => guarded("checkpoint", () => tools.steps.checkpoints.checkpoint(state)),
  continueLater: () => guarded("continueLater", () => tools.steps.continueLater()),
});

/** @throws PermanentError */
function mustBeFunction(what: string, given: unknown): void {
  if (typeof given === "function") return;
  throw new PermanentError(`task.${what}: expected a function as its last argument, got ${inShort(given)}`);
}

/** Headers that carry a task's ids to other services. */
const traceHeadersOf = ({
  correlationId,
  traceparent,
}: Pick<TaskIdentity, "correlationId" | "traceparent">): Record<string, string> => ({
  "x-correlation-id": correlationId,
  ...(traceparent === undefined ? {} : { traceparent }),
});
