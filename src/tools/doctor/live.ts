import type { Tier } from "../../core/model/words.ts";
import type { ReconcilePass } from "../../core/schedules/reconcile.ts";

/** The deployed resources of the pipelines in an account. */
export interface LiveAccount {
  /** Time of the reads, ISO 8601 UTC. */
  readAt: string;
  /** Limit of concurrent invocations of the account. */
  concurrency: number;
  functions: readonly LiveFunction[];
  queues: readonly LiveQueue[];
  reconciles: readonly LiveReconcile[];
  roles: readonly LiveRole[];
  releases: readonly LiveRelease[];
}

/** The release of a deployed pipeline. */
export interface LiveRelease {
  stack: string;
  /** `unknown`: the deployed release does not say it. */
  release: string;
}

/** A role that AWS services need in the account. */
export interface LiveRole {
  name: string;
  /** Absent: it could not be read. */
  exists?: boolean;
  /** The reason why it could not be read. */
  unread?: string;
}

/** The daily look of a pipeline for open tasks that nothing wakes. */
export interface LiveReconcile {
  stack: string;
  /** Time of the last change of the function that makes it. Absent: unknown. */
  deployedAt?: string;
  /** The last pass. Absent: there was none. */
  last?: ReconcilePass;
  /** The reason why it could not be read. */
  unread?: string;
}

/** A deployed function. */
export interface LiveFunction {
  name: string;
  /** Lambda's `State`: `Active`, `Inactive`, `Pending` or `Failed`. */
  state: string;
  /** Lambda's `LastUpdateStatus`: `Successful`, `InProgress` or `Failed`. */
  lastUpdate: string;
  /** Lambda's reason for `state` or `lastUpdate`. Absent: Lambda reported none. */
  reason?: string;
  /** Absent: no concurrency is reserved. */
  reservedConcurrency?: number;
}

/** A deployed queue of a tier. */
export interface LiveQueue {
  /** The service stack whose functions' settings name it. */
  stack: string;
  tier: Tier;
  isDlq: boolean;
  /** Attributes by their SQS names. */
  attributes: Readonly<Record<string, string>>;
  eventSources: readonly LiveEventSource[];
}

/** A deployed event source. */
interface LiveEventSource {
  id: string;
  /** Lambda's `State`, such as `Enabled` or `Disabled`. */
  state: string;
}
