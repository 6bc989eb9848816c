import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from "#aws-sdk/lib-dynamodb";
import { inLanes } from "../core/model/in-lanes.ts";
import type { NewState, StepEntry, StepOwner, StepStore, StoredEntry } from "../core/ports/steps.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Entries that are kept longer at the same time. */
const lanes = 20;

type Item = Record<string, unknown>;

/** Entries of tasks in DynamoDB: one item each, in the partition of the task's record. */
export class DynamoStepStore implements StepStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async load(owner: StepOwner, kind?: StepEntry["kind"]): Promise<StoredEntry[]> {
    const entries: StoredEntry[] = [];
    const { pk, sk } = keys.step(owner, kind === undefined ? "" : `${kind}:`);
    let from: Item | undefined;
    do {
      const command = new QueryCommand({
        TableName: this.#table,
        KeyConditionExpression: "pk = :pk AND begins_with(sk, :sk)",
        ExpressionAttributeValues: { ":pk": pk, ":sk": sk },
        ConsistentRead: true,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      });
      const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
      entries.push(...Items.map((item) => entryOf(item)));
      from = LastEvaluatedKey;
    } while (from !== undefined);
    return entries;
  }

  async add(owner: StepOwner, entry: StepEntry, purgeAt: number): Promise<StepEntry> {
    const key = keys.step(owner, nameOf(entry));
    const put = new PutCommand({
      TableName: this.#table,
      Item: { ...entry, ...key, purge_at: purgeAt },
      ConditionExpression: "attribute_not_exists(pk)",
    });
    if ((await ifConditionHolds(port, this.#client.send(put))) !== undefined) return entry;
    const read = new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(read));
    if (Item === undefined) return entry;
    const { purge_at: _, ...stored } = entryOf(Item);
    return stored;
  }

  async saveState(owner: StepOwner, state: NewState, purgeAt: number): Promise<boolean> {
    const entry: StepEntry = { kind: "state", name: "", ...state };
    const put = new PutCommand({
      TableName: this.#table,
      Item: { ...entry, ...keys.step(owner, nameOf(entry)), purge_at: purgeAt },
      ConditionExpression:
        "attribute_not_exists(pk) OR #attempt < :attempt OR (#attempt = :attempt AND #order <= :order)",
      ExpressionAttributeNames: { "#attempt": "attempt", "#order": "order" },
      ExpressionAttributeValues: { ":attempt": state.attempt, ":order": state.order },
    });
    return (await ifConditionHolds(port, this.#client.send(put))) !== undefined;
  }

  async keep(owner: StepOwner, entries: readonly Pick<StepEntry, "kind" | "name">[], purgeAt: number): Promise<void> {
    await inLanes(entries, lanes, async (entry) => {
      const update = new UpdateCommand({
        TableName: this.#table,
        Key: keys.step(owner, nameOf(entry)),
        UpdateExpression: "SET purge_at = :purge_at",
        ConditionExpression: "attribute_exists(pk) AND purge_at < :purge_at",
        ExpressionAttributeValues: { ":purge_at": purgeAt },
      });
      await ifConditionHolds(port, this.#client.send(update));
    });
  }
}

const nameOf = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string => `${kind}:${name}`;

function entryOf({ pk: _pk, sk: _sk, ...entry }: Item): StoredEntry {
  return entry as unknown as StoredEntry;
}
