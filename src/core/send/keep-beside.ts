import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Part, Records } from "../ports/tasks.ts";
import type { UniqueKeys } from "../ports/unique.ts";
import { type EntryPorts, keepAllEntries } from "./keep-entries.ts";
import { keepHistory, keptUntil } from "./keep-history.ts";

/*
 * Items beside a record have a time of their own at which the table deletes them. While a task goes on, or may go on,
 * each of them is kept as long as the record. So a change that keeps the record for longer comes after one of the two
 * functions below: a death in between loses nothing.
 */

export interface KeepPorts {
  records: Records;
  uniqueKeys: UniqueKeys;
}

/** A key is stored for this many seconds longer than the record of its task, as far as that is known. */
const keyMarginSeconds = 86_400;

/** Epoch seconds until which the unique key of a task is stored, whose record is kept until `recordPurgeAt`. */
export const keyPurgeAt = (recordPurgeAt: number): number => recordPurgeAt + keyMarginSeconds;

/**
 * Keeps what is beside a record and that the caller does not have at hand: the unique key, the history, the part with
 * the newest input. For an attempt that ends: it keeps its entries, and stores its message where the task needs it.
 * @param purgeAt The record's new `purge_at`.
 */
export async function keepBeside(ports: KeepPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  const { unique_key, input_part: part } = record;
  if (unique_key !== undefined) await ports.uniqueKeys.keep({ ...record, unique_key }, record, keyPurgeAt(purgeAt));
  await keepHistory(ports, record, purgeAt);
  const until = keptUntil(purgeAt);
  if (part !== undefined && until > keptUntil(record.purge_at)) await keepPart(ports, record, `input#${part}`, until);
}

/** The condition that the newest input is in the part that was kept: another change may name a new one. */
export const sameInput = ({ input_part }: TaskRecord) => ({
  input_part: input_part === undefined ? { absent: true as const } : { is: input_part },
});

/**
 * Keeps all that is beside a record.
 * @param purgeAt The record's new `purge_at`.
 * @param message The task's message, which is stored then. Absent: the stored one is kept, if there is one. Null: there
 * is none.
 */
export async function keepAllBeside(
  ports: KeepPorts & EntryPorts,
  record: TaskRecord,
  purgeAt: number,
  message?: Envelope | null,
): Promise<void> {
  if (purgeAt <= record.purge_at) return;
  await keepBeside(ports, record, purgeAt);
  await keepAllEntries(ports, record, purgeAt);
  if (message) await ports.records.savePart(record, "envelope", message, purgeAt);
  else if (message === undefined) await keepPart(ports, record, "envelope", purgeAt);
  const { result_ref: result } = record;
  if (result !== undefined) await keepPart(ports, record, `result#${result.part}`, purgeAt);
}

async function keepPart({ records }: KeepPorts, record: TaskRecord, part: Part, purgeAt: number): Promise<void> {
  const value = await records.loadPart(record, part);
  if (value !== undefined) await records.savePart(record, part, value, purgeAt);
}
