import type { Change, Changed } from "../model/change.ts";
import { Problem } from "../model/problem.ts";
import { isKept, iso, type TaskKey, type TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/words.ts";
import type { Clock, Log, Records } from "../ports/tasks.ts";
import { hourOf, type OpenCount, startOfHour, type Usage } from "./ports.ts";
import { type Refill, TokenBatches } from "./token-batches.ts";

/** A task counts as in progress for at most this number of hours. Errors in the count are gone after that time. */
const longestHours = 24;

/**
 * A count that refuses submits is compared with the records (an audit): no earlier than `quietMs` after the last
 * reservation, and at most once in `auditEveryMs`.
 */
const quietMs = 2_000;
const auditEveryMs = 60_000;

/** Maximum number of list pages that an audit reads. */
const maxAuditPages = 40;

/**
 * Maximum size of a batch of tokens, as a fraction of the free places: other processes cannot use them until they are
 * given back.
 */
const batchShare = 0.02;

/** Maximum number of tenants whose counts a process remembers. */
const maxTenants = 10_000;

/** `Retry-After` of a refused submit, in seconds. */
const retryAfterSeconds = 2;

export interface QuotaPorts {
  clock: Clock;
  log: Log;
  usage: Usage;
  records: Pick<Records, "list">;
}

/**
 * Limits the number of a tenant's tasks in progress, over all processes. Submits add to a shared count, in batches of
 * tokens; the end of a task subtracts from it (`countingRecords`). If a process crashes before it subtracts, or is
 * frozen before it gives unused tokens back, the count is too high: when the count refuses submits, it is compared with
 * the records and corrected.
 */
export class Quota {
  readonly #ports: QuotaPorts;
  readonly #batches: TokenBatches;
  /** Count of a tenant's tasks in progress when this process last saw it. */
  readonly #seen = new Map<string, number>();

  constructor(ports: QuotaPorts) {
    this.#ports = ports;
    this.#batches = new TokenBatches(ports.clock, (...unused) => void this.#unreserve(...unused));
  }

  /** @throws Problem `quota_exceeded` */
  async take(tenantId: string, bound: number): Promise<void> {
    const room = bound - (this.#seen.get(tenantId) ?? 0);
    const max = Math.max(1, Math.floor(room * batchShare));
    const retryAtMs = await this.#batches.take(tenantId, max, this.#refill(tenantId, bound));
    if (retryAtMs === undefined) return;
    throw new Problem("quota_exceeded", `This tenant already has ${bound} tasks in progress, its limit.`, {
      retryAfterSeconds,
    });
  }

  giveBack(tenantId: string): void {
    this.#batches.giveBack(tenantId);
  }

  #refill(tenantId: string, bound: number): Refill {
    return async ({ count, unused, unusedFromMs, nowMs }) => {
      const old = nowMs - unusedFromMs >= quietMs;
      if (old && unused > 0) await this.#unreserve(tenantId, unused, unusedFromMs);
      const usable = old ? 0 : unused;
      if (usable >= count) return { granted: usable };
      return { granted: usable + (await this.#reserve(tenantId, { by: count - usable, atMost: bound, nowMs })) };
    };
  }

  /** Returns unused places to the shared count. Places that cannot be given back count until the next audit. */
  #unreserve(tenantId: string, by: number, reservedAtMs: number): Promise<void> {
    return this.#ports.usage.unreserve(tenantId, { by, reservedAtMs }).catch(() => {});
  }

  /** Reserves `by` places, or the free places if these are fewer. Returns the number of reserved places. */
  async #reserve(tenantId: string, { by, atMost, nowMs }: Parameters<Usage["reserve"]>[1]): Promise<number> {
    const reserve = async (count: number) => {
      const reserved = await this.#ports.usage.reserve(tenantId, { by: count, atMost, nowMs });
      if (this.#seen.size >= maxTenants) this.#seen.clear();
      this.#seen.set(tenantId, reserved.open.total);
      return reserved;
    };
    const first = await reserve(by);
    if (first.done) {
      await this.#forgetOld(tenantId, first.open);
      return by;
    }
    const room = atMost - first.open.total;
    if (room > 0) return (await reserve(room)).done ? room : 0;
    return (await this.#auditSafely(tenantId, first.open)) && (await reserve(1)).done ? 1 : 0;
  }

  async #forgetOld(tenantId: string, open: OpenCount): Promise<void> {
    const oldest = hourOf(this.#ports.clock.now()) - longestHours;
    for (const hour of open.hours.keys()) if (hour < oldest) await this.#ports.usage.forget(tenantId, hour);
  }

  /** Audits the count. When the audit fails, the count stays unchanged. */
  #auditSafely(tenantId: string, open: OpenCount): Promise<boolean> {
    return this.#audit(tenantId, open).catch((error: unknown) => {
      this.#ports.log.error("could not compare the count of tasks in progress with the records", {
        tenant_id: tenantId,
        error: String(error),
      });
      return false;
    });
  }

  /**
   * Corrects the count from the records. Returns false when it did not compare them. Soon after a reservation it does
   * not, as the index may not have the new records yet.
   */
  async #audit(tenantId: string, open: OpenCount): Promise<boolean> {
    const { usage, clock } = this.#ports;
    const now = clock.now();
    if (now - open.reservedAtMs < quietMs) return false;
    if (!(await usage.beginAudit(tenantId, now, now - auditEveryMs))) return false;
    let pages = maxAuditPages;
    for (const [hour, counted] of open.hours) {
      if (counted === 0) continue;
      const found = await this.#countOpen(tenantId, hour, pages);
      pages -= found.pages;
      if (found.open === undefined) break;
      if (found.open !== counted) await usage.correct(tenantId, hour, counted, found.open);
    }
    return true;
  }

  /**
   * Counts the tasks of an hour that are in progress. `open` is absent when they are on more than `maxPages` pages.
   */
  async #countOpen(tenantId: string, hour: number, maxPages: number): Promise<{ open?: number; pages: number }> {
    const span = { createdAfter: iso(startOfHour(hour)), createdBefore: iso(startOfHour(hour + 1)) };
    let open = 0;
    let from: string | undefined;
    for (let pages = 1; pages <= maxPages; pages++) {
      const page = await this.#ports.records.list({ tenantId, ...span, limit: 100, from });
      open += page.items.filter((record) => isInProgress(record) && isKept(record, this.#ports.clock.now())).length;
      from = page.next;
      if (from === undefined) return { open, pages };
    }
    return { pages: maxPages };
  }
}

