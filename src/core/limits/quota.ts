import type { Change, Changed } from "../change.ts";
import type { Clock, Log, Records } from "../ports.ts";
import { Problem } from "../problem.ts";
import { isKept, iso, type TaskKey, type TaskRecord } from "../record.ts";
import { isTerminal } from "../status.ts";
import { hourOf, startOfHour } from "./hours.ts";
import type { OpenCount, Usage } from "./ports.ts";
import { type Refill, TokenBatches } from "./token-batches.ts";

/** A task counts as in progress for so many hours at the most: what the count missed is forgotten by then. */
const longestHours = 24;

/** A count that refuses is compared with the records once it has stood still so long, and at most once a minute. */
const stillMs = 2_000;
const auditEveryMs = 60_000;

/** How many pages of a list an audit reads. */
const mostAuditPages = 40;

/** How much of the room that is left a process may take ahead: other processes cannot use it meanwhile. */
const shareAhead = 0.02;

/** How many tenants' counts a process remembers. */
const mostTenants = 10_000;

/** Seconds after which somebody who was refused may ask again. */
const retryAfterSeconds = 2;

export interface QuotaPorts {
  clock: Clock;
  log: Log;
  usage: Usage;
  records: Pick<Records, "list">;
}

/**
 * Bounds how many tasks of a tenant are in progress, over all processes. Submits add to a shared count, in chunks; whoever
 * ends a task takes it off (`countingRecords`). A release that was lost with its process leaves the count too high: when it
 * refuses, it is compared with the records and put right.
 */
export class Quota {
  readonly #ports: QuotaPorts;
  readonly #batches: TokenBatches;
  /** How many tasks of a tenant were in progress when this process last saw the count. */
  readonly #seen = new Map<string, number>();

  constructor(ports: QuotaPorts) {
    this.#ports = ports;
    this.#batches = new TokenBatches(ports.clock);
  }

  /** @throws Problem `quota_exceeded` */
  async take(tenantId: string, bound: number): Promise<void> {
    const room = bound - (this.#seen.get(tenantId) ?? 0);
    const most = Math.max(1, Math.floor(room * shareAhead));
    const againAtMs = await this.#batches.take(tenantId, most, this.#refill(tenantId, bound));
    if (againAtMs === undefined) return;
    throw new Problem("quota_exceeded", `This tenant may have ${bound} tasks in progress, and has them.`, {
      retryAfterSeconds,
    });
  }

  giveBack(tenantId: string): void {
    this.#batches.giveBack(tenantId);
  }

  #refill(tenantId: string, bound: number): Refill {
    return async ({ count, unused }) => {
      if (unused >= count) return { got: unused };
      const got = await this.#reserve(tenantId, bound, count - unused);
      if (got > 0 || unused > 0) return { got: got + unused };
      return { got: 0 };
    };
  }

