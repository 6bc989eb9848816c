import {
  BatchGetCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from "#aws-sdk/lib-dynamodb";
import { indexes } from "../config.ts";
import type { Change, Changed } from "../core/change.ts";
import type { DeadLetterQuery, ListQuery, Page, Part, Records } from "../core/ports.ts";
import type { TaskKey, TaskRecord } from "../core/record.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { type IndexKeys, updateOf } from "./expression.ts";
import { deadLetterKeys, keyAttributes, keys, listKeys, principalKey, shardKey, shards } from "./table.ts";

const port = "the table";

/** How many rounds of queries one page may take: filters can leave a round empty. */
const mostRounds = 5;

/** One index to read: its partitions, and the interval of its sort key. */
interface IndexRead {
  index: string;
  pk: string;
  sk: string;
  partitions: readonly string[];
  after: string | undefined;
  before: string | undefined;
  filters: Record<string, string | undefined>;
  limit: number;
}

interface IndexEntry extends TaskKey {
  sortKey: string;
}

/** The records in DynamoDB. Each method is one request, but for lists. */
export class DynamoRecords implements Records {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined> {
    const command = new PutCommand({
      TableName: this.#table,
      Item: { ...stored(record), ...keys.record(record), ...listKeys(record) },
      ConditionExpression: "attribute_not_exists(pk) OR purge_at <= :now",
      ExpressionAttributeValues: { ":now": Math.floor(Date.parse(nowIso) / 1000) },
    });
    const created = await ifConditionHolds(port, this.#client.send(command));
    return created === undefined ? this.#read(record, true) : undefined;
  }

  async get(key: TaskKey): Promise<TaskRecord | undefined> {
    return (await this.#read(key, false)) ?? (await this.#read(key, true));
  }

  async change(key: TaskKey, change: Change): Promise<Changed> {
    const command = new UpdateCommand({
      TableName: this.#table,
      Key: keys.record(key),
      ...updateOf(change.set === undefined ? change : { ...change, set: stored(change.set) }, indexKeysOf(key, change)),
      ReturnValues: "ALL_NEW",
    });
    const changed = await ifConditionHolds(port, this.#client.send(command));
    return changed === undefined
      ? { done: false, record: await this.#read(key, true) }
      : { done: true, record: recordOf(changed.Attributes) };
  }

  list(query: ListQuery): Promise<Page<TaskRecord>> {
    const own = query.requestedBy !== undefined;
    return this.#page({
      index: own ? indexes.principal : indexes.tenant,
      pk: own ? "principal_pk" : "tenant_pk",
      sk: own ? "principal_sk" : "tenant_sk",
      partitions: own
        ? [principalKey(query.tenantId, query.requestedBy ?? "")]
        : shards.map((shard) => shardKey(query.tenantId, shard)),
      after: query.createdAfter,
      before: earlier(query.createdBefore, query.from),
      filters: { type: query.type, priority: query.priority },
      limit: query.limit,
    });
  }

  listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>> {
    return this.#page({
      index: indexes.deadLetters,
      pk: "dead_letter_pk",
      sk: "dead_letter_sk",
      partitions: shards.map((shard) => shardKey(query.tenantId, shard)),
      after: query.failedAfter,
      before: earlier(query.failedBefore, query.from),
      filters: {},
      limit: query.limit,
    });
  }

  async savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): Promise<void> {
    const Item = { ...keys.part(key, part), ...contentOf(value), purge_at: purgeAt };
    await viaPort(port, this.#client.send(new PutCommand({ TableName: this.#table, Item })));
  }

  async loadPart(key: TaskKey, part: Part): Promise<unknown> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.part(key, part), ConsistentRead: true });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item?.json === undefined ? (Item?.text ?? Item?.bytes) : JSON.parse(String(Item.json));
  }

  async #read(key: TaskKey, consistent: boolean): Promise<TaskRecord | undefined> {
    const command = new GetCommand({ TableName: this.#table, Key: keys.record(key), ConsistentRead: consistent });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : recordOf(Item);
  }

  /** Reads all partitions of an index newest first, merges them, and fetches the records. */
  async #page(read: IndexRead): Promise<Page<TaskRecord>> {
    if (read.after !== undefined && read.before !== undefined && read.before <= read.after)
      return { items: [], next: undefined };
    const entries: IndexEntry[] = [];
    let before = read.before;
    for (let round = 0; round < mostRounds; round++) {
      const found = await this.#round({ ...read, before, limit: read.limit - entries.length });
      entries.push(...found.entries);
      before = found.next;
      if (before === undefined || entries.length >= read.limit) break;
    }
    return { items: await this.#fetch(entries), next: before };
  }

  /**
   * One query per partition. The round is good down to the highest of the sort keys at which a partition stopped early:
   * below it, a partition that was not read to its end could hold newer entries.
   */
  async #round(read: IndexRead): Promise<{ entries: IndexEntry[]; next: string | undefined }> {
    const answers = await Promise.all(read.partitions.map((partition) => this.#query(read, partition)));
    const stops = answers.map((answer) => answer.stoppedAt).filter((stop) => stop !== undefined);
    const floor = stops.sort().at(-1);
    const merged = answers
      .flatMap((answer) => answer.entries)
      .filter((entry) => floor === undefined || entry.sortKey >= floor)
      .sort((a, b) => (a.sortKey < b.sortKey ? 1 : -1));
    const entries = merged.slice(0, read.limit);
    const last = entries.at(-1);
    return { entries, next: merged.length > entries.length && last !== undefined ? last.sortKey : floor };
  }

  async #query(read: IndexRead, partition: string): Promise<{ entries: IndexEntry[]; stoppedAt: string | undefined }> {
    const command = new QueryCommand({ TableName: this.#table, ...indexQuery(read, partition) });
    const { Items = [], LastEvaluatedKey } = await viaPort(port, this.#client.send(command));
    const entries = Items.map((item) => ({
      sortKey: String(item[read.sk]),
      tenant_id: String(item.tenant_id),
      task_id: String(item.task_id),
    }));
    return { entries, stoppedAt: LastEvaluatedKey?.[read.sk] as string | undefined };
  }

  /** Fetches records by their keys, at most 100, in the entries' order; what was deleted meanwhile is left out. */
  async #fetch(entries: readonly IndexEntry[]): Promise<TaskRecord[]> {
    const found = new Map<string, TaskRecord>();
    let wanted: Record<string, unknown>[] = entries.map((entry) => keys.record(entry));
    while (wanted.length > 0) {
      const command = new BatchGetCommand({ RequestItems: { [this.#table]: { Keys: wanted } } });
      const { Responses, UnprocessedKeys } = await viaPort(port, this.#client.send(command));
      for (const item of Responses?.[this.#table] ?? []) found.set(String(item.task_id), recordOf(item));
      wanted = UnprocessedKeys?.[this.#table]?.Keys ?? [];
    }
    return entries.flatMap((entry) => found.get(entry.task_id) ?? []);
  }
}

/** The request of one partition: sort keys are `<time>#<task id>`, so a time alone is below all of its own entries. */
export function indexQuery(read: IndexRead, partition: string) {
  const names: Record<string, string> = { "#pk": read.pk, "#sk": read.sk };
  const values: Record<string, unknown> = { ":pk": partition };
  const range = rangeOf(read, values);
  const filters: string[] = [];
  for (const [field, value] of Object.entries(read.filters)) {
    if (value === undefined) continue;
    names[`#${field}`] = field;
    values[`:${field}`] = value;
    filters.push(`#${field} = :${field}`);
  }
  return {
    IndexName: read.index,
    KeyConditionExpression: ["#pk = :pk", ...(range === undefined ? [] : [range])].join(" AND "),
    ExpressionAttributeNames: range === undefined ? omitSk(names) : names,
    ExpressionAttributeValues: values,
    ...(filters.length > 0 ? { FilterExpression: filters.join(" AND ") } : {}),
    ScanIndexForward: false,
    Limit: filters.length > 0 ? 100 : read.limit,
  };
}

const omitSk = ({ "#sk": _, ...names }: Record<string, string>) => names;

/** A key condition has one range only: both bounds become BETWEEN, whose upper bound is made exclusive by its last character. */
function rangeOf(read: IndexRead, values: Record<string, unknown>): string | undefined {
  if (read.before === undefined && read.after === undefined) return undefined;
  if (read.after !== undefined) values[":after"] = read.after;
  if (read.before === undefined) return "#sk >= :after";
  if (read.after === undefined) {
    values[":before"] = read.before;
    return "#sk < :before";
  }
  values[":before"] = justBelow(read.before);
  return "#sk BETWEEN :after AND :before";
}

/** A text below `text` and above every sort key that is smaller: keys are ASCII, so the last character's predecessor and a filler. */
const justBelow = (text: string): string =>
  `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) - 1)}~`;

const earlier = (a: string | undefined, b: string | undefined) =>
  a === undefined || (b !== undefined && b < a) ? b : a;

/** The dead-letter index's keys follow `dead_letter_at`. */
function indexKeysOf(key: TaskKey, change: Change): IndexKeys {
  const deadLetterAt = change.set?.dead_letter_at;
  if (deadLetterAt !== undefined) return { set: deadLetterKeys(key, deadLetterAt) };
  return change.remove?.includes("dead_letter_at") ? { remove: ["dead_letter_pk", "dead_letter_sk"] } : {};
}

/**
 * Fields as they are stored: what comes from handlers and clients is JSON text, here and in the parts. DynamoDB's own
 * numbers and nesting are narrower than JSON's, and a result that could not be written would leave its task without an end.
 */
const stored = <Fields extends { readonly result?: unknown }>(fields: Fields): Fields =>
  fields.result === undefined ? fields : { ...fields, result: JSON.stringify(fields.result) };

/** A part's value under the attribute that says how to read it. Text stays as it is: as JSON it could double in size. */
function contentOf(value: unknown) {
  if (value instanceof Uint8Array) return { bytes: value };
  return typeof value === "string" ? { text: value } : { json: JSON.stringify(value) };
}

/** A stored item as a record: without the attributes that are only keys. */
function recordOf(item: Record<string, unknown> | undefined): TaskRecord {
  const record = { ...item };
  if (record.result !== undefined) record.result = JSON.parse(String(record.result));
  for (const attribute of keyAttributes) delete record[attribute];
  return record as unknown as TaskRecord;
}
