import type { Item } from "./dynamo-table.ts";

/** Reads items of one partition in the order of their sort keys: the first ones, or those after a sort key. */
export type Cursor = (count: number, after?: string) => Promise<Item[]>;

/** Items that each partition is asked for above its share: with it a second question is rare. */
const spare = 4;

interface Part {
  cursor: Cursor;
  items: Item[];
  /** True when it has no further items. */
  whole: boolean;
}

/**
 * The first items of several partitions together, in the order of their sort keys. Asks each partition for its share
 * and some more, and again each that may have an item that precedes others. Of two items with the same sort key, that
 * of the later partition counts.
 */
export async function firstOf(cursors: readonly Cursor[], limit: number): Promise<Item[]> {
  const count = Math.min(limit, Math.ceil(limit / cursors.length) + (cursors.length > 1 ? spare : 0));
  const parts = cursors.map((cursor): Part => ({ cursor, items: [], whole: false }));
  for (let asked = parts; ; ) {
    await Promise.all(asked.map((part) => readOn(part, count)));
    const items = inOrder(parts);
    const end = items[limit - 1];
    asked = parts.filter((part) => !part.whole && (end === undefined || lastOf(part) < sortKey(end)));
    if (asked.length === 0) return items.slice(0, limit);
  }
}

async function readOn(part: Part, count: number): Promise<void> {
  const found = await part.cursor(count, part.items.length === 0 ? undefined : lastOf(part));
  part.items.push(...found);
  part.whole = found.length < count;
}

const sortKey = ({ sk }: Item): string => String(sk);

const lastOf = ({ items }: Part): string => String(items.at(-1)?.sk ?? "");

/** DynamoDB compares texts as bytes in UTF-8; those of entries are of ASCII. */
function inOrder(parts: readonly Part[]): Item[] {
  const bySortKey = new Map(parts.flatMap(({ items }) => items.map((item) => [sortKey(item), item] as const)));
  if (parts.length === 1) return [...bySortKey.values()];
  return [...bySortKey.values()].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}
