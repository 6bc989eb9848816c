import { keys, listKeys } from "../../src/aws/table.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";

/** Bytes of one write unit. */
export const unitBytes = 1024;

/** Size of a value as DynamoDB counts it. */
export function bytesOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return Math.ceil(String(value).length / 2) + 1;
  if (Array.isArray(value)) return 3 + value.reduce((sum, one) => sum + 1 + bytesOf(one), 0);
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, one]) => sum + Buffer.byteLength(name) + 1 + bytesOf(one), 3);
}

/** Size of a record's item, with its keys. */
export const itemBytes = (record: TaskRecord): number =>
  bytesOf({ ...record, ...keys.record(record), ...listKeys(record, 1) });

/** Write units for items of these sizes, each a write of its own. */
export const writeUnits = (...sizes: readonly number[]): number =>
  sizes.reduce((sum, bytes) => sum + Math.ceil(bytes / unitBytes), 0);
