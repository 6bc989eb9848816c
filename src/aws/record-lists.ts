import type { TaskKey, TaskRecord } from "../core/model/record.ts";
import type { DeadLetterQuery, ListQuery, Page } from "../core/ports/tasks.ts";
import { indexes } from "../settings/config.ts";
import { type DynamoTable, eachReadable } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { type IndexRead, indexQuery } from "./index-query.ts";
import type { ListShards } from "./list-shards.ts";
import { recordOf } from "./record-items.ts";
import { keys, principalPartitions, tenantPartitions, termPartitions } from "./table.ts";

/** Rounds of queries for one page, at most. A page can need several, as filters can leave a round empty. */
const maxRounds = 5;

/**
 * Up to this number, a page's entries are asked of each partition, so that one round is enough however they are spread.
 */
const maxOfEach = 100;

/**
 * Number of entries to ask of each partition. Tasks are spread evenly over partitions, so a large page needs its share
 * of each, and a quarter more for chance. Where they are not, a page takes more rounds or is short.
 */
const shareOf = ({ limit, partitions }: IndexRead): number =>
  Math.min(limit, Math.max(maxOfEach, Math.ceil((limit / partitions.length) * 1.25)));

interface IndexEntry extends TaskKey {
  sortKey: string;
}

/** Lists of records, newest first, from the table's indexes. */
export class RecordLists {
  readonly #table: DynamoTable;
  readonly #shards: ListShards;

  constructor(table: DynamoTable, shards: ListShards) {
    this.#table = table;
    this.#shards = shards;
  }

  async list(query: ListQuery): Promise<Page<TaskRecord>> {
    const { tenantId, requestedBy, term } = query;
    if (term !== undefined) return this.#listByTerm(query, term);
    const own = requestedBy !== undefined;
    const shards = await this.#shards.forReading();
    return this.#page({
      index: own ? indexes.principal : indexes.tenant,
      pk: own ? "principal_pk" : "tenant_pk",
      sk: own ? "principal_sk" : "tenant_sk",
      partitions: own ? principalPartitions(tenantId, requestedBy, shards) : tenantPartitions(tenantId, shards),
      after: query.createdAfter,
      before: earlier(query.createdBefore, query.from),
      filters: { type: query.type, priority: query.priority },
      limit: query.limit,
    });
  }

  /** Items of terms have the sort keys of the tenant's list. */
  async #listByTerm(query: ListQuery, term: string): Promise<Page<TaskRecord>> {
    return this.#page({
      ...{ index: undefined, pk: "pk", sk: "sk", recordSk: "tenant_sk" },
      partitions: termPartitions(query.tenantId, term, await this.#shards.forReading()),
      after: query.createdAfter,
      before: earlier(query.createdBefore, query.from),
      filters: {},
      limit: query.limit,
    });
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>> {
    return this.#page({
      index: indexes.deadLetters,
      pk: "dead_letter_pk",
      sk: "dead_letter_sk",
      partitions: tenantPartitions(query.tenantId, await this.#shards.forReading()),
      after: query.failedAfter,
      before: earlier(query.failedBefore, query.from),
      filters: {},
      limit: query.limit,
    });
  }

  /** Reads all partitions of an index newest first, merges them, and fetches the records. */
  async #page(read: IndexRead & { recordSk?: string }): Promise<Page<TaskRecord>> {
    if (read.after !== undefined && read.before !== undefined && read.before <= read.after)
      return { items: [], next: undefined };
    const entries: IndexEntry[] = [];
    let before = read.before;
    for (let round = 0; round < maxRounds; round++) {
      const found = await this.#round({ ...read, before, limit: read.limit - entries.length });
      entries.push(...found.entries);
      before = found.next;
      if (before === undefined || entries.length >= read.limit) break;
    }
    return { items: await this.#fetch(read.recordSk ?? read.sk, entries), next: before };
  }

  /**
   * Sends one query per partition, and merges the answers. The merged list is complete only down to the highest sort
   * key at which a partition stopped before its end: below that key, the rest of this partition could have newer
   * entries.
   */
  async #round(read: IndexRead): Promise<{ entries: IndexEntry[]; next: string | undefined }> {
    const share = { ...read, limit: shareOf(read) };
    const answers = await Promise.all(read.partitions.map((partition) => this.#query(share, partition)));
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
    const { items, last } = await this.#table.page({ ConsistentRead: false, ...indexQuery(read, partition) }, "any");
    const entries = items.map((item) => ({
      sortKey: String(item[read.sk]),
      tenant_id: String(item.tenant_id),
      task_id: String(item.task_id),
    }));
    return { entries, stoppedAt: last?.[read.sk] as string | undefined };
  }

  /**
   * Fetches the records of entries, in the entries' order. Leaves out entries that do not fit their record: the record
   * was deleted since, or has another sort key. An index follows its table late, so for a moment it can have two
   * entries of one record.
   */
  async #fetch(sk: string, entries: readonly IndexEntry[]): Promise<TaskRecord[]> {
    const items = await getMany(this.#table, entries.map(keys.record), "eventually", "any");
    const found = new Map(eachReadable(items, (item) => [`${item.task_id} ${item[sk]}`, recordOf(item)] as const));
    return entries.flatMap((entry) => found.get(`${entry.task_id} ${entry.sortKey}`) ?? []);
  }
}

const earlier = (a: string | undefined, b: string | undefined) =>
  a === undefined || (b !== undefined && b < a) ? b : a;
