/** Places in a node. */
export const nodeSize = 100;

/**
 * A node of the tree that counts the ends of a family's children. A leaf has a place for each child of one page; a node
 * above has a place for each node below it. The process that ends a child, or fills a node, writes its place. That is
 * one idempotent write, so a repeat changes nothing, and no item is written more often than it has places.
 */
export interface FamilyNode {
  /**
   * Texts of the ended places: a child's end in a leaf, the counts of a full node in a node above. Of two texts of a
   * place the text that compares as greater stays: a late write changes nothing.
   */
  ended: Readonly<Record<number, string>>;
  /**
   * For each place, `1` if it belongs to the family and `0` otherwise. Absent: the coordinator has not sealed the node.
   */
  members?: string;
  /** The node above and the place in it. Absent in the root. */
  up?: { node: string; place: number };
  /** Names of the nodes below, by place. Absent in a leaf. */
  below?: readonly string[];
  /**
   * The parent's round in which a leaf was sealed: ends of earlier rounds count only if the child completed. Absent: 1.
   */
  round?: number;
  /** True in a leaf of a family that stops as soon as too many children have failed. Absent: it does not. */
  stops?: true;
}

/** The coordinator writes this to a node when it has spawned all children. */
export type Sealing = Required<Pick<FamilyNode, "members">> & Pick<FamilyNode, "up" | "below" | "round" | "stops">;

const letters = { completed: "c", failed: "f", cancelled: "x", expired: "e" } as const;

const statuses = new Map(Object.entries(letters).map(([status, letter]) => [letter, status as keyof Counts] as const));

/** Rounds of a child within one round of its parent are fewer. */
const roundsOfChild = 1_000_000;

/** Versions have this many digits, so that they compare as text. */
const versionDigits = 15;

/** The rounds of a child's end: the parent's, and the child's own. */
export interface EndRounds {
  family_round?: number | undefined;
  round: number;
}

/**
 * An end of a later round has a higher version. A family without repeats has version 0, which takes no place in the
 * table.
 */
const versionOf = ({ family_round: familyRound = 1, round }: EndRounds): number =>
  (familyRound - 1) * roundsOfChild + Math.min(round, roundsOfChild) - 1;

/** A tilde sorts behind all letters and digits. */
const versioned = (version: number, text: string): string =>
  version === 0 ? text : `~${String(version).padStart(versionDigits, "0")}:${text}`;

function parsed(text: string): { version: number; body: string } {
  if (!text.startsWith("~")) return { version: 0, body: text };
  return { version: Number(text.slice(1, versionDigits + 1)), body: text.slice(versionDigits + 2) };
}

/** Text of a child's end in its leaf. */
export const endText = (status: keyof Counts, rounds: EndRounds): string =>
  versioned(versionOf(rounds), letters[status]);

/** A child's end as its leaf has it. */
export function endIn(text: string): { status: keyof Counts; familyRound: number } {
  const { version, body } = parsed(text);
  return { status: statuses.get(body as "c") ?? "expired", familyRound: Math.floor(version / roundsOfChild) + 1 };
}

/** True for an end that counts in the parent's round: of that round, or completed in an earlier one. */
export const countsIn = (text: string, round: number): boolean => {
  const { status, familyRound } = endIn(text);
  return status === "completed" || familyRound >= round;
};

/**
 * Text of a full node's counts in the node above. It compares as greater when an end below was replaced by a later one.
 */
export function countsText(node: FamilyNode): string {
  const { completed, failed, cancelled, expired } = countsOf(node);
  const version = endedPlaces(node).reduce((sum, place) => sum + parsed(node.ended[place] ?? "").version, 0);
  return versioned(version, [completed, failed, cancelled, expired].join());
}

/** True for an end without success that counts in the parent's round. */
const failsIn = (text: string, round: number): boolean => {
  const { status, familyRound } = endIn(text);
  return status !== "completed" && familyRound >= round;
};

/** A leaf has at most this many digits of children. */
const failureDigits = 3;

/**
 * Text of the number of a leaf's children that have ended without success, for the node that counts them. It compares
 * as greater after each further end. Undefined: none has, and no end was replaced by a later one.
 */
export function failuresText({ ended }: FamilyNode, round: number): string | undefined {
  const texts = Object.values(ended);
  const failures = texts.filter((text) => failsIn(text, round)).length;
  const version = texts.reduce((sum, text) => sum + parsed(text).version, 0);
  if (failures === 0 && version === 0) return undefined;
  return versioned(version, String(failures).padStart(failureDigits, "0"));
}

