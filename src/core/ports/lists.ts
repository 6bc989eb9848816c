import type { TaskRecord } from "../model/record.ts";

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
