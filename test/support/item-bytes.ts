import { storedFields } from "../../src/aws/record-items.ts";
import { keys, listKeys } from "../../src/aws/table.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import { itemBytesOf, unitBytes } from "../../src/util/item-bytes.ts";

/** Size of a record's item, with its keys. */
export const itemBytes = (record: TaskRecord): number =>
  itemBytesOf({ ...storedFields(record), ...keys.record(record), ...listKeys(record, 1) });

/** Write units for items of these sizes, each a write of its own. */
export const writeUnits = (...sizes: readonly number[]): number =>
  sizes.reduce((sum, bytes) => sum + Math.ceil(bytes / unitBytes), 0);
