import type { Envelope } from "../../model/envelope.ts";
import { InputTooNew, InvalidInput, PermanentError } from "../../model/errors.ts";
import type { TaskKey } from "../../model/record.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { Records } from "../../ports/tasks.ts";
import { dataOf, parseInput } from "../../task/parsed-input.ts";
import type { TaskType } from "../../task/task.ts";
import { storedInput } from "../send/large-input.ts";

/** The message of a failed task, with its input. */
type Message = Pick<Envelope, "input" | "input_version" | "collected">;

/**
 * Reads the message of a failed task, which is beside the record of its `onFailed`.
 * @returns Undefined: the message, or its large input, is no longer stored.
 * @throws PortUnavailable
 */
export async function readMessage(
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
export async function inputFor(type: TaskType, message: Message | undefined): Promise<unknown> {
  if (message === undefined) return undefined;
  try {
    return dataOf(await parseInput(type, message.input, message.input_version ?? 1, message.collected));
  } catch (error) {
    if (error instanceof InvalidInput || error instanceof InputTooNew) return message.input;
    throw error;
  }
}
