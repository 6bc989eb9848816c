import type { Envelope } from "../model/envelope.ts";
import { InputTooNew, InvalidInput } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { TaskType } from "./task.ts";

/**
 * The version of a task's input. The record has it too, because a worker of an older release drops it from the
 * envelope.
 */
export const inputVersionOf = (
  envelope: Pick<Envelope, "input_version">,
  record: Pick<TaskRecord, "input_version">,
): number => envelope.input_version ?? record.input_version ?? 1;

/**
 * Brings an input of an earlier version to its type's present version, step by step.
 * @throws InvalidInput when a step is missing or throws; InputTooNew when the input's version is later than the
 * worker's
 */
export function upcastInput({ version, upcast }: TaskType, input: unknown, inputVersion: number): unknown {
  if (inputVersion === version) return input;
  if (inputVersion > version) {
    throw new InputTooNew(`the input has version ${inputVersion}; this worker knows versions up to ${version}`);
  }
  // A retry sends the original input again: no step may change it.
  let current: unknown = structuredClone(input);
  for (let from = inputVersion; from < version; from++) current = stepFrom(upcast, from, version, current);
  return current;
}

function stepFrom(upcast: TaskType["upcast"], from: number, version: number, input: unknown): unknown {
  const step = upcast[from];
  if (step === undefined) {
    throw new InvalidInput(
      `the input has version ${from}; this worker expects version ${version} and has no step from ${from}`,
    );
  }
  const result = callStep(step, from, input);
  if (!(result instanceof Promise)) return result;
  // An unhandled rejection would end the worker.
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
