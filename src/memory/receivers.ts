import type { Page } from "../core/ports/tasks.ts";
import {
  type LoggedDelivery,
  type LogQuery,
  logKey,
  type Receiver,
  type ReceiverKey,
  type Receivers,
} from "../core/ports/webhooks.ts";
import { copy } from "./copy.ts";

const nameOf = ({ tenant_id, webhook_id }: ReceiverKey): string => JSON.stringify([tenant_id, webhook_id]);

/** Receivers of webhooks in memory. Nothing deletes their logs. */
export class MemoryReceivers implements Receivers {
  readonly #receivers = new Map<string, Receiver>();
  readonly #logs = new Map<string, Map<string, LoggedDelivery>>();

  async get(key: ReceiverKey): Promise<Receiver | undefined> {
    return copy(this.#receivers.get(nameOf(key)));
  }

  async list(tenantId: string): Promise<Receiver[]> {
    const own = [...this.#receivers.values()].filter(({ tenant_id }) => tenant_id === tenantId);
    return copy(own).sort((a, b) => a.created_at.localeCompare(b.created_at));
  }

  async put(receiver: Receiver, revision: number): Promise<boolean> {
    if ((this.#receivers.get(nameOf(receiver))?.revision ?? 0) !== revision) return false;
    this.#receivers.set(nameOf(receiver), copy(receiver));
    return true;
  }

  async delete(key: ReceiverKey): Promise<void> {
    this.#receivers.delete(nameOf(key));
  }

  async log(key: ReceiverKey, delivery: LoggedDelivery): Promise<void> {
    const log = this.#logs.get(nameOf(key)) ?? new Map();
    this.#logs.set(nameOf(key), log.set(logKey(delivery), copy(delivery)));
  }

  async logged(
    key: ReceiverKey,
    { limit, from = "~", after = "", before = "~" }: LogQuery,
  ): Promise<Page<LoggedDelivery>> {
    const all = [...(this.#logs.get(nameOf(key)) ?? [])]
      .filter(([name, { at }]) => name < from && at >= after && at < before)
      .sort(([a], [b]) => (a < b ? 1 : -1));
    const items = all.slice(0, limit);
    const last = items.at(-1);
    return { items: items.map(([, one]) => copy(one)), next: all.length <= limit ? undefined : last?.[0] };
  }
}