/** Number of the children that have ended without success, by the texts of their leaves. */
export const failuresIn = ({ ended }: FamilyNode): number =>
  Object.values(ended).reduce((sum, text) => sum + Number(parsed(text).body), 0);

function countsOfText(text: string): Counts {
  const { body } = parsed(text);
  const status = statuses.get(body as "c");
  if (status !== undefined) return { ...noCounts, [status]: 1 };
  const [completed = 0, failed = 0, cancelled = 0, expired = 0] = body.split(",").map(Number);
  return { completed, failed, cancelled, expired };
}

/** Places of a node that belong to the family. None before it is sealed. */
export const placesOf = ({ members = "" }: Pick<FamilyNode, "members">): number[] =>
  [...members].flatMap((member, place) => (member === "1" ? [place] : []));

/** The places that belong to the family and have ended in its present round. */
const endedPlaces = (node: FamilyNode): number[] =>
  placesOf(node).filter((place) => {
    const text = node.ended[place];
    return text !== undefined && (node.below !== undefined || countsIn(text, node.round ?? 1));
  });

/** True when the node is sealed and all its places have ended. */
export const isFull = (node: FamilyNode): boolean =>
  node.members !== undefined && endedPlaces(node).length === placesOf(node).length;

/** Counts of the places that have ended. */
export const countsOf = (node: FamilyNode): Counts =>
  endedPlaces(node)
    .map((place) => countsOfText(node.ended[place] ?? ""))
    .reduce(addCounts, noCounts);

/**
 * Nodes and pages are kept for this time, in seconds: longer than the longest delay of a child and its retries, and
 * than the longest sleep of a parent with its retention.
 */
const keptSeconds = 800 * 86_400;

/** Time, in epoch seconds, from which a family's nodes and pages may be deleted. */
export const familyPurgeAt = (nowMs: number): number => Math.ceil(nowMs / 1000) + keptSeconds;

/** The fields of a parent that say how many children must complete. */
export interface Threshold {
  family_threshold?: number;
  family_caught?: number;
}

/** Number of children that must complete. The subtraction makes up for the inexact product of two decimal fractions. */
export const neededOf = (
  { family_threshold: threshold = 1, family_caught: caught = 0 }: Threshold,
  total: number,
): number => Math.ceil(threshold * Math.max(0, total - caught) - 1e-9);

/** A leaf and its members. */
export type Leaf = readonly [name: string, members: string];

/** A node of the tree and what is to be written to it. */
export type SealedNode = readonly [name: string, sealing: Sealing];

/**
 * Builds the tree over the leaves of a family. Its nodes come with the root first, so that a node is sealed before one
 * below it can be full.
 * @param name Unique to the attempt that seals: names the nodes above the leaves.
 * @param round The parent's round.
 * @param stops True for a family that stops as soon as too many children have failed.
 */
export function treeOver(
  leaves: readonly Leaf[],
  name: string,
  round = 1,
  size = nodeSize,
  stops = false,
): { root: string; nodes: SealedNode[] } {
  let level: { name: string; sealing: Sealing }[] = leaves.map(([leaf, members]) => ({
    name: leaf,
    sealing: { members, ...(round > 1 && { round }), ...(stops && { stops }) },
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

/** The place of a child in its parent's family. */
export interface FamilyPlace {
  leaf: string;
  place: number;
  /** The parent's round. */
  round: number;
  /** True for a child whose end its parent's handler awaits. */
  awaited?: true;
}

/** Begins the keys of children whose ends the handler awaits. */
const awaitedPrefix = "run\n";

/** The key of a child of `task.run`, apart from those of spawned children, by the name of its call. */
export const awaitedKey = (name: string): string => `${awaitedPrefix}${name}`;

export const isAwaitedKey = (key: string | null): boolean => key?.startsWith(awaitedPrefix) === true;

/** The key of a child as its handler gave it. */
export const shownKey = (key: string): string => (isAwaitedKey(key) ? key.slice(awaitedPrefix.length) : key);

/** Numbers of ended children, by how they ended. */
export interface Counts {
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
}

export const noCounts: Counts = { completed: 0, failed: 0, cancelled: 0, expired: 0 };

export const endedOf = ({ completed, failed, cancelled, expired }: Counts): number =>
  completed + failed + cancelled + expired;

export function addCounts(one: Counts, other: Counts): Counts {
  return {
    completed: one.completed + other.completed,
    failed: one.failed + other.failed,
    cancelled: one.cancelled + other.cancelled,
    expired: one.expired + other.expired,
  };
}
