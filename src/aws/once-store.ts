import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  UpdateCommand,
} from "#aws-sdk/lib-dynamodb";
import type { Counters, OnceState, OnceStore } from "../core/ports/tasks.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Results of `task.once`: one item for each tenant and key. The item is a lock first, and later holds the result. */
export class DynamoOnceStore implements OnceStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async begin(once: Parameters<OnceStore["begin"]>[0]): Promise<OnceState> {
    const key = keys.once(once.tenantId, once.key);
    const command = new PutCommand({
      TableName: this.#table,
      Item: { ...key, state: "held", owner: once.owner, held_until: once.untilIso, purge_at: once.purgeAt },
      ConditionExpression:
        "attribute_not_exists(pk) OR purge_at <= :now_s OR (#state = :held AND (#owner = :owner OR held_until <= :now))",
      ExpressionAttributeNames: { "#state": "state", "#owner": "owner" },
      ExpressionAttributeValues: {
        ":held": "held",
        ":owner": once.owner,
        ":now": once.nowIso,
        ":now_s": Math.floor(Date.parse(once.nowIso) / 1000),
      },
    });
    if (await this.#conditionally(command)) return { state: "mine" };
    const { Item } = await viaPort(
      port,
      this.#client.send(new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true })),
    );
    if (Item?.state !== "done") return { state: "busy" };
    return {
      state: "done",
      value: parse(Item.value),
      ...(typeof Item.fault === "string" && { fault: Item.fault }),
    };
  }

  finish(once: Parameters<OnceStore["finish"]>[0]): Promise<boolean> {
    const { fault } = once;
    return this.#conditionally(
      new UpdateCommand({
        TableName: this.#table,
        Key: keys.once(once.tenantId, once.key),
        UpdateExpression: `SET #state = :done, #value = :value, purge_at = :purge_at${fault === undefined ? "" : ", fault = :fault"} REMOVE held_until`,
        ConditionExpression: "#state = :held AND #owner = :owner",
        ExpressionAttributeNames: { "#state": "state", "#owner": "owner", "#value": "value" },
        ExpressionAttributeValues: {
          ":done": "done",
          ":held": "held",
          ":owner": once.owner,
          ":value": JSON.stringify(once.value) ?? "",
          ":purge_at": once.purgeAt,
          ...(fault !== undefined && { ":fault": fault }),
        },
      }),
    );
  }

  async release(once: Parameters<OnceStore["release"]>[0]): Promise<void> {
    await this.#conditionally(
      new DeleteCommand({
        TableName: this.#table,
        Key: keys.once(once.tenantId, once.key),
        ConditionExpression: "#state = :held AND #owner = :owner",
        ExpressionAttributeNames: { "#state": "state", "#owner": "owner" },
        ExpressionAttributeValues: { ":held": "held", ":owner": once.owner },
      }),
    );
  }

  /** Returns true when the condition held. */
  async #conditionally(command: PutCommand | UpdateCommand | DeleteCommand): Promise<boolean> {
    return (await ifConditionHolds(port, this.#client.send(command as PutCommand))) !== undefined;
  }
}

const parse = (text: unknown): unknown => (typeof text === "string" && text !== "" ? JSON.parse(text) : undefined);

/** Counters in the table. */
export class DynamoCounters implements Counters {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async add(tenantId: string, name: string, idempotencyKey: string): Promise<number> {
    const Key = keys.counter(tenantId, name);
    const command = new UpdateCommand({
      TableName: this.#table,
      Key,
      UpdateExpression: "ADD #value :one, applied :key",
      ConditionExpression: "NOT contains(applied, :text)",
      ExpressionAttributeNames: { "#value": "value" },
      ExpressionAttributeValues: { ":one": 1, ":key": new Set([idempotencyKey]), ":text": idempotencyKey },
      ReturnValues: "UPDATED_NEW",
    });
    const counted = await ifConditionHolds(port, this.#client.send(command));
    if (counted !== undefined) return Number(counted.Attributes?.value);
    const read = new GetCommand({ TableName: this.#table, Key, ConsistentRead: true });
    return Number((await viaPort(port, this.#client.send(read))).Item?.value);
  }
}
