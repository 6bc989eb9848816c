import type { FamilyNode, Sealing } from "../model/family-node.ts";
import type { TaskKey } from "../model/record.ts";

/**
 * Children in the order of their spawn: at most `nodeSize`, those of one leaf. It is stored before they are created.
 */
export interface FamilyPage {
  /** Number of the first child, from 0. It makes the default key. */
  first: number;
  /** Key of each child. Null: the default, its number. */
  keys: readonly (string | null)[];
  /** Prints of the children, one behind the other: a later attempt knows a child with a default key by it. */
  prints: string;
  /** Number of the attempt that stored it, over all rounds. */
  attempt: number;
}

/** A page as it is stored. */
export interface StoredPage extends FamilyPage {
  /** Number of its leaf in the family, from 0. */
  number: number;
  /** So many of its children, from the first on, were certainly created, and are in the parent's round `round`. */
  created: number;
  /** The parent's round. 0: nothing is certain. */
  round: number;
  /** Epoch second from which on it may be deleted. */
  purge_at: number;
}

/** A family: its parent, and the time of the parent's submit in short, as a later task may have the same id. */
export type FamilyKey = TaskKey & { life: string };

/**
 * The trees and pages of families, each beside its parent's record. All methods throw `PortUnavailable` when the table
 * cannot answer now. Contract suite: `test/contract/families.ts`.
 */
export interface Families {
  /**
   * Writes one place of a node, unless it has a text that compares as greater. Returns the node as it is then. Creates
   * a node that does not exist yet.
   */
  end(parent: TaskKey, node: string, place: number, text: string, purgeAt: number): Promise<FamilyNode>;
  /**
   * Seals a node, and returns it as it is then. Replaces the seal of an earlier attempt. Creates a node that does not
   * exist yet.
   * @param attempt Number of the attempt over all rounds. Undefined is returned when a later attempt has sealed the
   * node.
   */
  seal(
    parent: TaskKey,
    node: string,
    sealing: Sealing,
    attempt: number,
    purgeAt: number,
  ): Promise<FamilyNode | undefined>;
  /** Reads a node. Consistent. */
  read(parent: TaskKey, node: string): Promise<FamilyNode | undefined>;
  /**
   * Returns the next pages of a family from a number on, in order, as one read gives them; none at the end. Consistent.
   */
  pages(family: FamilyKey, from: number, max?: number): Promise<StoredPage[]>;
  /**
   * Stores a page, or adds children to the stored page.
   * @param before Number of children that the stored page has. 0: none is stored.
   * @returns False when it has another number, or a later attempt has stored it: then nothing is written.
   */
  savePage(family: FamilyKey, number: number, page: FamilyPage, before: number, purgeAt: number): Promise<boolean>;
  /** Notes in a page that its first children are created for a round. An earlier note of a later state stays. */
  notePage(family: FamilyKey, number: number, created: number, round: number): Promise<void>;
  /** Keeps a page and its leaf at least until `purgeAt`, epoch seconds. */
  keep(family: FamilyKey, number: number, leaf: string, purgeAt: number): Promise<void>;
}
