import type { Scenario } from "./scenario.ts";

/** Write units of a submit (the record and its entry in the tenant's index) and of an attempt (claim and settle). */
export function writeUnits({ overhead }: Scenario): { submitWrites: number; attemptWrites: number } {
  const units = (bytes: number) => Math.max(1, Math.ceil(bytes / 1024));
  return {
    submitWrites: units(overhead.newRecordBytes) + units(overhead.indexEntryBytes),
    attemptWrites: units(overhead.newRecordBytes) + units(overhead.settledRecordBytes),
  };
}
