import { applyChange, type Change, type Changed } from "../core/model/change.ts";
import { searchTerms, type TaskKey, type TaskRecord } from "../core/model/record.ts";
import type { DeadLetterQuery, ListQuery, Page, Part, Records } from "../core/ports/tasks.ts";
import { copy } from "./copy.ts";

const keyOf = (key: TaskKey) => JSON.stringify([key.tenant_id, key.task_id]);

interface StoredPart {
  value: unknown;
  purgeAt: number;
}

/**
 * Records in memory, for tests, simulations and the test kit. Values are copied on the way in and out, as over a
 * network.
 */
export class MemoryRecords implements Records {
  readonly #records = new Map<string, TaskRecord>();
  readonly #parts = new Map<string, StoredPart>();

  async create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined> {
    const existing = this.#records.get(keyOf(record));
    const isPurged = existing !== undefined && existing.purge_at * 1000 <= Date.parse(nowIso);
    const isFree = existing === undefined || (isPurged && existing.created_at !== record.created_at);
    if (!isFree) return copy(existing);
    this.#records.set(keyOf(record), copy(record));
    return undefined;
  }

  async get(key: TaskKey): Promise<TaskRecord | undefined> {
    return copy(this.#records.get(keyOf(key)));
  }

  async getMany(keys: readonly TaskKey[]): Promise<(TaskRecord | undefined)[]> {
    return keys.map((key) => copy(this.#records.get(keyOf(key))));
  }

  async change(key: TaskKey, change: Change): Promise<Changed> {
    const current = this.#records.get(keyOf(key));
    const next = current === undefined ? undefined : applyChange(current, copy(change));
    if (next === undefined) return { done: false, record: copy(current) };
    this.#records.set(keyOf(key), next);
    return { done: true, record: copy(next) };
  }

  async list(query: ListQuery): Promise<Page<TaskRecord>> {
    const { term } = query;
    const hasTerm = (record: TaskRecord) =>
      record.tenant_id === query.tenantId &&
      (query.createdAfter === undefined || record.created_at >= query.createdAfter) &&
      (query.createdBefore === undefined || record.created_at < query.createdBefore) &&
      searchTerms(record).includes(term ?? "");
    const mine = (record: TaskRecord) =>
      record.tenant_id === query.tenantId &&
      (query.requestedBy === undefined || (record.own_list === true && record.requested_by === query.requestedBy)) &&
      (query.type === undefined || record.type === query.type) &&
      (query.priority === undefined || record.priority === query.priority) &&
      (query.createdAfter === undefined || record.created_at >= query.createdAfter) &&
      (query.createdBefore === undefined || record.created_at < query.createdBefore);
    const wanted = term === undefined ? mine : hasTerm;
    return this.#page(wanted, (record) => `${record.created_at}#${record.task_id}`, query);
  }

  async listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>> {
    const mine = (record: TaskRecord) =>
      record.tenant_id === query.tenantId &&
      record.dead_letter_at !== undefined &&
      (query.failedAfter === undefined || record.dead_letter_at >= query.failedAfter) &&
      (query.failedBefore === undefined || record.dead_letter_at < query.failedBefore);
    return this.#page(mine, (record) => `${record.dead_letter_at}#${record.task_id}`, query);
  }

  async savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): Promise<void> {
    const earlier = this.purgeAtOf(key, part) ?? purgeAt;
    this.#parts.set(`${keyOf(key)}${part}`, { value: copy(value), purgeAt: Math.max(earlier, purgeAt) });
  }

  async loadPart(key: TaskKey, part: Part): Promise<unknown> {
    return copy(this.#parts.get(`${keyOf(key)}${part}`)?.value);
  }

  async keepPart(key: TaskKey, part: Part, purgeAt: number): Promise<void> {
    const stored = this.#parts.get(`${keyOf(key)}${part}`);
    if (stored !== undefined) stored.purgeAt = Math.max(stored.purgeAt, purgeAt);
  }

  /** Epoch seconds until which a part is kept, for the checks of tests. Undefined: there is none. */
  purgeAtOf(key: TaskKey, part: Part): number | undefined {
    return this.#parts.get(`${keyOf(key)}${part}`)?.purgeAt;
  }

  /** Deletes records and parts whose time is over, as the table does some time later. */
  purge(nowSeconds: number): void {
    for (const [key, { purge_at }] of this.#records) if (purge_at <= nowSeconds) this.#records.delete(key);
    for (const [key, { purgeAt }] of this.#parts) if (purgeAt <= nowSeconds) this.#parts.delete(key);
  }

  /** Loses a record, as a table does that is restored to an earlier time. Its parts stay. */
  forget(key: TaskKey): void {
    this.#records.delete(keyOf(key));
  }

  /** All records, for the checks of tests. */
  all(): TaskRecord[] {
    return [...this.#records.values()].map((record) => copy(record));
  }

  #page(
    mine: (record: TaskRecord) => boolean,
    sortKey: (record: TaskRecord) => string,
    query: { limit: number; from?: string | undefined },
  ) {
    const found = [...this.#records.values()].filter(mine).map((record) => ({ record, at: sortKey(record) }));
    const { from } = query;
    const rest = from === undefined ? found : found.filter(({ at }) => at < from);
    const items = rest.sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, query.limit);
    return {
      items: items.map(({ record }) => copy(record)),
      next: rest.length > items.length ? items.at(-1)?.at : undefined,
    };
  }
}
