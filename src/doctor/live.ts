import type { Tier } from "../core/tier.ts";

/** What an account says about the pipelines that it has. */
export interface LiveAccount {
  /** Invocations at once that its functions may have together. */
  concurrency: number;
  functions: readonly LiveFunction[];
  queues: readonly LiveQueue[];
}

/** A deployed function. */
export interface LiveFunction {
  name: string;
  /** Lambda's word: `Active`, `Inactive`, `Pending`, `Failed`. */
  state: string;
  /** Lambda's word about the latest change: `Successful`, `InProgress`, `Failed`. */
  lastUpdate: string;
  /** Lambda's reason for either. Absent: none was given. */
  reason?: string;
  /** Absent: none is reserved, and it takes from what is left. */
  reservedConcurrency?: number;
}

/** A deployed queue of a tier. */
export interface LiveQueue {
  /** The service stack whose functions name it. */
  stack: string;
  tier: Tier;
  isDlq: boolean;
  /** By SQS's names. */
  attributes: Readonly<Record<string, string>>;
  eventSources: readonly LiveEventSource[];
}

/** A deployed event source. */
interface LiveEventSource {
  id: string;
  /** Lambda's word: `Enabled`, `Disabled`, ... */
  state: string;
}
