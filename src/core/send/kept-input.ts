import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Clock, NewId, Records } from "../ports/tasks.ts";
import { longestDelaySeconds } from "./dispatch.ts";
import { newEnvelope } from "./new-envelope.ts";

/*
 * A waiting task's input is in its message, which only a worker can read. A copy of a small one in the record lets control send another
 * message, to another tier. It is there only while the task waits: the change that ends the wait removes it.
 */

/** The largest input that a record keeps, in bytes of its JSON. */
export const mostKeptBytes = 256;

/** The largest new record that keeps an input, in bytes of its JSON: with its keys it then fits into one write unit of the table, 1 KB. */
const mostRecordBytes = 800;

/** True when the inputs of a type may be kept. Those of a sensitive or unknown one are in the table only where a wait needs it. */
export const mayKeep = (type: { sensitive?: boolean } | undefined): boolean =>
  type !== undefined && type.sensitive !== true;

/** The copy of a message's input, or of the reference to a large one. Undefined: it is not kept. */
export function keptInput({ input, input_ref }: Envelope, type: { sensitive?: boolean } | undefined) {
  if (input_ref !== undefined) return JSON.stringify({ input_ref });
  if (input === undefined || !mayKeep(type)) return undefined;
  const text = JSON.stringify(input);
  return Buffer.byteLength(text) <= mostKeptBytes ? `{"input":${text}}` : undefined;
}

/** The record of a new task with its input, if both together are small; always with a reference, as a large input costs far more than a write unit. */
export function withKeptInput(record: TaskRecord, envelope: Envelope, type: { sensitive?: boolean }): TaskRecord {
  const kept_input = keptInput(envelope, type);
  if (kept_input === undefined) return record;
  const bytes = Buffer.byteLength(JSON.stringify(record)) + Buffer.byteLength(kept_input);
  return bytes <= mostRecordBytes || envelope.input_ref !== undefined ? { ...record, kept_input } : record;
}

/** A wait that is shorter than this, in seconds, ends before an operator could end it. */
const shortWaitSeconds = 10;

/**
 * Stores a task's message beside its record for a wait of up to 15 minutes, if the record does not keep the input: only SQS has the message then, and
 * nobody can read it before its time. `runNow` sends the stored one. A longer wait stores it anyway.
 * @throws PortUnavailable
 */
export async function keepForWait(
  { records, clock }: { records: Records; clock: Clock },
  record: TaskRecord,
  envelope: Envelope,
  type: { sensitive?: boolean } | undefined,
): Promise<void> {
  const waitSeconds = (Date.parse(record.due_at) - clock.now()) / 1000;
  if (waitSeconds < shortWaitSeconds || waitSeconds > longestDelaySeconds) return;
  if (!mayKeep(type) || record.kept_input !== undefined) return;
  await records.savePart(record, "envelope", envelope, record.purge_at);
}

/** Another message of a waiting task. Undefined: the record has no input. */
export function keptEnvelope(ports: { clock: Clock; newId: NewId }, record: TaskRecord): Envelope | undefined {
  if (record.kept_input === undefined) return undefined;
  const { input: _, ...frame } = newEnvelope(ports, record, null);
  return { ...frame, ...(JSON.parse(record.kept_input) as Pick<Envelope, "input" | "input_ref">) };
}
