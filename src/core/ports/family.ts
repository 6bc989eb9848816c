import type { FamilyNode, Sealing } from "../model/family-node.ts";
import type { TaskKey } from "../model/record.ts";

/** A page of children in the order of their spawn: at most `nodeSize`, those of one leaf. */
export interface FamilyPage {
  /** Number of the first child in its attempt, from 0. It makes the default key. */
  first: number;
  /** Key of each child. Null: the default, its number. */
  keys: readonly (string | null)[];
}

/**
 * The trees and pages of families, each beside its parent's record. All methods throw `PortUnavailable` when the table cannot
 * answer now. Contract suite: `test/contract/families.ts`.
 */
export interface Families {
  /** Writes one place of a node, and returns the node as it is then. Creates a node that does not exist yet. */
  end(parent: TaskKey, node: string, place: number, text: string, purgeAt: number): Promise<FamilyNode>;
  /**
   * Seals a node, and returns it as it is then. Replaces the seal of an earlier attempt. Creates a node that does not exist yet.
   * @param attempt Number of the attempt over all rounds. Undefined is returned when a later attempt has sealed the node.
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
  /** Stores the page of a leaf, before its children are created; replaces an earlier one. */
  savePage(parent: TaskKey, leaf: string, page: FamilyPage, purgeAt: number): Promise<void>;
  loadPage(parent: TaskKey, leaf: string): Promise<FamilyPage | undefined>;
}
