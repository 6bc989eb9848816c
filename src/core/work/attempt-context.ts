import type { AttemptCaused } from "../children/attempt-caused.ts";
import type { SubmitterPorts } from "../children/attempt-submits.ts";
import type { SpawnPorts } from "../children/page-writer.ts";
import { spawningOf } from "../children/spawning.ts";
import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Log, OnceStore } from "../ports/tasks.ts";
import type { AttemptSteps, StepPorts, StoredState } from "../steps/attempt-steps.ts";
import { childSubmitOf, type TaskContext, traceHeadersOf } from "../task/context.ts";
import { runOnce } from "../task/once.ts";
import type { TaskType } from "../task/task.ts";
import { taskFiles } from "../task/task-file.ts";
import type { HeartbeatPorts } from "./heartbeat.ts";
import type { PackPorts } from "./pack-result.ts";

export interface AttemptPorts extends HeartbeatPorts, SpawnPorts, SubmitterPorts, PackPorts, StepPorts {
  once: OnceStore;
  log: Log;
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
}

/** A once-only key is held for the type's time-out plus this many seconds: the attempt has certainly ended by then. */
const holdOnceSeconds = 5;

export interface ContextParts extends Pick<TaskContext, "log" | "signal" | "progress" | "remainingMs"> {
  isOpen: () => boolean;
  /** The state of the last checkpoint. Undefined: there is none. */
  state: StoredState | undefined;
  caused: AttemptCaused;
  steps: AttemptSteps;
}

/** Makes the context of an attempt. */
export function contextOf(
  ports: AttemptPorts,
  { record, type, traceparent }: Running,
  { log, signal, progress, state, remainingMs, isOpen, caused, steps }: ContextParts,
): TaskContext {
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
    files: taskFiles(ports, record.files),
    ...spawningOf(type, caused.spawner, signal, mustBeOpen),
    ...stepsOf(steps, mustBeOpen),
    state: state?.value,
    remainingMs,
    submit: async (...given: Parameters<typeof childSubmitOf>) => {
      mustBeOpen("submit");
      return caused.submits.submit(childSubmitOf(...given));
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

/** The members of a handler's context that store what the next attempt goes on with. */
const stepsOf = (
  steps: AttemptSteps,
  mustBeOpen: (what: string) => void,
): Pick<TaskContext, "step" | "sleep" | "waitFor" | "checkpoint" | "continueLater"> => ({
  step: async (name, run) => {
    mustBeOpen("step");
    return steps.step(name, run);
  },
  sleep: async (seconds) => {
    mustBeOpen("sleep");
    return steps.sleep(seconds);
  },
  waitFor: async <T>(name: string, { timeoutSeconds }: { timeoutSeconds: number }) => {
    mustBeOpen("waitFor");
    return steps.waitFor(name, timeoutSeconds) as Promise<T | undefined>;
  },
  checkpoint: async (state) => {
    mustBeOpen("checkpoint");
    return steps.checkpoint(state);
  },
  continueLater: async () => {
    mustBeOpen("continueLater");
    return steps.continueLater();
  },
});
