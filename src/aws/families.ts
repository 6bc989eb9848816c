import { type DynamoDBDocumentClient, GetCommand, QueryCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { FamilyNode, Sealing } from "../core/model/family-node.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Families, FamilyKey, FamilyPage, StoredPage } from "../core/ports/family.ts";
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

  async end(parent: TaskKey, node: string, place: number, text: string, purgeAt: number): Promise<FamilyNode> {
    const name = attributeOf(place);
    const notLater = `attribute_not_exists(#${name}) OR #${name} <= :text`;
    const command = this.#update(parent, node, { [name]: text, purge_at: purgeAt }, [], {
      ConditionExpression: notLater,
      values: { ":text": text },
    });
    const written = await ifConditionHolds(port, this.#client.send(command));
    if (written !== undefined) return nodeOf(written.Attributes ?? {});
    return (await this.read(parent, node)) ?? { ended: {} };
  }

  async seal(
    parent: TaskKey,
    node: string,
    { members, up, below, round }: Sealing,
    attempt: number,
    purgeAt: number,
  ): Promise<FamilyNode | undefined> {
    const set = { members, up, below, round, sealed_by: attempt, purge_at: purgeAt };
    const removed = [
      ...(up === undefined ? ["up"] : []),
      ...(below === undefined ? ["below"] : []),
      ...(round === undefined ? ["round"] : []),
    ];
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

  async pages(family: FamilyKey, from: number, most?: number): Promise<StoredPage[]> {
    const { pk, sk } = keys.familyPage(family, from);
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: "pk = :pk AND sk >= :sk",
      ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
      ConsistentRead: true,
      ...(most !== undefined && { Limit: most }),
    });
    const { Items = [] } = await viaPort(port, this.#client.send(command));
    return Items.map(pageOf);
  }

  async savePage(
    family: FamilyKey,
    number: number,
    { first, keys: own, prints, attempt }: FamilyPage,
    before: number,
    purgeAt: number,
  ): Promise<boolean> {
    const own_keys = own.every((key) => key === null) ? {} : { keys: own };
    const set: Record<string, unknown> = { first, count: own.length, prints, attempt, purge_at: purgeAt, ...own_keys };
    const same = "#count = :before AND #attempt <= :attempt";
    const command = this.#setPage(
      family,
      number,
      set,
      before === 0 ? "attribute_not_exists(pk)" : same,
      before === 0 ? {} : { ":before": before, ":attempt": attempt },
    );
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }

  async notePage(family: FamilyKey, number: number, created: number, round: number): Promise<void> {
    const isLater =
      "attribute_exists(pk) AND (attribute_not_exists(#round) OR #round < :round OR (#round = :round AND #created < :created))";
    const values = { ":round": round, ":created": created };
    await ifConditionHolds(port, this.#client.send(this.#setPage(family, number, { created, round }, isLater, values)));
  }

  async keep(family: FamilyKey, number: number, leaf: string, purgeAt: number): Promise<void> {
    for (const Key of [keys.familyPage(family, number), keys.familyNode(family, leaf)]) {
      const update = new UpdateCommand({
        TableName: this.#table,
        Key,
        UpdateExpression: "SET purge_at = :purge_at",
        ConditionExpression: "attribute_exists(pk) AND purge_at < :purge_at",
        ExpressionAttributeValues: { ":purge_at": purgeAt },
      });
      await ifConditionHolds(port, this.#client.send(update));
    }
  }

  #setPage(
    family: FamilyKey,
    number: number,
    set: Readonly<Record<string, unknown>>,
    condition: string,
    values: Record<string, unknown>,
  ): UpdateCommand {
    return new UpdateCommand({
      TableName: this.#table,
      Key: keys.familyPage(family, number),
      ...expressionOf(set, []),
      ConditionExpression: condition,
      ExpressionAttributeValues: { ...expressionOf(set, []).ExpressionAttributeValues, ...values },
    });
  }

  #update(
    parent: TaskKey,
    node: string,
    set: Readonly<Record<string, unknown>>,
    remove: readonly string[] = [],
    condition?: { ConditionExpression: string; values: Record<string, unknown> },
  ): UpdateCommand {
    const expression = expressionOf(set, remove);
    return new UpdateCommand({
      TableName: this.#table,
      Key: keys.familyNode(parent, node),
      ...expression,
      ...(condition === undefined ? {} : { ConditionExpression: condition.ConditionExpression }),
      ExpressionAttributeValues: { ...expression.ExpressionAttributeValues, ...condition?.values },
      ReturnValues: "ALL_NEW",
    });
  }
}

function expressionOf(set: Readonly<Record<string, unknown>>, remove: readonly string[]) {
  const given = Object.entries(set).filter(([, value]) => value !== undefined);
  const sets = given.map(([name], index) => `#${name} = :v${index}`).join(", ");
  const removes = remove.length === 0 ? "" : ` REMOVE ${remove.map((name) => `#${name}`).join(", ")}`;
  const names = [...given.map(([name]) => name), ...remove];
  return {
    UpdateExpression: `SET ${sets}${removes}`,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: Object.fromEntries(given.map(([, value], index) => [`:v${index}`, value])),
  };
}

function pageOf(item: Record<string, unknown>): StoredPage {
  const {
    first,
    count,
    keys: own,
    prints,
    attempt,
    created = 0,
    round = 0,
    purge_at,
    sk,
  } = item as unknown as StoredPage & {
    count: number;
    sk: string;
  };
  const number = Number(sk.slice("page#".length));
  return {
    number,
    first,
    keys: own ?? Array.from({ length: count }, () => null),
    prints,
    attempt,
    created,
    round,
    purge_at,
  };
}

function nodeOf(item: Record<string, unknown>): FamilyNode {
  const ended = Object.entries(item).flatMap(([name, value]) => {
    const [, place] = /^e(\d+)$/.exec(name) ?? [];
    return place === undefined ? [] : [[place, value] as const];
  });
  const { members, up, below, round } = item as Partial<FamilyNode>;
  return {
    ended: Object.fromEntries(ended) as FamilyNode["ended"],
    ...(members === undefined ? {} : { members }),
    ...(up === undefined ? {} : { up }),
    ...(below === undefined ? {} : { below }),
    ...(round === undefined ? {} : { round }),
  };
}
