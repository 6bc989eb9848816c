import type { TaskRecord } from "../../model/record.ts";
import type { Extra } from "../../ports/extra.ts";
import type { DispatchPorts } from "../../ports/steps.ts";

/** A key is stored for this many seconds longer than the record of its task, as far as that is known. */
const keyMarginSeconds = 86_400;

/** Epoch seconds until which the unique key of a task is stored, whose record is kept until `recordPurgeAt`. */
export const keyPurgeAt = (recordPurgeAt: number): number => recordPurgeAt + keyMarginSeconds;

/** Keeps the key of a unique task, until which no other task may have it. */
export async function keepKey({ uniqueKeys }: DispatchPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  const { unique_key } = record;
  if (unique_key !== undefined) await uniqueKeys.keep({ ...record, unique_key }, record, keyPurgeAt(purgeAt));
}

/** Lets the task start that was submitted in place of an ended one. Repeatable. */
async function ended(ports: DispatchPorts, record: TaskRecord): Promise<void> {
  const { unique_key, superseded_by } = record;
  if (unique_key === undefined || superseded_by === undefined) return;
  await (await import("./next.ts")).startNext(ports, record, unique_key);
}

/** The unique key of a task, which it has until it ends. */
export const unique: Extra = { name: "unique", field: "unique_key", keep: keepKey, ended };
