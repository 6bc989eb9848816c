import { hourOf, type OpenCount, type Spent, type Usage } from "../core/limits/ports.ts";

interface Open {
  hours: Map<number, number>;
  reservedAtMs: number;
  auditedAtMs: number;
}

/** Usage of tenants in memory. */
export class MemoryUsage implements Usage {
  /** Number of conditional writes, with those whose condition did not hold. */
  writes = 0;
  readonly #spent = new Map<string, number>();
  readonly #open = new Map<string, Open>();

  async spend(tenantId: string, { nowMs, costMs, atMostMs }: Parameters<Usage["spend"]>[1]): Promise<Spent> {
    this.writes += 1;
    const spentUntilMs = this.#spent.get(tenantId) ?? 0;
    const next = Math.max(nowMs, spentUntilMs) + costMs;
    if (next > atMostMs) return { done: false, spentUntilMs };
    this.#spent.set(tenantId, next);
    return { done: true, spentUntilMs: next };
  }

  async reserve(tenantId: string, { by, atMost, nowMs }: Parameters<Usage["reserve"]>[1]) {
    this.writes += 1;
    const open = this.#openOf(tenantId);
    if (totalOf(open) + by > atMost) return { done: false, open: countOf(open) };
    const hour = hourOf(nowMs);
    open.hours.set(hour, (open.hours.get(hour) ?? 0) + by);
    open.reservedAtMs = nowMs;
    return { done: true, open: countOf(open) };
  }

  async unreserve(tenantId: string, { by, reservedAtMs }: { by: number; reservedAtMs: number }): Promise<void> {
    if (this.#openOf(tenantId).auditedAtMs < reservedAtMs) return this.release(tenantId, hourOf(reservedAtMs), by);
    this.writes += 1;
  }

  async release(tenantId: string, hour: number, by: number): Promise<void> {
    this.writes += 1;
    const open = this.#openOf(tenantId);
    const counted = open.hours.get(hour) ?? 0;
    if (counted >= by) open.hours.set(hour, counted - by);
  }

  async forget(tenantId: string, hour: number): Promise<void> {
    this.writes += 1;
    this.#openOf(tenantId).hours.delete(hour);
  }

  async beginAudit(tenantId: string, nowMs: number, unlessAfterMs: number): Promise<boolean> {
    this.writes += 1;
    const open = this.#openOf(tenantId);
    if (open.auditedAtMs > unlessAfterMs) return false;
    open.auditedAtMs = nowMs;
    return true;
  }

  async correct(tenantId: string, hour: number, from: number, to: number): Promise<void> {
    this.writes += 1;
    const open = this.#openOf(tenantId);
    if (open.hours.get(hour) === from) open.hours.set(hour, to);
  }

  /** Number of a tenant's tasks that count as in progress. */
  openOf(tenantId: string): number {
    return totalOf(this.#openOf(tenantId));
  }

  #openOf(tenantId: string): Open {
    let open = this.#open.get(tenantId);
    if (open === undefined) {
      open = { hours: new Map(), reservedAtMs: 0, auditedAtMs: 0 };
      this.#open.set(tenantId, open);
    }
    return open;
  }
}

const totalOf = (open: Open): number => [...open.hours.values()].reduce((sum, count) => sum + count, 0);

const countOf = (open: Open): OpenCount => ({
  total: totalOf(open),
  hours: new Map(open.hours),
  reservedAtMs: open.reservedAtMs,
});
