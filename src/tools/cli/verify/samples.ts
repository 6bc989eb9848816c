import type { VerifiedAccount } from "../../../aws/verified/verified-account.ts";
import { NotPossible, type Tools } from "./check.ts";
import type { Sample } from "./target.ts";

/** Task type and input of tasks that complete. Checks that call it need `sample`. */
export function sampleOf({ target }: Pick<Tools, "target">): Sample {
  const { sample } = target.facts;
  if (sample === undefined) throw new NotPossible("no task type completes for sure");
  return sample;
}

/** The AWS account. Checks that call it need `account`. */
export function accountOf({ target }: Pick<Tools, "target">): VerifiedAccount {
  const { account } = target.facts;
  if (account === undefined) throw new NotPossible("needs AWS credentials: give --stack");
  return account;
}

/** The value at a rank, by nearest rank. */
export function rank(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** A number of milliseconds in words. */
export const inWords = (ms: number): string => (ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`);
