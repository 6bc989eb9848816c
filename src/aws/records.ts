import { type DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { Change, Changed } from "../core/model/change.ts";
import type { TaskKey, TaskRecord } from "../core/model/record.ts";
import { searchTerms, termSeconds } from "../core/model/search-terms.ts";
import type { DeadLetterQuery, ListQuery, Page, Part, Records } from "../core/ports/tasks.ts";
import { batchGet } from "./batch-get.ts";
import { asOneCall } from "./call-times.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { type IndexKeys, updateOf } from "./expression.ts";
import { ListShards } from "./list-shards.ts";
import { partOf, recordOf, storedFields, storedPart } from "./record-items.ts";
import { RecordLists } from "./record-lists.ts";
import { deadLetterKeys, keys, listKeys } from "./table.ts";

const port = "the table";

/** The records in DynamoDB. */
export class DynamoRecords implements Records {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #shards: ListShards;
  readonly #lists: RecordLists;

  /** @param listShards Number of shards for the lists' new entries. Default: 1. */
  constructor(client: DynamoDBDocumentClient, table: string, listShards = 1) {
    this.#client = client;
    this.#table = table;
    this.#shards = new ListShards(client, table, listShards);
    this.#lists = new RecordLists(client, table, this.#shards);
  }

  async create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined> {
    await this.#putTerms(record);
    const command = new PutCommand({
      TableName: this.#table,
      Item: { ...storedFields(record), ...keys.record(record), ...listKeys(record, await this.#shards.forWriting()) },
      ConditionExpression: "attribute_not_exists(pk) OR (purge_at <= :now AND created_at <> :created_at)",
      ExpressionAttributeValues: { ":now": Math.floor(Date.parse(nowIso) / 1000), ":created_at": record.created_at },
    });
    const created = await ifConditionHolds(port, this.#client.send(command));
    return created === undefined ? this.#read(record, true) : undefined;
  }

  /** Before the record: a term without a task is left out of lists, but a task without its terms would not be found. */
  async #putTerms(record: TaskRecord): Promise<void> {
    const terms = searchTerms(record);
    if (terms.length === 0) return;
    const shards = await this.#shards.forWriting();
    const { tenant_id, task_id } = record;
    const rest = { tenant_id, task_id, purge_at: record.purge_at + termSeconds };
    const put = (term: string) =>
      this.#client.send(
        new PutCommand({ TableName: this.#table, Item: { ...keys.term(record, term, shards), ...rest } }),
      );
    await Promise.all(terms.map((term) => viaPort(port, put(term))));
  }

  async get(key: TaskKey, how?: "consistently"): Promise<TaskRecord | undefined> {
    if (how === "consistently") return this.#read(key, true);
    return (await this.#read(key, false)) ?? (await this.#read(key, true));
  }

  async getMany(wanted: readonly TaskKey[]): Promise<(TaskRecord | undefined)[]> {
    const nameOf = ({ tenant_id, task_id }: TaskKey) => `${tenant_id}\n${task_id}`;
    const unique = new Map(wanted.map((key) => [nameOf(key), keys.record(key)]));
    const options = { port, consistent: true };
    const items = await batchGet(this.#client, this.#table, [...unique.values()], options);
    const found = new Map(items.map((item) => [nameOf(recordOf(item)), recordOf(item)]));
    return wanted.map((key) => found.get(nameOf(key)));
  }

  /** The look at a record that did not fit is part of the call: a claim succeeds in the time of one call, or never. */
  change(key: TaskKey, change: Change): Promise<Changed> {
    return asOneCall(() => this.#change(key, change));
  }

  async #change(key: TaskKey, change: Change): Promise<Changed> {
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.record(key),
      ...updateOf(storedChange(change), await this.#indexKeysOf(key, change)),
      ReturnValues: "ALL_NEW",
    });
    const changed = await ifConditionHolds(port, this.#client.send(command));
    return changed === undefined
      ? { done: false, record: await this.#read(key, true) }
      : { done: true, record: recordOf(changed.Attributes) };
  }

  list(query: ListQuery): Promise<Page<TaskRecord>> {
    return this.#lists.list(query);
  }

  listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>> {
    return this.#lists.listDeadLetters(query);
  }

  async savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): Promise<void> {
    const Item = { ...keys.part(key, part), ...storedPart(value), purge_at: purgeAt };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async loadPart(key: TaskKey, part: Part): Promise<unknown> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.part(key, part), ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return partOf(Item);
  }

  /** Keys of the dead-letter index for a change of `dead_letter_at`. */
  async #indexKeysOf(key: TaskKey, change: Change): Promise<IndexKeys> {
    const deadLetterAt = change.set?.dead_letter_at;
    if (deadLetterAt !== undefined) return { set: deadLetterKeys(key, deadLetterAt, await this.#shards.forWriting()) };
    return change.remove?.includes("dead_letter_at") ? { remove: ["dead_letter_pk", "dead_letter_sk"] } : {};
  }

  async #read(key: TaskKey, consistent: boolean): Promise<TaskRecord | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.record(key), ConsistentRead: consistent });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : recordOf(Item);
  }
}

const storedChange = (change: Change): Change =>
  change.set === undefined ? change : { ...change, set: storedFields(change.set) };
