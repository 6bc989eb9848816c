import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from "#aws-sdk/lib-dynamodb";
import type { Breaker, FlowSetting, FlowSettings, Pause, TypeLimits } from "../core/ports/flow.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

type Item = Record<string, unknown>;

/** Settings of flow in DynamoDB: one item each, in one partition that workers read as a whole. */
export class DynamoFlowSettings implements FlowSettings {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async all(): Promise<FlowSetting[]> {
    const settings: FlowSetting[] = [];
    let from: Item | undefined;
    do {
      const command = new QueryCommand({
        TableName: this.#table,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": keys.flowSetting("").pk },
        ConsistentRead: true,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
      settings.push(...Items.map(settingOf));
      from = LastEvaluatedKey;
    } while (from !== undefined);
    return settings;
  }

  async find(name: string): Promise<FlowSetting | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.flowSetting(name), ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item && settingOf(Item);
  }

  async put({ name, ...setting }: Pause | TypeLimits): Promise<void> {
    const Item = { ...keys.flowSetting(name), ...setting };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async remove(name: string): Promise<void> {
    await viaPort(port, this.#client.send(new DeleteCommand({ TableName: this.#table, Key: keys.flowSetting(name) })));
  }

  async countFailure(name: string, most: number, openUntilMs: number): Promise<Breaker> {
    const counted = await this.#update(name, {
      UpdateExpression: "SET kind = :kind, purge_at = :purge ADD failures :one",
      ExpressionAttributeValues: { ":kind": "breaker", ":one": 1, ":purge": purgeAt(openUntilMs) },
    });
    const breaker = settingOf(counted ?? {}) as Breaker;
    if (breaker.failures < most) return breaker;
    const opened = await this.#update(name, {
      UpdateExpression: "SET openUntilMs = :until",
      // It may have been closed since.
      ConditionExpression: "failures >= :most",
      ExpressionAttributeValues: { ":until": openUntilMs, ":most": most },
    });
    return opened === undefined ? breaker : (settingOf(opened) as Breaker);
  }

  async tryBreaker(name: string, seenMs: number, untilMs: number): Promise<boolean> {
    const moved = await this.#update(name, {
      UpdateExpression: "SET openUntilMs = :until, purge_at = :purge",
      ConditionExpression: "openUntilMs = :seen",
      ExpressionAttributeValues: { ":until": untilMs, ":seen": seenMs, ":purge": purgeAt(untilMs) },
    });
    return moved !== undefined;
  }

  /** Returns the item after the update, or undefined when its condition did not hold. */
  async #update(name: string, update: Item & { UpdateExpression: string }): Promise<Item | undefined> {
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.flowSetting(name),
      ...update,
      ReturnValues: "ALL_NEW",
    });
    return (await ifConditionHolds(port, this.#client.send(command)))?.Attributes;
  }
}

/** A breaker is kept for this time, in seconds: a type that fails now and then leaves none behind. */
const keepSeconds = 7 * 86_400;

const purgeAt = (nextMs: number): number => Math.ceil(nextMs / 1000) + keepSeconds;

const settingOf = ({ pk: _, sk, purge_at: _purgeAt, ...setting }: Item): FlowSetting =>
  ({ ...setting, name: sk }) as unknown as FlowSetting;
