import type { TaskKey } from "../core/model/record.ts";
import type { Page } from "../core/ports/tasks.ts";
import { type Deliveries, type Delivery, type FailedQuery, failedKey, type SlowHosts } from "../core/ports/webhooks.ts";
import { copy } from "./copy.ts";

/** Deliveries of webhooks in memory. Nothing deletes them. */
export class MemoryDeliveries implements Deliveries {
  readonly #deliveries = new Map<string, Delivery>();

  async get({ tenant_id, task_id }: TaskKey, id: string): Promise<Delivery | undefined> {
    return copy(this.#deliveries.get(JSON.stringify([tenant_id, task_id, id])));
  }

  getMany(keys: readonly (TaskKey & { id: string })[]): Promise<(Delivery | undefined)[]> {
    return Promise.all(keys.map((key) => this.get(key, key.id)));
  }

  async ofTask({ tenant_id, task_id }: TaskKey): Promise<Delivery[]> {
    return this.all()
      .filter((one) => one.tenant_id === tenant_id && one.task_id === task_id)
      .sort((a, b) => a.created_at.localeCompare(b.created_at));
  }

  async put(delivery: Delivery, expectedTries: number): Promise<boolean> {
    const name = JSON.stringify([delivery.tenant_id, delivery.task_id, delivery.id]);
    if ((this.#deliveries.get(name)?.tries.length ?? -1) !== expectedTries) return false;
    this.#deliveries.set(name, copy(delivery));
    return true;
  }

  async listFailed({ tenantId, limit, from = "~" }: FailedQuery): Promise<Page<Delivery>> {
    const failed = this.all()
      .filter((one) => one.tenant_id === tenantId && one.state === "failed" && failedKey(one) < from)
      .sort((a, b) => (failedKey(a) < failedKey(b) ? 1 : -1));
    const items = failed.slice(0, limit);
    const last = items.at(-1);
    return { items, next: last === undefined || failed.length <= limit ? undefined : failedKey(last) };
  }

  all(): Delivery[] {
    return [...this.#deliveries.values()].map((one) => copy(one));
  }
}

/** Slow hosts in memory. */
export class MemorySlowHosts implements SlowHosts {
  readonly #until = new Map<string, number>();
  readonly #taken = new Map<string, number>();

  async areSlow(tenantId: string, hosts: readonly string[], nowMs: number): Promise<boolean[]> {
    return hosts.map((host) => (this.#until.get(`${tenantId}/${host}`) ?? 0) > nowMs);
  }

  async markSlow(tenantId: string, host: string, untilMs: number): Promise<void> {
    this.#until.set(`${tenantId}/${host}`, untilMs);
  }

  async acquirePermit(tenantId: string, host: string, nowMs: number, max: number): Promise<boolean> {
    const name = `${tenantId}/${host}/${Math.floor(nowMs / 10_000)}`;
    const taken = this.#taken.get(name) ?? 0;
    if (taken >= max) return false;
    this.#taken.set(name, taken + 1);
    return true;
  }

  async releasePermit(tenantId: string, host: string, takenMs: number): Promise<void> {
    const name = `${tenantId}/${host}/${Math.floor(takenMs / 10_000)}`;
    this.#taken.set(name, Math.max(0, (this.#taken.get(name) ?? 0) - 1));
  }
}
