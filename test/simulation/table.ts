import type { Change } from "../../src/core/model/change.ts";
import type { TaskKey, TaskRecord } from "../../src/core/model/record.ts";
import type { OnceState, OnceStore, Part } from "../../src/core/ports/tasks.ts";
import { copy } from "../../src/memory/copy.ts";
import type { Core } from "./core.ts";
import type { Scheduler } from "./scheduler.ts";

interface Row {
  record: TaskRecord;
  /** The record before its newest change. */
  before: TaskRecord | undefined;
  changedAt: number;
}

interface OnceItem {
  owner: string;
  untilIso: string;
  purgeAt: number;
  done: boolean;
  value: unknown;
  fault?: string | undefined;
}

/** For how long a read may show the record before its newest change. */
const staleMs = 1000;

const keyOf = (key: TaskKey) => `${key.tenant_id}/${key.task_id}`;

/**
 * The table as DynamoDB is: every method is one request that happens at one moment. Records that are handed out are frozen,
 * so that code which changes one in place is found.
 */
export class Table {
  readonly #core: Core;
  readonly #time: Scheduler;
  readonly #rows = new Map<string, Row>();
  readonly #parts = new Map<string, { value: unknown; purgeAt: number }>();
  readonly #once = new Map<string, OnceItem>();

  constructor(core: Core, time: Scheduler) {
    this.#core = core;
    this.#time = time;
  }

  /** Whether the record was written: none was there, or one that is past its end. */
  create(record: TaskRecord, nowIso: string): boolean {
    const existing = this.#rows.get(keyOf(record));
    const isPurged = existing !== undefined && existing.record.purge_at <= Math.floor(Date.parse(nowIso) / 1000);
    if (existing !== undefined && !(isPurged && existing.record.created_at !== record.created_at)) return false;
    this.#write(record, undefined);
    return true;
  }

  /** Loses a record. Its parts stay. */
  forget(key: TaskKey): void {
    this.#rows.delete(keyOf(key));
  }

  read(key: TaskKey): TaskRecord | undefined {
    return this.#rows.get(keyOf(key))?.record;
  }

  /** When a record was last written, in epoch milliseconds: later than the time that its writer gave it. */
  changedAt(key: TaskKey): number {
    return this.#rows.get(keyOf(key))?.changedAt ?? 0;
  }

  /** What an eventually consistent read may show: for a second, the record before its newest change. */
  readStale(key: TaskKey): TaskRecord | undefined {
    const row = this.#rows.get(keyOf(key));
    if (row?.before === undefined || this.#time.now - row.changedAt > staleMs) return row?.record;
    return row.before;
  }

  /** The changed record, and the one it was; undefined when a condition did not hold. */
  change(key: TaskKey, change: Change): { before: TaskRecord; after: TaskRecord } | undefined {
    const before = this.#rows.get(keyOf(key))?.record;
    const after = before === undefined ? undefined : this.#core.change.applyChange(before, change);
    if (before === undefined || after === undefined) return undefined;
    this.#write(after, before);
    return { before, after };
  }

  savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): void {
    const earlier = this.purgeAtOf(key, part) ?? purgeAt;
    this.#parts.set(`${keyOf(key)}/${part}`, { value: copy(value), purgeAt: Math.max(earlier, purgeAt) });
  }

  loadPart(key: TaskKey, part: Part): unknown {
    return copy(this.#parts.get(`${keyOf(key)}/${part}`)?.value);
  }

  keepPart(key: TaskKey, part: Part, purgeAt: number): void {
    const stored = this.#parts.get(`${keyOf(key)}/${part}`);
    if (stored !== undefined) stored.purgeAt = Math.max(stored.purgeAt, purgeAt);
  }

  /** Epoch seconds until which a part is kept. Undefined: there is none. */
  purgeAtOf(key: TaskKey, part: Part): number | undefined {
    return this.#parts.get(`${keyOf(key)}/${part}`)?.purgeAt;
  }

  /** Deletes what is past its end, as the table does some time later; gives the records that are gone. */
  purge(): TaskRecord[] {
    const now = Math.floor(this.#time.now / 1000);
    const gone: TaskRecord[] = [];
    for (const [key, { record }] of this.#rows) {
      if (record.purge_at > now) continue;
      gone.push(record);
      this.#rows.delete(key);
    }
    for (const [key, part] of this.#parts) if (part.purgeAt <= now) this.#parts.delete(key);
    return gone;
  }

  beginOnce({ tenantId, key, owner, nowIso, untilIso, purgeAt }: Parameters<OnceStore["begin"]>[0]): boolean {
    const id = `${tenantId}/${key}`;
    const item = this.#once.get(id);
    if (item !== undefined && (item.done || (item.owner !== owner && item.untilIso > nowIso))) return false;
    this.#once.set(id, { owner, untilIso, purgeAt, done: false, value: undefined });
    return true;
  }

  readOnce({ tenantId, key }: { tenantId: string; key: string }): OnceState {
    const item = this.#once.get(`${tenantId}/${key}`);
    if (!item?.done) return { state: "busy" };
    const { value, owner, purgeAt, fault } = item;
    return { state: "done", value, owner, purgeAt, ...(fault !== undefined && { fault }) };
  }

  finishOnce({ tenantId, key, owner, value, fault }: Parameters<OnceStore["finish"]>[0]): boolean {
    const item = this.#once.get(`${tenantId}/${key}`);
    if (item === undefined || item.done || item.owner !== owner) return false;
    item.done = true;
    item.value = value;
    item.fault = fault;
    return true;
  }

  releaseOnce({ tenantId, key, owner }: Parameters<OnceStore["release"]>[0]): void {
    const item = this.#once.get(`${tenantId}/${key}`);
    if (item?.owner === owner && !item.done) this.#once.delete(`${tenantId}/${key}`);
  }

  #write(record: TaskRecord, before: TaskRecord | undefined): void {
    Object.freeze(record.history);
    this.#rows.set(keyOf(record), { record: Object.freeze(record), before, changedAt: this.#time.now });
  }
}
