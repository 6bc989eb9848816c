import { type DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { Envelope } from "../core/envelope.ts";
import type { TaskKey } from "../core/record.ts";
import type { Holder, Joined, Submitted, UniqueKey, UniqueKeys } from "../core/unique/ports.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** The condition that an item names this task. */
const names = "task_id = :task_id AND created_at = :created_at";
const valuesOf = ({ task_id, created_at }: Submitted) => ({ ":task_id": task_id, ":created_at": created_at });

type Key = ReturnType<typeof keys.uniqueKey>;

/** Keys of unique submits in DynamoDB: an item for each key, and one for each submit with an idempotency key that joined a holder. */
export class DynamoUniqueKeys implements UniqueKeys {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async holder(key: UniqueKey): Promise<Holder | undefined> {
    const item = await this.#read(keys.uniqueKey(key));
    if (item === undefined) return undefined;
    const { task_id, created_at, unsent } = item as { task_id: string; created_at: string; unsent?: string };
    return { task_id, created_at, ...(unsent !== undefined && { unsent: JSON.parse(unsent) as Envelope }) };
  }

  async take(key: UniqueKey, holder: Holder, seen: Submitted | undefined, purgeAt: number): Promise<boolean> {
    const { task_id, created_at, unsent } = holder;
    const text = unsent === undefined ? {} : { unsent: JSON.stringify(unsent) };
    const was = seen === undefined ? "attribute_not_exists(pk)" : "(task_id = :seen_id AND created_at = :seen_at)";
    const put = new PutCommand({
      TableName: this.#table,
      Item: { ...keys.uniqueKey(key), task_id, created_at, ...text, purge_at: purgeAt },
      ConditionExpression: `${was} OR (${names})`,
      ExpressionAttributeValues: {
        ...valuesOf(holder),
        ...(seen !== undefined && { ":seen_id": seen.task_id, ":seen_at": seen.created_at }),
      },
    });
    return (await ifConditionHolds(port, this.#client.send(put))) !== undefined;
  }

  async sent(key: UniqueKey, holder: Submitted): Promise<void> {
    await this.#update(keys.uniqueKey(key), {
      UpdateExpression: "REMOVE unsent",
      ConditionExpression: names,
      ExpressionAttributeValues: valuesOf(holder),
    });
  }

  async keep(key: UniqueKey, holder: Submitted, purgeAt: number): Promise<void> {
    await this.#update(keys.uniqueKey(key), {
      UpdateExpression: "SET purge_at = :purge_at",
      ConditionExpression: `${names} AND purge_at < :purge_at`,
      ExpressionAttributeValues: { ...valuesOf(holder), ":purge_at": purgeAt },
    });
  }

  async joined(call: TaskKey): Promise<Joined | undefined> {
    const item = await this.#read(keys.joined(call));
    if (item === undefined) return undefined;
    const { pk: _pk, sk: _sk, purge_at: _purgeAt, ...joined } = item;
    return joined as unknown as Joined;
  }

  async join(call: TaskKey, joined: Joined, seen: Joined | undefined, purgeAt: number): Promise<boolean> {
    const replaced = seen?.replaced === undefined ? "attribute_not_exists(replaced)" : "replaced = :replaced";
    const put = new PutCommand({
      TableName: this.#table,
      Item: { ...keys.joined(call), ...joined, purge_at: purgeAt },
      ConditionExpression: seen === undefined ? "attribute_not_exists(pk)" : `${names} AND ${replaced}`,
      ...(seen !== undefined && {
        ExpressionAttributeValues: {
          ...valuesOf(seen),
          ...(seen.replaced !== undefined && { ":replaced": seen.replaced }),
        },
      }),
    });
    return (await ifConditionHolds(port, this.#client.send(put))) !== undefined;
  }

  async #read(Key: Key): Promise<Record<string, unknown> | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key, ConsistentRead: true });
    return (await viaPort(port, this.#client.send(command))).Item;
  }

  async #update(Key: Key, update: object): Promise<void> {
    await ifConditionHolds(port, this.#client.send(new UpdateCommand({ TableName: this.#table, Key, ...update })));
  }
}
