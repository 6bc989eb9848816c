import type { Envelope } from "../envelope.ts";
import type { TaskKey, TaskRecord } from "../record.ts";

/** A key of unique submits: of one tenant and one type, by its hash. */
export type UniqueKey = Pick<TaskRecord, "tenant_id" | "type"> & { unique_key: string };

/** A task. A later task under the same idempotency key has another time of submit. */
export type Submitted = Pick<TaskRecord, "task_id" | "created_at">;

/** The task that took a key last. It has the key until it ends. */
export interface Holder extends Submitted {
  /** The task's message. Absent: it is sent. */
  unsent?: Envelope;
}

/** A submit with an idempotency key that made no task: it joined the holder of its unique key. */
export interface Joined extends Submitted {
  request_hash: string;
  /** Number of inputs that had replaced the holder's before this one. Absent: the submit had no input to replace it with. */
  replaced?: number;
}

/**
 * Keys of unique submits, and submits that joined a holder. All methods throw `PortUnavailable` when the table cannot answer now. Contract suite:
 * `test/contract/unique-keys.ts`.
 */
export interface UniqueKeys {
  /** Returns the task that took the key last. Reads consistently. */
  holder(key: UniqueKey): Promise<Holder | undefined>;
  /**
   * Gives the key to a task. Returns false when another task has taken it since it was read. A repeated call does the same again.
   * @param seen The holder that was read; undefined: there was none.
   * @param purgeAt Epoch seconds until which the key is stored, whether or not its task has ended.
   */
  take(key: UniqueKey, holder: Holder, seen: Submitted | undefined, purgeAt: number): Promise<boolean>;
  /** Stores that the holder's message is sent. Does nothing when another task has the key. */
  sent(key: UniqueKey, holder: Submitted): Promise<void>;
  /** Stores the key at least until `purgeAt`. Does nothing when another task has the key. */
  keep(key: UniqueKey, holder: Submitted, purgeAt: number): Promise<void>;
  /** Returns what the submit joined. Reads consistently. @param call The id that its own task would have. */
  joined(call: TaskKey): Promise<Joined | undefined>;
  /** Stores what the submit joined. Returns false when this is not what was read any more. A repeated call returns false, too. */
  join(call: TaskKey, joined: Joined, seen: Joined | undefined, purgeAt: number): Promise<boolean>;
}
