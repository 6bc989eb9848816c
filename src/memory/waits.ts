import { intervalMs, permitsOfTenant, type Release, type Waits } from "../core/control/task-ends.ts";

/** Places of waiting requests in memory. Nothing deletes old intervals. */
export class MemoryWaits implements Waits {
  readonly #permits: number;
  /** Numbers of taken permits, by interval, of all tenants (`""`) and of each. */
  readonly #taken = new Map<number, Map<string, number>>();

  constructor(permits: number) {
    this.#permits = permits;
  }

  /** Number of permits that are taken. */
  get taken(): number {
    return [...this.#taken.values()].reduce((sum, counts) => sum + (counts.get("") ?? 0), 0);
  }

  async admit(tenantId: string, nowMs: number): Promise<Release | undefined> {
    const interval = Math.floor(nowMs / intervalMs);
    const countOf = (name: string) =>
      (this.#taken.get(interval - 1)?.get(name) ?? 0) + (this.#taken.get(interval)?.get(name) ?? 0);
    if (countOf("") >= this.#permits || countOf(tenantId) >= permitsOfTenant(this.#permits)) return undefined;
    this.#add(interval, tenantId, 1);
    return async () => this.#add(interval, tenantId, -1);
  }

  #add(interval: number, tenantId: string, by: number): void {
    const counts = this.#taken.get(interval) ?? new Map<string, number>();
    this.#taken.set(interval, counts);
    for (const name of ["", tenantId]) counts.set(name, (counts.get(name) ?? 0) + by);
  }
}
