import { type Channel, type Connection, keepSeconds, type OpenConnections } from "../core/ports/notify.ts";
import { type DynamoTable, fieldsOf, type Item, type Query } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { connectionPartition, keys } from "./table.ts";

/**
 * Open connections in DynamoDB: an item by the connection's id, for the end of the connection; and an entry in the
 * partition of the connections that hear the same tasks. The TTL deletes connections whose end was not announced.
 */
export class DynamoConnections implements OpenConnections {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  count(of: Channel, max: number): Promise<number> {
    return this.#table.count({ ...queryOf(of), Limit: max });
  }

  async add(connection: Connection): Promise<void> {
    const item = { ...connection, purge_at: purgeAtOf(connection) };
    await Promise.all([
      this.#table.put({ ...item, ...keys.connection(connection.connection_id) }),
      this.#table.put({ ...item, ...keys.connectionEntry(connection, connection.connection_id) }),
    ]);
  }

  async announce(connection: Connection): Promise<void> {
    const until = purgeAtOf(connection);
    const item = { ...keys.listener(connection), until, purge_at: until, announced_by: connection.connection_id };
    await this.#table.put(item);
  }

  async find(connectionId: string): Promise<Connection | undefined> {
    const item = await this.#table.get(keys.connection(connectionId));
    return item && connectionOf(item);
  }

  async hearing(tenantId: string, principal: string): Promise<Connection[]> {
    const scopes = (["own", "tenant"] as const).map((scope) => ({ tenant_id: tenantId, principal, scope }));
    // The marks are read before the connections: a connection that is added later changes its mark, which then is not
    // deleted.
    const marks = await getMany(
      this.#table,
      scopes.map((scope) => keys.listener(scope)),
    );
    const found = await Promise.all(
      scopes.map(async (scope) => {
        const { pk, sk } = keys.listener(scope);
        const mark = marks.find((item) => item.pk === pk && item.sk === sk);
        if (mark === undefined) return [];
        const connections = (await this.#table.all(queryOf(scope))).map(connectionOf);
        if (connections.length === 0) await this.#unmark(mark);
        return connections;
      }),
    );
    return found.flat();
  }

  async remove(connection: Connection): Promise<void> {
    const { connection_id } = connection;
    const both = [keys.connection(connection_id), keys.connectionEntry(connection, connection_id)];
    await Promise.all(both.map((key) => this.#table.delete(key)));
  }

  /** Deletes the mark, unless another connection was announced since it was read. */
  async #unmark({ pk, sk, announced_by }: Item): Promise<void> {
    const condition = {
      ConditionExpression: "announced_by = :read",
      ExpressionAttributeValues: { ":read": announced_by },
    };
    await this.#table.deleteIf({ pk, sk }, condition);
  }
}

const queryOf = (of: Hearing): Query => ({
  KeyConditionExpression: "pk = :pk",
  ExpressionAttributeValues: { ":pk": connectionPartition(of) },
});

type Hearing = Pick<Channel, "tenant_id" | "principal" | "scope">;

const purgeAtOf = ({ connected_at }: Connection): number => Math.ceil(Date.parse(connected_at) / 1000) + keepSeconds;

const connectionOf = ({ purge_at: _, ...item }: Item): Connection => fieldsOf(item);
