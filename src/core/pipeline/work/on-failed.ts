import * as z from "zod";
import type { Envelope } from "../../model/envelope.ts";
import { InputTooNew, InvalidInput, PermanentError } from "../../model/errors.ts";
import { onFailedName } from "../../model/internal-names.ts";
import type { TaskKey } from "../../model/record.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { Records } from "../../ports/tasks.ts";
import type { TaskContext } from "../../task/context.ts";
import { dataOf, parseInput } from "../../task/parsed-input.ts";
import type { FailedTask, TaskFailure } from "../../task/retry.ts";
import type { Registry, TaskType } from "../../task/task.ts";
import { storedInput } from "../send/large-input.ts";

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
    readInput: async (record, given) => ({ ...(given as FailedTask), message: await readMessage(ports, record) }),
    handler: async (given: WithMessage, task: TaskContext) => {
      if (failed === undefined) throw new Error(`no task type is named ${JSON.stringify(name)}`);
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

/** The message of a failed task, with its input. */
type Message = Pick<Envelope, "input" | "input_version" | "collected">;

/**
 * Reads the message of a failed task, which is beside the record of its `onFailed`.
 * @returns Undefined: the message, or its large input, is no longer stored.
 * @throws PortUnavailable
 */
async function readMessage(
  { records, blobs }: { records: Records; blobs: Blobs },
  key: TaskKey,
): Promise<Message | undefined> {
  const envelope = (await records.loadPart(key, "failed")) as Envelope | undefined;
  if (envelope?.input_ref === undefined) return envelope;
  try {
    return { ...envelope, input: await storedInput({ blobs }, envelope) };
  } catch (error) {
    if (error instanceof PermanentError) return undefined;
    throw error;
  }
}

/**
 * The input as the handler would get it; as it was submitted, where its schema refuses it; undefined where it is lost.
 */
async function inputFor(type: TaskType, message: Message | undefined): Promise<unknown> {
  if (message === undefined) return undefined;
  try {
    return dataOf(await parseInput(type, message.input, message.input_version ?? 1, message.collected));
  } catch (error) {
    if (error instanceof InvalidInput || error instanceof InputTooNew) return message.input;
    throw error;
  }
}
