import { type Envelope, withOwnInputs } from "../model/envelope.ts";
import { PermanentError } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Records } from "../ports/tasks.ts";

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
