import type { Change, Changed } from "../core/model/change.ts";
import { searchTerms, type TaskKey, type TaskRecord, termSeconds } from "../core/model/record.ts";
import type { DeadLetterQuery, ListQuery, Page, Part, Records } from "../core/ports/tasks.ts";
import { asOneCall } from "./call-times.ts";
import type { Consistency, DynamoTable } from "./dynamo-table.ts";
import { type IndexKeys, updateOf } from "./expression.ts";
import { getMany } from "./get-many.ts";
import { lazyPort } from "./lazy-port.ts";
import { ListShards } from "./list-shards.ts";
import { partOf, recordOf, storedFields, storedPart } from "./record-items.ts";
import { deadLetterKeys, keys, listKeys, retryingKeys } from "./table.ts";

/** The records in DynamoDB. */
export class DynamoRecords implements Records {
  readonly #table: DynamoTable;
  readonly #shards: ListShards;
  readonly #lists: Pick<Records, "list" | "listDeadLetters">;

  /** @param listShards Number of shards for the lists' new entries. Default: 1. */
  constructor(table: DynamoTable, listShards = 1) {
    this.#table = table;
    this.#shards = new ListShards(table, listShards);
    // Only lists need it.
    this.#lists = lazyPort(async () => new (await import("./record-lists.ts")).RecordLists(table, this.#shards));
  }

  async create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined> {
    await this.#putTerms(record);
    const shards = await this.#shards.forWriting();
    const { dead_letter_at: deadLetterAt } = record;
    const deadLetter = deadLetterAt === undefined ? {} : deadLetterKeys(record, deadLetterAt, shards);
    const item = { ...storedFields(record), ...keys.record(record), ...listKeys(record, shards), ...deadLetter };
    const created = await this.#table.putIf(item, {
      ConditionExpression: "attribute_not_exists(pk) OR (purge_at <= :now AND created_at <> :created_at)",
      ExpressionAttributeValues: { ":now": Math.floor(Date.parse(nowIso) / 1000), ":created_at": record.created_at },
    });
    return created ? undefined : this.#read(record, "consistently");
  }

  /** Before the record: a term without a task is left out of lists, but a task without its terms would not be found. */
  async #putTerms(record: TaskRecord): Promise<void> {
    const terms = searchTerms(record);
    if (terms.length === 0) return;
    const shards = await this.#shards.forWriting();
    const { tenant_id, task_id } = record;
    const rest = { tenant_id, task_id, purge_at: record.purge_at + termSeconds };
    await Promise.all(terms.map((term) => this.#table.put({ ...keys.term(record, term, shards), ...rest })));
  }

  async get(key: TaskKey, how?: "consistently"): Promise<TaskRecord | undefined> {
    if (how === "consistently") return this.#read(key, "consistently");
    return (await this.#read(key, "eventually")) ?? (await this.#read(key, "consistently"));
  }

  async getMany(wanted: readonly TaskKey[]): Promise<(TaskRecord | undefined)[]> {
    const nameOf = ({ tenant_id, task_id }: TaskKey) => `${tenant_id}\n${task_id}`;
    const items = await getMany(this.#table, wanted.map(keys.record));
    const found = new Map(items.map((item) => [nameOf(recordOf(item)), recordOf(item)]));
    return wanted.map((key) => found.get(nameOf(key)));
  }

  /** The look at a record that did not fit is part of the call: a claim succeeds in the time of one call, or never. */
  change(key: TaskKey, change: Change): Promise<Changed> {
    return asOneCall(() => this.#change(key, change));
  }

  async #change(key: TaskKey, change: Change): Promise<Changed> {
    const update = updateOf(storedChange(change), await this.#indexKeysOf(key, change));
    const changed = await this.#table.updated(keys.record(key), update);
    return changed === undefined
      ? { done: false, record: await this.#read(key, "consistently") }
      : { done: true, record: recordOf(changed) };
  }

  list(query: ListQuery): Promise<Page<TaskRecord>> {
    return this.#lists.list(query);
  }

  listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>> {
    return this.#lists.listDeadLetters(query);
  }

  async savePart(key: TaskKey, part: Part, value: unknown, purge_at: number): Promise<void> {
    const saved = await this.#table.putIf(
      { ...keys.part(key, part), ...storedPart(value), purge_at },
      {
        ConditionExpression: "attribute_not_exists(purge_at) OR purge_at <= :until",
        ExpressionAttributeValues: { ":until": purge_at },
      },
    );
    if (saved) return;
    const later = await this.#table.get(keys.part(key, part));
    await this.savePart(key, part, value, Math.max(purge_at, Number(later?.purge_at ?? 0)));
  }

  async loadPart(key: TaskKey, part: Part): Promise<unknown> {
    return partOf(await this.#table.get(keys.part(key, part)));
  }

  async keepPart(key: TaskKey, part: Part, purge_at: number): Promise<void> {
    await this.#table.updateIf(keys.part(key, part), {
      UpdateExpression: "SET purge_at = :until",
      ConditionExpression: "purge_at < :until",
      ExpressionAttributeValues: { ":until": purge_at },
    });
  }

  /** Keys of the dead-letter index for a change of `dead_letter_at` or `retrying_in`. A record never has both. */
  async #indexKeysOf(key: TaskKey, { set, remove = [] }: Change): Promise<IndexKeys> {
    const deadLetterAt = set?.dead_letter_at;
    if (deadLetterAt !== undefined) return { set: deadLetterKeys(key, deadLetterAt, await this.#shards.forWriting()) };
    if (set?.retrying_in !== undefined) return { set: retryingKeys(key, set.retrying_in) };
    const leaves = remove.includes("dead_letter_at") || remove.includes("retrying_in");
    return leaves ? { remove: ["dead_letter_pk", "dead_letter_sk"] } : {};
  }

  async #read(key: TaskKey, how: Consistency): Promise<TaskRecord | undefined> {
    const item = await this.#table.get(keys.record(key), how);
    return item && recordOf(item);
  }
}

const storedChange = (change: Change): Change =>
  change.set === undefined ? change : { ...change, set: storedFields(change.set) };
