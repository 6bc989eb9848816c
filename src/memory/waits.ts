import { intervalMs, placesOfTenant, type Release, type Waits } from "../core/control/task-ends.ts";

/** Places of waiting requests in memory. Nothing deletes old intervals. */
export class MemoryWaits implements Waits {
  readonly #places: number;
  /** Numbers of taken places, by interval, of all tenants (`""`) and of each. */
  readonly #taken = new Map<number, Map<string, number>>();

  constructor(places: number) {
    this.#places = places;
  }

  /** Number of places that are taken. */
  get taken(): number {
    return [...this.#taken.values()].reduce((sum, counts) => sum + (counts.get("") ?? 0), 0);
  }

  async admit(tenantId: string, nowMs: number): Promise<Release | undefined> {
    const interval = Math.floor(nowMs / intervalMs);
    const countOf = (name: string) =>
      (this.#taken.get(interval - 1)?.get(name) ?? 0) + (this.#taken.get(interval)?.get(name) ?? 0);
    if (countOf("") >= this.#places || countOf(tenantId) >= placesOfTenant(this.#places)) return undefined;
    this.#add(interval, tenantId, 1);
    return async () => this.#add(interval, tenantId, -1);
  }

  #add(interval: number, tenantId: string, by: number): void {
    const counts = this.#taken.get(interval) ?? new Map<string, number>();
    this.#taken.set(interval, counts);
    for (const name of ["", tenantId]) counts.set(name, (counts.get(name) ?? 0) + by);
  }
}
