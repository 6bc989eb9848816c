import { fingerprint } from "./idempotency.ts";
import type { Identity } from "./identity.ts";
import type { TaskRecord } from "./record.ts";

/** The most characters of a key. */
export const longestKey = 256;

/**
 * The stored form of a key: a hash, of the same length for all. Each submitter has keys of its own: it may not learn of
 * tasks that it cannot read, and not change them. Operators of a tenant share their keys.
 */
export const uniqueKeyOf = ({ role, principal }: Identity, { key }: { key: string }): string =>
  fingerprint([role === "submitter" ? principal : null, key]);

/** True for a task with this key, of any submitter. A hot key has the hashes of its lanes, too. */
export const hasUniqueKey = ({ unique_key, requested_by }: Stored, key: string): boolean =>
  [null, requested_by].some((principal) => unique_key?.startsWith(fingerprint([principal, key])));

type Stored = Pick<TaskRecord, "unique_key" | "requested_by">;

/** Effects of a submit whose key another task has that has not ended. */
export const uniqueModes = ["existing", "reject", "replace", "debounce", "restart", "collect"] as const;
