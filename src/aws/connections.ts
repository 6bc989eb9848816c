import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from "#aws-sdk/lib-dynamodb";
import type { Connection } from "../core/ports/notify.ts";
import { type Channel, keepSeconds, type OpenConnections } from "../core/ports/push.ts";
import { batchGet } from "./batch-get.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { connectionPartition, keys } from "./table.ts";

const port = "the table";

type Item = Record<string, unknown>;

/**
 * Open connections in DynamoDB: an item by the connection's id, for the end of the connection; and an entry in the partition of those that
 * hear the same tasks. The TTL deletes connections whose end was not announced.
 */
export class DynamoConnections implements OpenConnections {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async count(of: Channel, most: number): Promise<number> {
    const { Count = 0 } = await this.#query(of, { Limit: most, Select: "COUNT" });
    return Number(Count);
  }

  async add(connection: Connection): Promise<void> {
    const item = { ...connection, purge_at: purgeAtOf(connection) };
    await Promise.all([
      this.#put({ ...item, ...keys.connection(connection.connection_id) }),
      this.#put({ ...item, ...keys.connectionEntry(connection, connection.connection_id) }),
    ]);
  }

  async announce(connection: Connection): Promise<void> {
    const until = purgeAtOf(connection);
    const item = { ...keys.listener(connection), until, purge_at: until, announced_by: connection.connection_id };
    await this.#put(item);
  }

  async find(connectionId: string): Promise<Connection | undefined> {
    const Key = keys.connection(connectionId);
    const command = new GetCommand({ TableName: this.#table, Key, ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : connectionOf(Item);
  }

  async hearing(tenantId: string, principal: string): Promise<Connection[]> {
    const scopes = (["own", "tenant"] as const).map((scope) => ({ tenant_id: tenantId, principal, scope }));
    // The marks are read before the connections: a connection that is added later changes its mark, which then is not deleted.
    const marks = await batchGet(
      this.#client,
      this.#table,
      scopes.map((scope) => keys.listener(scope)),
      { port, consistent: true },
    );
    const found = await Promise.all(
      scopes.map(async (scope) => {
        const { pk, sk } = keys.listener(scope);
        const mark = marks.find((item) => item.pk === pk && item.sk === sk);
        if (mark === undefined) return [];
        const connections = await this.#all(scope);
        if (connections.length === 0) await this.#unmark(mark);
        return connections;
      }),
    );
    return found.flat();
  }

  async remove(connection: Connection): Promise<void> {
    const { connection_id } = connection;
    const Keys = [keys.connection(connection_id), keys.connectionEntry(connection, connection_id)];
    const remove = (Key: Item) => viaPort(port, this.#client.send(new DeleteCommand({ TableName: this.#table, Key })));
    await Promise.all(Keys.map(remove));
  }

  async #all(of: Hearing): Promise<Connection[]> {
    const found: Connection[] = [];
    let from: Item | undefined;
    do {
      const { Items = [], LastEvaluatedKey } = await this.#query(of, { ExclusiveStartKey: from });
      found.push(...Items.map(connectionOf));
      from = LastEvaluatedKey;
    } while (from !== undefined);
    return found;
  }

  #query(of: Hearing, more: Item) {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: "pk = :pk",
      ExpressionAttributeValues: { ":pk": connectionPartition(of) },
      ConsistentRead: true,
      ...more,
    });
    return viaPort(port, this.#client.send(command));
  }

  /** Deletes the mark, unless another connection was announced since it was read. */
  async #unmark({ pk, sk, announced_by }: Item): Promise<void> {
    const command = new DeleteCommand({
      TableName: this.#table,
      Key: { pk, sk },
      ConditionExpression: "announced_by = :read",
      ExpressionAttributeValues: { ":read": announced_by },
    });
    await ifConditionHolds(port, this.#client.send(command));
  }

  async #put(Item: Item): Promise<void> {
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }
}

type Hearing = Pick<Channel, "tenant_id" | "principal" | "scope">;

const purgeAtOf = ({ connected_at }: Connection): number => Math.ceil(Date.parse(connected_at) / 1000) + keepSeconds;

const connectionOf = ({ pk: _, sk: __, purge_at: ___, ...connection }: Item): Connection =>
  connection as unknown as Connection;
