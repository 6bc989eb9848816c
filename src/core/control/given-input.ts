import type { Envelope } from "../model/envelope.ts";
import { isOwnName } from "../model/internal-names.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import type { EntryPorts } from "../pipeline/send/keep-entries.ts";
import { storedEnvelope } from "../pipeline/send/large-input.ts";
import { keptUntil } from "../pipeline/send/parts.ts";
import { checkTask } from "../pipeline/submit/check-input.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import type { KnownTypes } from "../task/catalog.ts";

/**
 * An input for the next round of a failed task, in place of the input that it failed with, and its version by the
 * task's type.
 */
export interface GivenInput {
  input: unknown;
  version: number;
}

/**
 * Checks an input for a task's next round, as a submit's is checked.
 * @throws Problem `invalid_input`, `unknown_task_type`; `conflict` for a task of Offload's own
 */
export async function checkGiven(types: KnownTypes, record: TaskRecord, input: unknown): Promise<GivenInput> {
  if (isOwnName(record.type)) throw new Problem("conflict", "This task is one of Offload's own, and keeps its input.");
  if (record.collects !== undefined) {
    throw new Problem("conflict", "The input of this task is the list that it collected, and stays as it is.");
  }
  return { input, version: (await checkTask(types, { type: record.type, input })).version };
}

/**
 * Stores an input for a task's next round, as a part that only the change which starts the round names. So of two
 * retries at once only the input of the retry that starts the round is ever used, whichever messages are on their way:
 * a worker runs a task with the part that its record names.
 * @param purgeAt Epoch seconds until which the part is kept: as long as the next round's record.
 * @throws Problem `too_large`; `conflict` when the task has entries or children, which were made from the earlier input
 */
export async function storeGiven(
  ports: DispatchPorts & EntryPorts,
  record: TaskRecord,
  given: GivenInput,
  purgeAt: number,
): Promise<Envelope> {
  await mustBeginAnew(ports, record);
  const { input_version: _, ...rest } = record;
  const next = { ...rest, purge_at: purgeAt, ...(given.version > 1 && { input_version: given.version }) };
  const envelope = await storedEnvelope(ports, next, given.input);
  await ports.records.savePart(record, `input#${envelope.message_id}`, envelope, keptUntil(purgeAt));
  return envelope;
}

/** A later round goes on with the entries of earlier ones, and finds children by their keys. */
async function mustBeginAnew(ports: EntryPorts, record: TaskRecord): Promise<void> {
  const what = await madeBefore(ports, record);
  if (what === undefined) return;
  throw new Problem(
    "conflict",
    `The task has ${what} of its earlier input, with which a retry would go on. Retry it without input, or submit a new task.`,
  );
}

async function madeBefore({ steps }: EntryPorts, record: TaskRecord): Promise<string | undefined> {
  if (record.family_state !== undefined || record.family_total !== undefined) return "children";
  if (record.checkpointed) return "a state";
  if (record.attempts_total === 0) return undefined;
  return (await steps.load(record)).length > 0 ? "stored steps, waits or signals" : undefined;
}
