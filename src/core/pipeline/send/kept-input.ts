import { itemBytesOf, unitBytes } from "../../../util/item-bytes.ts";
import { type Envelope, withOwnInputs } from "../../model/envelope.ts";
import { PermanentError } from "../../model/errors.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Clock, NewId, Records } from "../../ports/tasks.ts";
import { longestDelaySeconds } from "./dispatch.ts";
import { newEnvelope } from "./large-input.ts";

/*
 * A task's input is in its message, which only a worker can read. A copy in the record lets people read it, and control
 * send another message. Where record and input need no more write units than the record alone, the copy stays:
 * `shown_input`. A somewhat larger one is there only while the task waits, as `kept_input`: the change that ends the
 * wait removes it.
 */

/** Bytes that a claim adds to a record: `lease_until` and `started_at`, each a time, and `lease_token`, a UUID. */
const claimBytes = 116;

/** True when an item of a number of bytes needs no more write units with the bytes of an attribute more. */
const isFree = (itemBytes: number, moreBytes: number): boolean =>
  Math.ceil((itemBytes + moreBytes) / unitBytes) === Math.ceil(itemBytes / unitBytes);

/** A record with its keys, in bytes of the table. The result is stored as JSON text. */
export function recordBytesOf(record: TaskRecord): number {
  const { result } = record;
  const item = result === undefined ? record : { ...record, result: JSON.stringify(result) };
  return itemBytesOf(item) + keyBytesOf(record);
}

/** The bytes of `pk`, `sk`, `tenant_pk` and `tenant_sk` without ids, and of `principal_pk` and `principal_sk`. */
const ownKeyBytes = 16;
const listKeyBytes = 46;
const principalKeyBytes = 53;

/** The attributes of a record that are only keys: two of its own, and two for each list that has it. */
function keyBytesOf({ tenant_id, task_id, requested_by, own_list }: TaskRecord): number {
  const idBytes = Buffer.byteLength(tenant_id) + task_id.length;
  const bytes = ownKeyBytes + listKeyBytes + 2 * idBytes;
  return own_list === true ? bytes + principalKeyBytes + idBytes + Buffer.byteLength(requested_by) : bytes;
}

/** The largest input that a record keeps, in bytes of its JSON. */
export const maxKeptBytes = 256;

/** Bytes around an input in its copy. */
const frameBytes = '{"input":}'.length;

/**
 * True when the inputs of a type may be kept. The inputs of a sensitive or unknown type are in the table only where a
 * wait needs it.
 */
export const mayKeep = (type: { sensitive?: boolean } | undefined): boolean =>
  type !== undefined && type.sensitive !== true;

/** The copy of a message's input, or of the reference to a large one. Undefined: it is not kept. */
export function keptInput({ input, input_ref }: Envelope, type: { sensitive?: boolean } | undefined) {
  if (input_ref !== undefined) return JSON.stringify({ input_ref });
  if (!mayKeep(type)) return undefined;
  const text = JSON.stringify({ input });
  return Buffer.byteLength(text) <= maxKeptBytes + frameBytes ? text : undefined;
}

/**
 * The record of a new task with its input, if both together are small; always with a reference, as a large input costs
 * far more than a write unit.
 */
export function withKeptInput(record: TaskRecord, envelope: Envelope, type: { sensitive?: boolean }): TaskRecord {
  if (record.collects !== undefined) return record;
  const shown_input = mayKeep(type) ? inputText(envelope) : undefined;
  const recordBytes = recordBytesOf(record);
  const shownBytes = itemBytesOf({ shown_input });
  if (shown_input !== undefined && isFree(recordBytes, shownBytes) && isFree(recordBytes + claimBytes, shownBytes)) {
    return { ...record, shown_input };
  }
  const kept_input = keptInput(envelope, type);
  if (kept_input === undefined) return record;
  const bytes = recordBytes + itemBytesOf({ kept_input });
  return bytes <= unitBytes || envelope.input_ref !== undefined ? { ...record, kept_input } : record;
}

