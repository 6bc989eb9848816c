import { addCounts, type Counts, noCounts } from "./counts.ts";

/** Places in a node. */
export const nodeSize = 100;

/**
 * A node of the tree that counts the ends of a family's children. A leaf has a place for each child of one page; a node above has
 * a place for each node below it. Whoever ends what belongs to a place writes the place. That is one idempotent write, so a repeat changes
 * nothing, and no item is written more often than it has places.
 */
export interface FamilyNode {
  /** Texts of the ended places: the letter of an outcome in a leaf, the counts of a full node in a node above. */
  ended: Readonly<Record<number, string>>;
  /** For each place, `1` if it belongs to the family and `0` otherwise. Absent: the coordinator has not sealed the node. */
  members?: string;
  /** The node above and the place in it. Absent in the root. */
  up?: { node: string; place: number };
  /** Names of the nodes below, by place. Absent in a leaf. */
  below?: readonly string[];
}

/** What the coordinator writes to a node when it has spawned all children. */
export type Sealing = Required<Pick<FamilyNode, "members">> & Pick<FamilyNode, "up" | "below">;

const letters = { completed: "c", failed: "f", cancelled: "x", expired: "e" } as const;

/** Text of a child's end in its leaf. */
export const letterOf = (status: keyof Counts): string => letters[status];

/** Text of a full node's counts in the node above. */
export const textOf = ({ completed, failed, cancelled, expired }: Counts): string =>
  [completed, failed, cancelled, expired].join();

function countsIn(text: string): Counts {
  for (const [status, letter] of Object.entries(letters)) if (text === letter) return { ...noCounts, [status]: 1 };
  const [completed = 0, failed = 0, cancelled = 0, expired = 0] = text.split(",").map(Number);
  return { completed, failed, cancelled, expired };
}

/** Places of a node that belong to the family. None before it is sealed. */
export const placesOf = ({ members = "" }: Pick<FamilyNode, "members">): number[] =>
  [...members].flatMap((member, place) => (member === "1" ? [place] : []));

/** True when the node is sealed and all its places have ended. */
export const isFull = (node: FamilyNode): boolean =>
  node.members !== undefined && placesOf(node).every((place) => node.ended[place] !== undefined);

/** Counts of the places that have ended. */
export const countsOf = (node: FamilyNode): Counts =>
  placesOf(node)
    .map((place) => node.ended[place])
    .filter((text) => text !== undefined)
    .map(countsIn)
    .reduce(addCounts, noCounts);

/** A leaf and its members. */
export type Leaf = readonly [name: string, members: string];

/** A node of the tree and what is to be written to it. */
export type SealedNode = readonly [name: string, sealing: Sealing];

/**
 * Builds the tree over the leaves of a family. Its nodes come with the root first, so that a node is sealed before one below it can be full.
 * @param name Unique to the attempt that seals: names the nodes above the leaves.
 */
export function treeOver(
  leaves: readonly Leaf[],
  name: string,
  size = nodeSize,
): { root: string; nodes: SealedNode[] } {
  let level: { name: string; sealing: Sealing }[] = leaves.map(([leaf, members]) => ({
    name: leaf,
    sealing: { members },
  }));
  const levels = [level];
  for (let height = 1; level.length > 1; height++) {
    const above = Array.from({ length: Math.ceil(level.length / size) }, (_, index) => {
      const below = level.slice(index * size, (index + 1) * size);
      const node = `${name}.${height}.${index}`;
      for (const [place, child] of below.entries()) child.sealing = { ...child.sealing, up: { node, place } };
      return { name: node, sealing: { members: "1".repeat(below.length), below: below.map((child) => child.name) } };
    });
    levels.unshift(above);
    level = above;
  }
  const nodes = levels.flat().map(({ name: node, sealing }): SealedNode => [node, sealing]);
  return { root: level[0]?.name ?? "", nodes };
}
