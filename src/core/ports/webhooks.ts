import type { TaskKey } from "../model/record.ts";
import type { DeliveryState } from "../model/words.ts";
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
   * ISO time since which a try is due, while the receiver is slow and has no place for it. Absent: no try is put off.
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
   * Takes one of the `most` places for requests to a slow host that began within the same 10 seconds and are under way.
   * False: all are taken.
   */
  takePlace(tenantId: string, host: string, nowMs: number, most: number): Promise<boolean>;
  /** Frees a place that was taken at this time, in epoch milliseconds. */
  givePlace(tenantId: string, host: string, takenMs: number): Promise<void>;
}