/**
 * The input that a record has from its end on. Undefined: with it the record would need more write units.
 * @param ended The record as it ends, without the input.
 */
export function inputAtEnd(ended: TaskRecord, envelope: Envelope, type: { sensitive?: boolean } | undefined) {
  const shown_input = mayKeep(type) ? inputText(envelope) : undefined;
  if (shown_input === undefined) return undefined;
  return isFree(recordBytesOf(ended), itemBytesOf({ shown_input })) ? shown_input : undefined;
}

/** JSON of a message's input, or of the reference to a large one. Without either: the input was left out. */
const inputText = ({ input, input_ref }: Envelope): string =>
  JSON.stringify(input_ref === undefined ? { input } : { input_ref });

/** A wait that is shorter than this, in seconds, ends before an operator could end it. */
const shortWaitSeconds = 10;

/**
 * Stores a task's message beside its record for a wait of up to 15 minutes, if the record does not keep the input: only
 * SQS has the message then, and nobody can read it before its time. `runNow` sends the stored one. A longer wait stores
 * it anyway, and a type that keeps all inputs at any wait.
 * @throws PortUnavailable
 */
export async function keepForWait(
  { records, clock }: { records: Records; clock: Clock },
  record: TaskRecord,
  envelope: Envelope,
  type: { sensitive?: boolean; keep_input?: boolean } | undefined,
): Promise<void> {
  if (!mayKeep(type)) return;
  if (type?.keep_input) return records.savePart(record, "envelope", envelope, record.purge_at);
  const waitSeconds = (Date.parse(record.due_at) - clock.now()) / 1000;
  if (waitSeconds < shortWaitSeconds || waitSeconds > longestDelaySeconds) return;
  if (keptText(record) !== undefined) return;
  await records.savePart(record, "envelope", envelope, record.purge_at);
}

/** The input that a record has. The message of a task that collects has none: the list has the inputs. */
export const keptText = ({ shown_input, kept_input, collects }: TaskRecord): string | undefined =>
  shown_input ?? kept_input ?? (collects === undefined ? undefined : "{}");

/** Another message of a waiting task. Undefined: the record has no input. */
export function keptEnvelope(ports: { clock: Clock; newId: NewId }, record: TaskRecord): Envelope | undefined {
  const text = keptText(record);
  if (text === undefined) return undefined;
  const { input: _, ...frame } = newEnvelope(ports, record, null);
  return { ...frame, ...(JSON.parse(text) as Pick<Envelope, "input" | "input_ref">) };
}

/**
 * Returns the envelope with the task's newest input. A message that was sent before a later submit replaced the input
 * has the earlier one.
 * @throws PermanentError when it is no longer stored; PortUnavailable
 */
export async function newestEnvelope(
  ports: { records: Records },
  record: TaskRecord,
  envelope: Envelope,
): Promise<Envelope> {
  const newest = await storedNewest(ports, record, envelope);
  if (newest === undefined) throw new PermanentError("the input is no longer stored: its retention has ended");
  return newest;
}

/**
 * Returns the envelope with the newest input that is still stored, for code that keeps the envelope of a task that has
 * failed.
 */
export const newestKept = async (
  ports: { records: Records },
  record: TaskRecord,
  envelope: Envelope,
): Promise<Envelope> => (await storedNewest(ports, record, envelope)) ?? envelope;

async function storedNewest({ records }: { records: Records }, record: TaskRecord, envelope: Envelope) {
  const { input_part: part } = record;
  if (part === undefined || part === envelope.message_id) return envelope;
  const stored = (await records.loadPart(record, `input#${part}`)) as Envelope | undefined;
  if (stored === undefined) return undefined;
  const text = JSON.stringify(stored.input ?? null);
  return withOwnInputs(stored, () => JSON.parse(text));
}

/** The condition that the newest input is in the part that was kept: another change may name a new one. */
export const sameInput = ({ input_part }: TaskRecord) => ({
  input_part: input_part === undefined ? { absent: true as const } : { is: input_part },
});
