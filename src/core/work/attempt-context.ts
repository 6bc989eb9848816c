import type { Spawner, SpawnPorts } from "../children/spawner.ts";
import { spawningOf } from "../children/spawning.ts";
import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Log, OnceStore } from "../ports/tasks.ts";
import type { AttemptSteps, StepPorts } from "../steps/attempt-steps.ts";
import { type ChildSubmit, childSubmitOf, type TaskContext, traceHeadersOf } from "../task/context.ts";
import { runOnce } from "../task/once.ts";
import type { TaskType } from "../task/task.ts";
import { taskFiles } from "../task/task-file.ts";
import type { HeartbeatPorts } from "./heartbeat.ts";
import type { PackPorts } from "./pack-result.ts";

export interface AttemptPorts extends HeartbeatPorts, SpawnPorts, PackPorts, StepPorts {
  once: OnceStore;
  log: Log;
  /** Submits a task for a handler. Returns the new task's id. */
  submitChild(parent: TaskRecord, child: ChildSubmit, key: string, traceparent: string | undefined): Promise<string>;
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

export interface ContextParts extends Pick<TaskContext, "log" | "signal" | "progress" | "state" | "remainingMs"> {
  isOpen: () => boolean;
  spawner: Spawner;
  steps: AttemptSteps;
}

/** Makes the context of an attempt. */
export function contextOf(
  ports: AttemptPorts,
  { record, type, traceparent }: Running,
  { log, signal, progress, state, remainingMs, isOpen, spawner, steps }: ContextParts,
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
    files: taskFiles(ports, record.files),
    ...spawningOf(type, spawner, mustBeOpen),
    ...stepsOf(steps, mustBeOpen),
    state,
    remainingMs,
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
