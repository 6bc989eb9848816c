import { type DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { FamilyNode, Sealing } from "../core/model/family-node.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Families, FamilyPage } from "../core/ports/family.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Name of the attribute of a place. */
const attributeOf = (place: number | string): string => `e${place}`;

/**
 * Families in DynamoDB. Each node is an item with a partition key of its own, as a partition accepts 1,000 writes a second. A place is a
 * top-level attribute, so that its write needs no earlier one, and a leaf of 100 children stays below 1 KB, the unit of a write.
 */
export class DynamoFamilies implements Families {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  end(parent: TaskKey, node: string, place: number, text: string, purgeAt: number): Promise<FamilyNode> {
    const command = this.#update(parent, node, { [attributeOf(place)]: text, purge_at: purgeAt });
    return viaPort(port, this.#client.send(command)).then(({ Attributes = {} }) => nodeOf(Attributes));
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
    const command = this.#update(parent, node, set, removed, {
      ConditionExpression: notLater,
      values: { ":attempt": attempt },
    });
    const sealed = await ifConditionHolds(port, this.#client.send(command));
    return sealed === undefined ? undefined : nodeOf(sealed.Attributes ?? {});
  }

  async read(parent: TaskKey, node: string): Promise<FamilyNode | undefined> {
    const command = new GetCommand({
      TableName: this.#table,
      Key: keys.familyNode(parent, node),
      ConsistentRead: true,
    });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : nodeOf(Item);
  }

  async savePage(parent: TaskKey, leaf: string, { first, keys: own }: FamilyPage, purgeAt: number): Promise<void> {
    const Item = { ...keys.familyPage(parent, leaf), first, ...pageKeys(own), purge_at: purgeAt };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async loadPage(parent: TaskKey, leaf: string): Promise<FamilyPage | undefined> {
    const command = new GetCommand({
      TableName: this.#table,
      Key: keys.familyPage(parent, leaf),
      ConsistentRead: true,
    });
    const { Item } = await viaPort(port, this.#client.send(command));
    if (Item === undefined) return undefined;
    const { first, count, keys: own } = Item as { first: number; count: number; keys?: (string | null)[] };
    return { first, keys: own ?? Array.from({ length: count }, () => null) };
  }

  #update(
    parent: TaskKey,
    node: string,
    set: Readonly<Record<string, unknown>>,
    remove: readonly string[] = [],
    condition?: { ConditionExpression: string; values: Record<string, unknown> },
  ): UpdateCommand {
    const given = Object.entries(set).filter(([, value]) => value !== undefined);
    const sets = given.map(([name], index) => `#${name} = :v${index}`).join(", ");
    const removes = remove.length === 0 ? "" : ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}`;
    const names = [...given.map(([name]) => name), ...remove];
    return new UpdateCommand({
      TableName: this.#table,
      Key: keys.familyNode(parent, node),
      UpdateExpression: `SET ${sets}${removes}`,
      ...(condition === undefined ? {} : { ConditionExpression: condition.ConditionExpression }),
      ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
      ExpressionAttributeValues: {
        ...Object.fromEntries(given.map(([, value], index) => [`:v${index}`, value])),
        ...condition?.values,
      },
      ReturnValues: "ALL_NEW",
    });
  }
}

/** The keys of a page, only where there are other keys than the default. */
const pageKeys = (own: readonly (string | null)[]) =>
  own.every((key) => key === null) ? { count: own.length } : { count: own.length, keys: own };

function nodeOf(item: Record<string, unknown>): FamilyNode {
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
