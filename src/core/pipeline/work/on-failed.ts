import * as z from "zod";
import type { Envelope } from "../../model/envelope.ts";
import { onFailedName } from "../../model/internal-names.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { Records } from "../../ports/tasks.ts";
import type { TaskContext } from "../../task/context.ts";
import type { FailedTask, TaskFailure } from "../../task/retry.ts";
import type { Registry, TaskType } from "../../task/task.ts";

/** The same, with the message of the failed task. Undefined: it is lost. */
interface WithMessage extends FailedTask {
  message: Pick<Envelope, "input" | "input_version"> | undefined;
}

interface InputPorts {
  registry: Registry;
  records: Records;
  blobs: Blobs;
}

/**
 * The type of a message's task: of the registry, or that which runs another type's `onFailed`, with the waits, the
 * time-out and the rules of that type. Undefined: the registry does not have it.
 */
export function typeOf(ports: InputPorts, envelope: Envelope): TaskType | undefined {
  if (envelope.type !== onFailedName) return ports.registry.get(envelope.type);
  const { type: name = "" } = Object(envelope.input) as Partial<FailedTask>;
  const failed = ports.registry.get(name);
  return {
    ...plain,
    ...(failed && {
      ...{ timeoutSeconds: failed.timeoutSeconds, retry: failed.retry, classify: failed.classify },
      ...{ sensitive: failed.sensitive, runsOn: failed.runsOn, maxAttempts: failed.maxAttempts },
    }),
    readInput: async (record, given) => {
      const { readMessage } = await import("./failed-input.ts");
      return { ...(given as FailedTask), message: await readMessage(ports, record) };
    },
    handler: async (given: WithMessage, task: TaskContext) => {
      if (failed === undefined) throw new Error(`no task type is named ${JSON.stringify(name)}`);
      const { inputFor } = await import("./failed-input.ts");
      return failed.onFailed?.((await inputFor(failed, given.message)) as never, failureOf(given), task);
    },
  };
}

const failureOf = (given: FailedTask): TaskFailure => ({
  taskId: given.task_id,
  error: given.error,
  errorType: given.error_type,
  errorKind: given.error_kind,
  attempts: given.attempts,
  failedAt: given.failed_at,
});

/** Without the limits, files, children and states of the failed task's type, which are about its handler. */
const plain: TaskType = {
  ...{ name: onFailedName, description: "", input: z.unknown(), version: 1, upcast: {}, output: undefined },
  ...{ priority: "normal", runsOn: "function", timeoutSeconds: 60, maxAttempts: 5, retry: {}, classify: [] },
  ...{ cancellable: true, sensitive: false, keepInput: false, push: undefined, files: {}, state: undefined },
  ...{ children: undefined, aggregate: undefined, onFailed: undefined, handler: () => undefined },
  ...{ concurrency: undefined, rateLimit: undefined, breaker: undefined, collect: undefined },
};