  /** Reserves so many, or as many as there is room for. */
  async #reserve(tenantId: string, bound: number, by: number): Promise<number> {
    const { usage, clock } = this.#ports;
    const reserve = async (count: number) => {
      const reserved = await usage.reserve(tenantId, { by: count, atMost: bound, nowMs: clock.now() });
      if (this.#seen.size >= mostTenants) this.#seen.clear();
      this.#seen.set(tenantId, reserved.open.total);
      return reserved;
    };
    const first = await reserve(by);
    if (first.done) {
      await this.#forgetOld(tenantId, first.open);
      return by;
    }
    const room = bound - first.open.total;
    if (room > 0) return (await reserve(room)).done ? room : 0;
    return (await this.#auditSafely(tenantId, first.open)) && (await reserve(1)).done ? 1 : 0;
  }

  async #forgetOld(tenantId: string, open: OpenCount): Promise<void> {
    const oldest = hourOf(this.#ports.clock.now()) - longestHours;
    for (const hour of open.hours.keys()) if (hour < oldest) await this.#ports.usage.forget(tenantId, hour);
  }

  /** A count that cannot be compared now still is what it is. */
  #auditSafely(tenantId: string, open: OpenCount): Promise<boolean> {
    return this.#audit(tenantId, open).catch((error: unknown) => {
      this.#ports.log.error("tasks in progress could not be counted", { tenant_id: tenantId, error: String(error) });
      return false;
    });
  }

  /** Compares the count with the records; whether it was. Only while nothing is being reserved, whose records may not show yet. */
  async #audit(tenantId: string, open: OpenCount): Promise<boolean> {
    const { usage, clock } = this.#ports;
    const now = clock.now();
    if (now - open.reservedAtMs < stillMs) return false;
    if (!(await usage.beginAudit(tenantId, now, now - auditEveryMs))) return false;
    let pages = mostAuditPages;
    for (const [hour, counted] of open.hours) {
      if (counted === 0) continue;
      const found = await this.#countOpen(tenantId, hour, pages);
      pages -= found.pages;
      if (found.open === undefined) break;
      if (found.open !== counted) await usage.correct(tenantId, hour, counted, found.open);
    }
    return true;
  }

  /** How many counted tasks of an hour have not ended; undefined when there are too many to look at. */
  async #countOpen(tenantId: string, hour: number, mostPages: number): Promise<{ open?: number; pages: number }> {
    const span = { createdAfter: iso(startOfHour(hour)), createdBefore: iso(startOfHour(hour + 1)) };
    let open = 0;
    let from: string | undefined;
    for (let pages = 1; pages <= mostPages; pages++) {
      const page = await this.#ports.records.list({ tenantId, ...span, limit: 100, from });
      open += page.items.filter((record) => holdsPlace(record) && isKept(record, this.#ports.clock.now())).length;
      from = page.next;
      if (from === undefined) return { open, pages };
    }
    return { pages: mostPages };
  }
}

/** Whether a task holds a place in its tenant's quota. */
const holdsPlace = (record: TaskRecord): boolean => record.counted === true && !isTerminal(record.status);

/** Takes a task that has ended off its tenant's count. */
export type Release = (tenantId: string, hour: number) => Promise<void> | void;

/**
 * Records that tell when a counted task ends: the one place where that is noticed, whoever ends it. A new round of a failed
 * task is not counted again: it is an operator's doing.
 */
export function countingRecords(records: Records, release: Release): Records {
  return {
    create: (...call) => records.create(...call),
    get: (...call) => records.get(...call),
    list: (...call) => records.list(...call),
    listDeadLetters: (...call) => records.listDeadLetters(...call),
    savePart: (...call) => records.savePart(...call),
    loadPart: (...call) => records.loadPart(...call),
    change: async (key: TaskKey, given: Change): Promise<Changed> => {
      const changed = await records.change(key, given.add?.round === undefined ? given : uncounted(given));
      if (changed.done && ends(given) && changed.record.counted === true) {
        await release(key.tenant_id, hourOf(Date.parse(changed.record.created_at)));
      }
      return changed;
    },
  };
}

const ends = (change: Change): boolean => change.set?.status !== undefined && isTerminal(change.set.status);

const uncounted = (change: Change): Change => ({ ...change, remove: [...(change.remove ?? []), "counted"] });

/** How long a release waits for others of its tenant, in milliseconds. */
const collectMs = 200;

/** What is not counted any more, collected for a moment: a batch of a worker costs one write for each tenant. */
export class Releases {
  readonly #ports: { clock: Clock; usage: Usage };
  readonly #waiting = new Map<string, { tenantId: string; hour: number; by: number }>();
  #timer: (() => void) | undefined;

  constructor(ports: { clock: Clock; usage: Usage }) {
    this.#ports = ports;
  }

  add(tenantId: string, hour: number): void {
    const key = `${hour}#${tenantId}`;
    const waiting = this.#waiting.get(key) ?? { tenantId, hour, by: 0 };
    waiting.by += 1;
    this.#waiting.set(key, waiting);
    this.#timer ??= this.#ports.clock.after(collectMs, () => void this.flush());
  }

  /** Writes what has been collected. What cannot be written now is tried again with the next. */
  async flush(): Promise<void> {
    this.#timer?.();
    this.#timer = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { tenantId, hour, by } of waiting) {
      await this.#ports.usage.release(tenantId, hour, by).catch(() => {
        for (let count = 0; count < by; count++) this.add(tenantId, hour);
      });
    }
  }
}
