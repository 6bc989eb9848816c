import type { FamilyNode, Sealing } from "../core/model/family-node.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Families, FamilyKey, FamilyPage, StoredPage } from "../core/ports/family.ts";
import { type DynamoTable, type Item, isNew, type Update } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Name of the attribute of a place. */
const attributeOf = (place: number | string): string => `e${place}`;

/**
 * Families in DynamoDB. Each node is an item with a partition key of its own, as a partition accepts 1,000 writes a
 * second. A place is a top-level attribute, so that its write needs no earlier one, and a leaf of 100 children stays
 * below 1 KB, the unit of a write. The pages of a family are in one partition, so that one query reads many.
 */
export class DynamoFamilies implements Families {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async end(parent: TaskKey, node: string, place: number, text: string, purgeAt: number): Promise<FamilyNode> {
    const name = attributeOf(place);
    const update = updateOf({ [name]: text, purge_at: purgeAt }, [], {
      ConditionExpression: `attribute_not_exists(#${name}) OR #${name} <= :text`,
      values: { ":text": text },
    });
    const written = await this.#table.updated(keys.familyNode(parent, node), update);
    if (written !== undefined) return nodeOf(written);
    return (await this.read(parent, node)) ?? { ended: {} };
  }

  async seal(
    parent: TaskKey,
    node: string,
    { members, up, below, round, stops }: Sealing,
    attempt: number,
    purgeAt: number,
  ): Promise<FamilyNode | undefined> {
    const set = { members, up, below, round, stops, sealed_by: attempt, purge_at: purgeAt };
    const optional = Object.entries({ up, below, round, stops });
    const removed = optional.flatMap(([name, value]) => (value === undefined ? name : []));
    const notLater = "attribute_not_exists(#sealed_by) OR #sealed_by <= :attempt";
    const update = updateOf(set, removed, { ConditionExpression: notLater, values: { ":attempt": attempt } });
    const sealed = await this.#table.updated(keys.familyNode(parent, node), update);
    return sealed && nodeOf(sealed);
  }

  async read(parent: TaskKey, node: string): Promise<FamilyNode | undefined> {
    const item = await this.#table.get(keys.familyNode(parent, node));
    return item && nodeOf(item);
  }

  async pages(family: FamilyKey, from: number, max?: number): Promise<StoredPage[]> {
    const { pk, sk } = keys.familyPage(family, from);
    const { items } = await this.#table.page({
      KeyConditionExpression: "pk = :pk AND sk >= :sk",
      ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
      ...(max !== undefined && { Limit: max }),
    });
    return items.map(pageOf);
  }

  savePage(
    family: FamilyKey,
    number: number,
    { first, keys: own, prints, attempt }: FamilyPage,
    before: number,
    purgeAt: number,
  ): Promise<boolean> {
    const plain = own.every((key) => key === null);
    const set = { first, count: own.length, prints, attempt, purge_at: purgeAt, ...(plain ? {} : { keys: own }) };
    const key = keys.familyPage(family, number);
    if (before === 0) return this.#table.putIf({ ...key, ...set }, isNew);
    const update = updateOf(set, [], {
      ConditionExpression: "#count = :before AND #attempt <= :attempt",
      values: { ":before": before, ":attempt": attempt },
    });
    return this.#table.updateIf(key, update);
  }

  async notePage(family: FamilyKey, number: number, created: number, round: number): Promise<void> {
    const isLater = "#round < :round OR (#round = :round AND #created < :created)";
    const update = updateOf({ created, round }, [], {
      ConditionExpression: `attribute_exists(pk) AND (attribute_not_exists(#round) OR ${isLater})`,
      values: { ":round": round, ":created": created },
    });
    await this.#table.updateIf(keys.familyPage(family, number), update);
  }

  async keep(family: FamilyKey, number: number, leaf: string, purgeAt: number): Promise<void> {
    for (const key of [keys.familyPage(family, number), keys.familyNode(family, leaf)]) {
      await this.#table.updateIf(key, {
        UpdateExpression: "SET purge_at = :purge_at",
        ConditionExpression: "attribute_exists(pk) AND purge_at < :purge_at",
        ExpressionAttributeValues: { ":purge_at": purgeAt },
      });
    }
  }
}

function updateOf(
  set: Readonly<Item>,
  remove: readonly string[],
  condition: { ConditionExpression: string; values: Item },
): Update {
  const given = Object.entries(set).filter(([, value]) => value !== undefined);
  const sets = given.map(([name], index) => `#${name} = :v${index}`).join(", ");
  const removes = remove.length === 0 ? "" : ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}`;
  const names = [...given.map(([name]) => name), ...remove];
  return {
    UpdateExpression: `SET ${sets}${removes}`,
    ConditionExpression: condition.ConditionExpression,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: {
      ...Object.fromEntries(given.map(([, value], index) => [`:v${index}`, value])),
      ...condition.values,
    },
  };
}

function pageOf(item: Item): StoredPage {
  const stored = item as Partial<StoredPage> & { count: number; sk: string };
  const { count, keys: own, first = 0, prints = "", attempt = 0, created = 0, round = 0, purge_at = 0, sk } = stored;
  const page = { first, prints, attempt, created, round, purge_at };
  return { ...page, number: Number(sk.slice("page#".length)), keys: own ?? Array.from({ length: count }, () => null) };
}

function nodeOf(item: Item): FamilyNode {
  const ended = Object.entries(item).flatMap(([name, value]) => {
    const [, place] = /^e(\d+)$/.exec(name) ?? [];
    return place === undefined ? [] : [[place, value] as const];
  });
  const { members, up, below, round, stops } = item as Partial<FamilyNode>;
  return {
    ended: Object.fromEntries(ended) as FamilyNode["ended"],
    ...(members === undefined ? {} : { members }),
    ...(up === undefined ? {} : { up }),
    ...(below === undefined ? {} : { below }),
    ...(round === undefined ? {} : { round }),
    ...(stops === undefined ? {} : { stops }),
  };
}