/** True when the task counts among its tenant's tasks in progress. */
const isInProgress = (record: TaskRecord): boolean => record.counted === true && !isTerminal(record.status);

/** Subtracts one ended task from its tenant's count. */
export type Release = (tenantId: string, hour: number) => Promise<void> | void;

/**
 * Wraps `records` and calls `release` when a counted task ends: each end of a task is a change of its record, so this
 * place sees them all. A new round of a failed task is not counted, as operators start it.
 */
export function countingRecords(records: Records, release: Release): Records {
  return {
    create: (...call) => records.create(...call),
    get: (...call) => records.get(...call),
    getMany: (...call) => records.getMany(...call),
    list: (...call) => records.list(...call),
    listDeadLetters: (...call) => records.listDeadLetters(...call),
    savePart: (...call) => records.savePart(...call),
    loadPart: (...call) => records.loadPart(...call),
    keepPart: (...call) => records.keepPart(...call),
    change: async (key: TaskKey, given: Change): Promise<Changed> => {
      const changed = await records.change(key, given.add?.round === undefined ? given : withoutCounting(given));
      if (changed.done && isEnd(given) && changed.record.counted === true) {
        await release(key.tenant_id, hourOf(Date.parse(changed.record.created_at)));
      }
      return changed;
    },
  };
}

const isEnd = (change: Change): boolean => change.set?.status !== undefined && isTerminal(change.set.status);

const withoutCounting = (change: Change): Change => ({ ...change, remove: [...(change.remove ?? []), "counted"] });

/** Releases of one tenant are collected for this time, in milliseconds. */
const collectMs = 200;

/** Collects releases for a short time, so that a worker's batch of messages costs one write per tenant. */
export class Releases {
  readonly #ports: { clock: Clock; usage: Usage };
  readonly #waiting = new Map<string, { tenantId: string; hour: number; by: number }>();
  #timer: (() => void) | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(ports: { clock: Clock; usage: Usage }) {
    this.#ports = ports;
  }

  add(tenantId: string, hour: number): void {
    this.#collect(tenantId, hour, 1);
    this.#timer ??= this.#ports.clock.after(collectMs, () => void this.flush());
  }

  /**
   * Writes the collected releases. Releases whose write fails wait for the next flush. Resolves when no write is under
   * way, also none of an earlier flush: after it, Lambda can freeze the process.
   */
  async flush(): Promise<void> {
    this.#timer?.();
    this.#timer = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    const writes = waiting.map(({ tenantId, hour, by }) =>
      this.#ports.usage.release(tenantId, hour, by).catch(() => this.#collect(tenantId, hour, by)),
    );
    this.#writing = Promise.all([this.#writing, ...writes]);
    await this.#writing;
  }

  #collect(tenantId: string, hour: number, by: number): void {
    const key = `${hour}#${tenantId}`;
    const earlier = this.#waiting.get(key)?.by ?? 0;
    this.#waiting.set(key, { tenantId, hour, by: earlier + by });
  }
}
