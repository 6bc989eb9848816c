import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";

/** The name of a task: a key of unique submits, by its hash, or a submit with an idempotency key that made no task. */
export interface UniqueKey {
  tenant_id: string;
  /** The type of the tasks; empty for a submit. */
  type: string;
  /** The key's hash, or the id that the submit's own task would have. */
  unique_key: string;
}

/** A task. A later task under the same idempotency key has another time of submit. */
export type Submitted = Pick<TaskRecord, "task_id" | "created_at">;

/** The task that took a key last. It has the key until it ends. Of a submit: the holder that it joined. */
export interface Holder extends Submitted {
  /** The task's message. Absent: it is sent. */
  unsent?: Envelope;
  /** Ids of the tasks for whose ends the task began to wait. Absent: it waited for none. */
  before?: string[];
  /** Fingerprint of the submit that joined the task. Absent: this is a key. */
  request_hash?: string;
  /**
   * Number of inputs that had replaced the task's before that submit; of a task that collects inputs, the page to which
   * the submit adds its own. Absent: the submit had no input to replace it with.
   */
  replaced?: number;
}

/** The fields that tell a holder from another one. */
export type Seen = Submitted & Pick<Holder, "replaced">;

/**
 * Keys of unique submits, and submits that joined a holder. All methods throw `PortUnavailable` when the table cannot
 * answer now. Contract suite: `test/contract/unique-keys.ts`.
 */
export interface UniqueKeys {
  /** Returns the task that took the key last. Reads consistently. */
  holder(key: UniqueKey): Promise<Holder | undefined>;
  /**
   * Takes the key for a task. Returns false when another task has taken it since it was read. A repeated call does
   * the same again, but for a key that is stored for longer by now: it stays as it is.
   * @param seen The holder that was read; undefined: there was none.
   * @param purgeAt Epoch seconds until which the key is stored, whether or not its task has ended.
   */
  take(key: UniqueKey, holder: Holder, seen: Seen | undefined, purgeAt: number): Promise<boolean>;
  /** Stores that the holder's message is sent. Does nothing when another task has the key. */
  sent(key: UniqueKey, holder: Submitted): Promise<void>;
  /** Stores the key at least until `purgeAt`. Does nothing when another task has the key. */
  keep(key: UniqueKey, holder: Submitted, purgeAt: number): Promise<void>;
}

/** A task that collects inputs. A later task under the same id has another time of submit. */
export type ListKey = Pick<TaskRecord, "tenant_id" | "task_id" | "created_at">;

/** The place of a page in its list, which the pages before it fix. */
export interface ListPlace {
  /** From 1. */
  number: number;
  /** Number of the page's first input in the list, from 1. */
  first: number;
  /** Bytes of the inputs of the pages before it. */
  bytesBefore: number;
}

/** A page of a list. Inputs are only ever added at its end. */
export interface ListPage extends ListPlace {
  /** Ids of the submits whose inputs it has, in the order of the inputs. */
  ids: string[];
  /** JSON texts. */
  inputs: string[];
  bytes: number;
  /** True: the list takes no more inputs, and has no later page with any. */
  closed: boolean;
}

/** An input, and the id of its submit. */
export interface ListInput {
  id: string;
  text: string;
}

/** A page takes inputs while it has fewer bytes than `bytes`, at most `inputs` in all. */
export interface PageRoom {
  bytes: number;
  inputs: number;
}

/**
 * Lists of inputs that tasks collect, beside their records. All methods throw `PortUnavailable` when the table cannot
 * answer now. Contract suite: `test/contract/lists.ts`.
 */
export interface Lists {
  /** The newest page of a list. Reads consistently. */
  last(list: ListKey): Promise<ListPage | undefined>;
  /** A page of a list. Reads consistently. */
  page(list: ListKey, number: number): Promise<ListPage | undefined>;
  /** All pages, in order. Reads consistently. */
  all(list: ListKey): Promise<ListPage[]>;
  /**
   * Adds inputs to a page, all or none, and begins the page if it is not there. Adds none when the page is closed, has
   * no room for all, or has the first of them. So a repeat of the call adds nothing.
   * @returns The page after it.
   */
  add(
    list: ListKey,
    place: ListPlace,
    inputs: readonly [ListInput, ...ListInput[]],
    room: PageRoom,
    purgeAt: number,
  ): Promise<ListPage>;
  /** Closes a page with fewer bytes than `bytes`, or begins it closed. Returns the page after that. */
  close(list: ListKey, place: ListPlace, bytes: number, purgeAt: number): Promise<ListPage>;
  /** Keeps all pages at least until `purgeAt`, epoch seconds. */
  keep(list: ListKey, purgeAt: number): Promise<void>;
}
