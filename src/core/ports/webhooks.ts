import type { TaskKey } from "../model/record.ts";
import type { DeliveryState, ReceiverEvent } from "../model/words.ts";
import type { Page } from "./tasks.ts";

/** One try of a webhook. */
export interface Try {
  /** ISO 8601 UTC with milliseconds. */
  at: string;
  duration_ms: number;
  /** Status of the answer. Absent: there was none. */
  status?: number;
  /** The reason why there was no answer. */
  error?: string;
  /** The start of the answer's body, at most 1,024 bytes of it. Only of deliveries to receivers. */
  answer?: string;
}

/** The webhook of one end of a task, with all its tries. */
export interface Delivery extends TaskKey {
  /** `id` of the end. */
  id: string;
  /** Type of the task. */
  type: string;
  url: string;
  /** Id of the receiver, whose present URL and secret each try uses. Absent: it is the task's own callback. */
  receiver_id?: string;
  /** JSON text: the same for each try. */
  body: string;
  traceparent?: string;
  state: DeliveryState;
  /** Oldest first, at most 60. */
  tries: readonly Try[];
  /** Number of tries before the present series: a redelivery starts a new one. */
  series_from: number;
  /**
   * ISO time since which a try is due, while the receiver is slow and has no permit for it. Absent: no try is put off.
   */
  put_off_since?: string;
  /** ISO time of the next try. Absent: none follows. */
  next_try_at?: string;
  created_at: string;
  /** Epoch seconds, as the record's. */
  purge_at: number;
}

/** Sort key of a delivery that was given up: newest last. */
export const failedKey = ({ tries, created_at, task_id, id }: Delivery): string =>
  `${tries.at(-1)?.at ?? created_at}#${task_id}#${id}`;

/** Selects failed deliveries of a tenant, newest first. */
export interface FailedQuery {
  tenantId: string;
  limit: number;
  from?: string | undefined;
}

/** Deliveries of webhooks. All methods throw `PortUnavailable`. Contract suite: `test/contract/deliveries.ts`. */
export interface Deliveries {
  /** Reads consistently. */
  get(key: TaskKey, id: string): Promise<Delivery | undefined>;
  /** Deliveries by task and id, in their order; undefined where there is none. At most 100. */
  getMany(keys: readonly (TaskKey & { id: string })[]): Promise<(Delivery | undefined)[]>;
  /** All deliveries of a task, oldest first. */
  ofTask(key: TaskKey): Promise<Delivery[]>;
  /**
   * Stores a delivery if its present tries are as many as `expectedTries`; -1: if there is none. Returns false
   * otherwise.
   */
  put(delivery: Delivery, expectedTries: number): Promise<boolean>;
  /** Deliveries of a tenant that were given up. */
  listFailed(query: FailedQuery): Promise<Page<Delivery>>;
}

/** Bounds requests to receivers that answer slowly. */
export interface SlowHosts {
  /** For each host, in their order: true when it is known as slow. One request, of at most 100 hosts. */
  areSlow(tenantId: string, hosts: readonly string[], nowMs: number): Promise<boolean[]>;
  /** Remembers that the host is slow until `untilMs`. */
  markSlow(tenantId: string, host: string, untilMs: number): Promise<void>;
  /**
   * Acquires one of the `max` permits for requests to a slow host that began within the same 10 seconds and are under
   * way. False: all are taken.
   */
  acquirePermit(tenantId: string, host: string, nowMs: number, max: number): Promise<boolean>;
  /** Releases a permit that was taken at this time, in epoch milliseconds. */
  releasePermit(tenantId: string, host: string, takenMs: number): Promise<void>;
}

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
