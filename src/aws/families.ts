import type { FamilyNode, Sealing } from "../core/model/family-node.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Families, FamilyPage } from "../core/ports/family.ts";
import type { DynamoTable, Item, Update } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Name of the attribute of a place. */
const attributeOf = (place: number | string): string => `e${place}`;

/**
 * Families in DynamoDB. Each node is an item with a partition key of its own, as a partition accepts 1,000 writes a second. A place is a
 * top-level attribute, so that its write needs no earlier one, and a leaf of 100 children stays below 1 KB, the unit of a write.
 */
export class DynamoFamilies implements Families {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  end(parent: TaskKey, node: string, place: number, text: string, purgeAt: number): Promise<FamilyNode> {
    const update = updateOf({ [attributeOf(place)]: text, purge_at: purgeAt });
    return this.#table.updated(keys.familyNode(parent, node), update).then((item = {}) => nodeOf(item));
  }

  async seal(
    parent: TaskKey,
    node: string,
    { members, up, below }: Sealing,
    attempt: number,
    purgeAt: number,
  ): Promise<FamilyNode | undefined> {
    const set = { members, up, below, sealed_by: attempt, purge_at: purgeAt };
    const removed = [...(up === undefined ? ["up"] : []), ...(below === undefined ? ["below"] : [])];
    const notLater = "attribute_not_exists(#sealed_by) OR #sealed_by <= :attempt";
    const update = updateOf(set, removed, {
      ConditionExpression: notLater,
      values: { ":attempt": attempt },
    });
    const sealed = await this.#table.updated(keys.familyNode(parent, node), update);
    return sealed && nodeOf(sealed);
  }

  async read(parent: TaskKey, node: string): Promise<FamilyNode | undefined> {
    const item = await this.#table.get(keys.familyNode(parent, node));
    return item && nodeOf(item);
  }

  savePage(parent: TaskKey, leaf: string, { first, keys: own }: FamilyPage, purgeAt: number): Promise<void> {
    return this.#table.put({ ...keys.familyPage(parent, leaf), first, ...pageKeys(own), purge_at: purgeAt });
  }

  async loadPage(parent: TaskKey, leaf: string): Promise<FamilyPage | undefined> {
    const item = await this.#table.get(keys.familyPage(parent, leaf));
    if (item === undefined) return undefined;
    const { first, count, keys: own } = item as { first: number; count: number; keys?: (string | null)[] };
    return { first, keys: own ?? Array.from({ length: count }, () => null) };
  }
}

function updateOf(
  set: Readonly<Item>,
  remove: readonly string[] = [],
  condition?: { ConditionExpression: string; values: Item },
): Update {
  const given = Object.entries(set).filter(([, value]) => value !== undefined);
  const sets = given.map(([name], index) => `#${name} = :v${index}`).join(", ");
  const removes = remove.length === 0 ? "" : ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}`;
  const names = [...given.map(([name]) => name), ...remove];
  return {
    UpdateExpression: `SET ${sets}${removes}`,
    ...(condition === undefined ? {} : { ConditionExpression: condition.ConditionExpression }),
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: {
      ...Object.fromEntries(given.map(([, value], index) => [`:v${index}`, value])),
      ...condition?.values,
    },
  };
}

/** The keys of a page, only where there are other keys than the default. */
const pageKeys = (own: readonly (string | null)[]) =>
  own.every((key) => key === null) ? { count: own.length } : { count: own.length, keys: own };

function nodeOf(item: Item): FamilyNode {
  const ended = Object.entries(item).flatMap(([name, value]) => {
    const [, place] = /^e(\d+)$/.exec(name) ?? [];
    return place === undefined ? [] : [[place, value] as const];
  });
  const { members, up, below } = item as Partial<FamilyNode>;
  return {
    ended: Object.fromEntries(ended) as FamilyNode["ended"],
    ...(members === undefined ? {} : { members }),
    ...(up === undefined ? {} : { up }),
    ...(below === undefined ? {} : { below }),
  };
}
