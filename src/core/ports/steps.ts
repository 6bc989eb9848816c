import type { ErrorKind } from "../model/errors.ts";
import type { TaskKey } from "../model/record.ts";
import type { EntryKind } from "../model/words.ts";
import type { BlobList, Blobs } from "./blob.ts";
import type { Notices } from "./notify.ts";
import type { Clock, Log, Metrics, NewId, OneOffs, Queues, Records } from "./tasks.ts";
import type { Lists, UniqueKeys } from "./unique.ts";

/** Names a task's entries. A later task under the same idempotency key has other ones, by the time of its submit. */
export type StepOwner = TaskKey & { created_at: string };

/** Something that a task's handler did or waited for, or got: stored once, and found by each later attempt. */
export interface StepEntry {
  kind: EntryKind;
  /** Unique among the task's entries of the kind. */
  name: string;
  /** Number of the handler's call, or of the attempt's state, from 1. Absent: the handler did not make it. */
  order?: number;
  /**
   * True when no call of the attempt had begun while another one was open: then the next attempt makes the same calls
   * in the same order.
   */
  sequential?: true;
  /** End of a sleep, time at which a wait times out, or the earliest start of a step's next try. ISO 8601. */
  until?: string;
  /**
   * JSON text of a result, a signal's body, the name of the signal that ended a wait, a state, or a list of keys and
   * task ids. Absent: undefined.
   */
  value?: string;
  /** The fault of a step that was done and whose result could not be stored. Absent: `value` is its result. */
  fault?: string;
  /** Time at which a signal came. ISO 8601. */
  at?: string;
  /** Names the request that sent a signal: a repeat of the request is no other signal. */
  key?: string;
  /** True for the signal, and for the end, of a wait that timed out. */
  timed_out?: true;
  /** Round of a step's try, or of an awaited child, that failed. Absent: it returned, or completed. */
  round?: number;
  /** Status of an awaited child that has not completed. */
  status?: "failed" | "cancelled" | "expired";
  /** The error of a step's try, or of a child, that failed. */
  error?: string;
  error_type?: string;
  error_kind?: ErrorKind;
  /** Number of the attempt that stored a state, over all rounds. */
  attempt?: number;
  /** Children, and submits, that the handler had numbered when it stored a state. Absent: none. */
  spawned?: number;
  submitted?: number;
}

/** Numbers of a handler's spawns and submits. */
export type CallCounts = Pick<StepEntry, "spawned" | "submitted">;

/**
 * A state to store: the number of its attempt, its own number in that attempt, its JSON text, and what the handler had
 * numbered.
 */
export type NewState = Required<Pick<StepEntry, "attempt" | "order" | "value">> & CallCounts;

/** An entry, and the epoch second from which on it may be deleted. */
export type StoredEntry = StepEntry & { purge_at: number };

/**
 * Entries of tasks, beside their records. All methods throw `PortUnavailable` when the table cannot answer now.
 * Contract suite: `test/contract/step-store.ts`.
 */
export interface StepStore {
  /** Returns all entries of a task, or those of a kind, in no order. Reads consistently. */
  load(owner: StepOwner, kind?: StepEntry["kind"]): Promise<StoredEntry[]>;
  /** Stores an entry, unless there is one of its kind and name. Returns the entry that is stored now. */
  add(owner: StepOwner, entry: StepEntry, purgeAt: number): Promise<StoredEntry>;
  /**
   * Stores the state, in place of an earlier one. Returns false when there is a later one: of a later attempt, or of
   * the same one with a higher number. So a late repeat of a request does not bring an earlier state back.
   */
  saveState(owner: StepOwner, state: NewState, purgeAt: number): Promise<boolean>;
  /** Keeps these entries at least until `purgeAt`, epoch seconds. */
  keep(owner: StepOwner, entries: readonly Pick<StepEntry, "kind" | "name">[], purgeAt: number): Promise<void>;
}

/** The ports of `dispatch`. `log` and `metrics` get every change of a task's status. */
export interface DispatchPorts {
  clock: Clock;
  records: Records;
  queues: Queues;
  oneOffs: OneOffs;
  /** The bucket of files, large inputs and large results. */
  blobs: Blobs;
  blobList: BlobList;
  notices: Notices;
  uniqueKeys: UniqueKeys;
  lists: Lists;
  newId: NewId;
  log: Log;
  metrics: Metrics;
}

/** A link that sends one signal to one task, without a key. */
export interface SignalLink extends StepOwner {
  /** Name of the signal. */
  name: string;
  /** JSON Schema of the signal's body, as JSON. Absent: any JSON. */
  schema?: string;
}

/**
 * Links, by the hashes of their secrets. All methods throw `PortUnavailable`. Contract suite:
 * `test/contract/signal-links.ts`.
 */
export interface SignalLinks {
  create(secretHash: string, link: SignalLink, expiresAtMs: number): Promise<void>;
  /** Returns a link before its end. */
  find(secretHash: string, nowMs: number): Promise<SignalLink | undefined>;
}
