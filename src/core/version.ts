import type { Envelope } from "./envelope.ts";
import { InputTooNew, InvalidInput } from "./errors.ts";
import type { TaskRecord } from "./record.ts";
import type { TaskType } from "./task.ts";

/** The version of a task's input. The record knows it too, as a worker of an older release drops what it does not know. */
export const inputVersionOf = (
  envelope: Pick<Envelope, "input_version">,
  record: Pick<TaskRecord, "input_version">,
): number => envelope.input_version ?? record.input_version ?? 1;

/**
 * Brings an input of an earlier version to its type's present one, step by step.
 * @throws InvalidInput when a step is missing or throws; InputTooNew when the worker's version is the earlier one
 */
export function upcastInput({ version, upcast }: TaskType, input: unknown, inputVersion: number): unknown {
  if (inputVersion === version) return input;
  if (inputVersion > version) {
    throw new InputTooNew(`the input is of version ${inputVersion}; this worker knows versions up to ${version}`);
  }
  // A retry sends the input again as it came: no step may have changed it.
  let current: unknown = structuredClone(input);
  for (let from = inputVersion; from < version; from++) current = stepFrom(upcast, from, version, current);
  return current;
}

function stepFrom(upcast: TaskType["upcast"], from: number, version: number, input: unknown): unknown {
  const step = upcast[from];
  if (step === undefined) {
    throw new InvalidInput(
      `the input is of version ${from}; this worker takes version ${version}, and knows no way from the one to the other`,
    );
  }
  const result = callStep(step, from, input);
  if (!(result instanceof Promise)) return result;
  // Nobody waits for it, and a rejection that nobody hears of would end the worker.
  result.catch(() => {});
  throw new InvalidInput(`the step from version ${from} to ${from + 1} of the input returned a promise`);
}

function callStep(step: (input: never) => unknown, from: number, input: unknown): unknown {
  try {
    return step(input as never);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInput(`the step from version ${from} to ${from + 1} of the input failed: ${why}`, { cause });
  }
}
