import type { ReceiverEvent } from "../model/words.ts";
import type { Page } from "./tasks.ts";

/** An end of a task that a receiver can ask for: the `type` of its webhook. */
export type { ReceiverEvent };

export interface ReceiverKey {
  tenant_id: string;
  /** UUID. */
  webhook_id: string;
}

/** A program of a tenant that gets a webhook for each end of a task that it asks for. */
export interface Receiver extends ReceiverKey {
  url: string;
  events: readonly ReceiverEvent[];
  /** Types of the tasks. Null: all. */
  types: readonly string[] | null;
  description: string | null;
  /** False: it gets no webhook. */
  enabled: boolean;
  /**
   * ISO time of the first failed try since the last try that succeeded. Absent: the last try succeeded, or there was
   * none.
   */
  failing_since?: string;
  /** ISO time at which Offload told that it would disable the receiver a day later. */
  warned_at?: string;
  /** ISO time at which Offload disabled it, as its tries had failed for five days. */
  disabled_at?: string;
  /** Version of its secret, from 1. */
  secret_version: number;
  /** ISO times of the last rotations of its secret, newest first. */
  rotated_at: readonly string[];
  /** Each write adds 1. */
  revision: number;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** Where a delivery to a receiver is stored: with its task. */
export interface LoggedDelivery {
  /** ISO time of the first try. */
  at: string;
  task_id: string;
  /** Id of the delivery. */
  id: string;
  /** Epoch seconds, later than those of the delivery. */
  purge_at: number;
}

/** Selects logged deliveries of a receiver, newest first. */
export interface LogQuery {
  limit: number;
  from?: string | undefined;
  /** ISO time: only those at or after it. */
  after?: string | undefined;
  /** ISO time: only those before it. */
  before?: string | undefined;
}

/**
 * Receivers of webhooks, and their deliveries. All methods throw `PortUnavailable`. Contract suite:
 * `test/contract/receivers.ts`.
 */
export interface Receivers {
  /** Reads consistently. */
  get(key: ReceiverKey): Promise<Receiver | undefined>;
  /** All receivers of a tenant, oldest first. Reads consistently. */
  list(tenantId: string): Promise<Receiver[]>;
  /** Stores a receiver if the stored one has this revision; 0: if there is none. Returns false otherwise. */
  put(receiver: Receiver, revision: number): Promise<boolean>;
  delete(key: ReceiverKey): Promise<void>;
  /** Adds a delivery to a receiver's log. Repeatable. */
  log(key: ReceiverKey, delivery: LoggedDelivery): Promise<void>;
  logged(key: ReceiverKey, query: LogQuery): Promise<Page<LoggedDelivery>>;
}

/** Sort key of a logged delivery. */
export const logKey = ({ at, task_id, id }: LoggedDelivery): string => `${at}#${task_id}#${id}`;
