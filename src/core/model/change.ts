import type { Field, TaskRecord } from "./record.ts";

/**
 * A test on one stored field. An absent field passes only `absent`, `not` and tests with `orAbsent`.
 * Text compares as text: ISO times of one format compare as times.
 */
export type Test =
  | { is: string | number }
  | { not: string | number }
  | { in: readonly (string | number)[] }
  | { atMost: string | number; orAbsent?: true }
  | { above: string | number; orAbsent?: true }
  | { absent: true };

/** A conditional, repeatable update of one record, as plain data that an adapter translates. */
export interface Change {
  /** All tests must pass, otherwise nothing is written. */
  when: { readonly [name in Field]?: Test };
  set?: { readonly [name in Field]?: TaskRecord[name] | undefined };
  remove?: readonly Field[];
  /** Adds to numbers. An absent one counts as 0. */
  add?: { readonly [name in "attempts" | "attempts_total" | "round" | "signals"]?: number };
  /** Appends to the attempts' history. A history in `set` replaces the earlier attempts. */
  append?: TaskRecord["history"][number];
}

/** The result of a change. When a test failed, `record` is the present record; undefined: there is none. */
export type Changed = { done: true; record: TaskRecord } | { done: false; record: TaskRecord | undefined };

/** True when a stored value passes a test. */
export function passes(test: Test, value: unknown): boolean {
  if ("absent" in test) return value === undefined;
  if ("not" in test) return value !== test.not;
  if (value === undefined) return "orAbsent" in test && test.orAbsent === true;
  if ("is" in test) return value === test.is;
  if ("in" in test) return test.in.includes(value as string | number);
  if ("atMost" in test) return (value as string | number) <= test.atMost;
  return (value as string | number) > test.above;
}

/** Applies a change to a record in memory and returns a new record; undefined when a test fails. */
export function applyChange(record: TaskRecord, change: Change): TaskRecord | undefined {
  for (const [field, test] of Object.entries(change.when)) {
    if (!passes(test, record[field as Field])) return undefined;
  }
  const next: Record<string, unknown> = { ...record };
  for (const [field, value] of Object.entries(change.set ?? {})) if (value !== undefined) next[field] = value;
  for (const field of change.remove ?? []) delete next[field];
  for (const [field, by] of Object.entries(change.add ?? {}))
    next[field] = ((next[field] as number | undefined) ?? 0) + by;
  if (change.append) next.history = [...(change.set?.history ?? record.history), change.append];
  return next as unknown as TaskRecord;
}

/** The longest lease, in seconds: a dead worker is noticed within it, and longer attempts renew it. */
export const longestLeaseSeconds = 120;

/** The lease of an attempt, in whole seconds: the type's time-out × 1.5 + 15 s, at most 120 s. */
export const leaseSeconds = (timeoutSeconds: number): number =>
  Math.min(longestLeaseSeconds, Math.ceil(timeoutSeconds * 1.5 + 15));

/**
 * The fence of an attempt: it may change the record only while it holds it. A parent that waits for its children has no
 * attempt, although it is `processing`: a late try of an earlier call must not change it.
 */
export const fence = (record: TaskRecord) =>
  ({
    status: { is: "processing" },
    attempts_total: { is: record.attempts_total },
    family_state: { not: "waiting" },
  }) as const;
