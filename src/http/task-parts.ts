import { inputOf, stepsOf } from "../core/control/stored-parts.ts";
import { PermanentError } from "../core/model/errors.ts";
import { Problem } from "../core/model/problem.ts";
import type { TaskRecord } from "../core/model/record.ts";
import type { StepStore } from "../core/ports/steps.ts";
import type { KnownType } from "../core/task/catalog.ts";
import { type Call, type HandlersOf, identify } from "./api.ts";
import { findTask } from "./find-task.ts";
import type { StatusPorts } from "./status.ts";

export interface TaskPartPorts extends Pick<StatusPorts, "records" | "clock" | "blobs"> {
  steps: StepStore;
  types: ReadonlyMap<string, KnownType>;
}

/** Handlers that read what is stored beside a task: its steps, its input. */
export const taskParts = (ports: TaskPartPorts) =>
  ({
    listSteps: async (call) => {
      const record = await findTask(ports, call, identify(call, "operator"));
      call.header("cache-control", "no-store");
      return call.json({ steps: await stepsOf(ports, record, isSensitive(ports, record)) });
    },
    readInput: (call) => inputAnswer(ports, call),
  }) satisfies Partial<HandlersOf<"control">>;

/**
 * Inputs of a sensitive type are shown to operators, and only those that they see among the dead letters. A type that
 * is gone may have been one.
 */
async function inputAnswer(ports: TaskPartPorts, call: Call): Promise<Response> {
  const identity = identify(call);
  const record = await findTask(ports, call, identity);
  const sensitive = isSensitive(ports, record);
  const notFound = () => new Problem("input_not_kept", sensitive ? notShown : notKept);
  if (identity.role === "submitter" && sensitive) throw notFound();
  const found = await inputOf(ports, record, sensitive).catch((error: unknown) => {
    if (error instanceof PermanentError) throw notFound();
    throw error;
  });
  if (found === undefined) throw notFound();
  call.header("cache-control", "no-store");
  return call.json(found);
}

const isSensitive = ({ types }: TaskPartPorts, { type }: TaskRecord): boolean =>
  (types.get(type) as { sensitive?: true } | undefined)?.sensitive === true || !types.has(type);

const notKept =
  "The task's input cannot be read: it is in the task's message while it runs or waits in a queue, and deleted after its end.";

const notShown = "Inputs of a sensitive type are shown to operators only, and only small ones of dead letters.";
