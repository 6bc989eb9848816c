import type { Counters, FirePayload, Metrics, OnceState, OnceStore, OneOffs } from "../core/ports/tasks.ts";

/** One-off schedules in memory. The caller fires them. */
export class MemoryOneOffs implements OneOffs {
  readonly #byName = new Map<string, { at: string; payload: FirePayload }>();

  async create({ name, at, payload }: { name: string; at: string; payload: FirePayload }): Promise<void> {
    if (!this.#byName.has(name)) this.#byName.set(name, { at, payload });
  }

  async delete(name: string): Promise<void> {
    this.#byName.delete(name);
  }

  /** All schedules, by name. */
  all(): ReadonlyMap<string, { at: string; payload: FirePayload }> {
    return this.#byName;
  }

  /** Removes the due schedules, and returns their payloads. */
  takeDue(nowIso: string): FirePayload[] {
    const due = [...this.#byName].filter(([, oneOff]) => oneOff.at <= nowIso);
    for (const [name] of due) this.#byName.delete(name);
    return due.map(([, oneOff]) => oneOff.payload);
  }
}

interface OnceEntry {
  owner: string;
  untilIso: string;
  done: boolean;
  /** JSON text of the outcome, as the table has it. */
  text: string | undefined;
  fault?: string | undefined;
  purgeAt: number;
}

/** Results of `task.once` in memory. */
export class MemoryOnceStore implements OnceStore {
  readonly #entries = new Map<string, OnceEntry>();

  async begin(once: Parameters<OnceStore["begin"]>[0]): Promise<OnceState> {
    const { tenantId, key, owner, nowIso, untilIso, purgeAt } = once;
    const id = JSON.stringify([tenantId, key]);
    const stored = this.#entries.get(id);
    const entry = stored !== undefined && stored.purgeAt * 1000 > Date.parse(nowIso) ? stored : undefined;
    if (entry?.done) {
      const value = entry.text === undefined ? undefined : JSON.parse(entry.text);
      const by = { owner: entry.owner, purgeAt: entry.purgeAt };
      return { state: "done", value, ...by, ...(entry.fault !== undefined && { fault: entry.fault }) };
    }
    if (entry !== undefined && entry.owner !== owner && entry.untilIso > nowIso) return { state: "busy" };
    this.#entries.set(id, { owner, untilIso, done: false, text: undefined, purgeAt });
    return { state: "mine" };
  }

  async finish(once: Parameters<OnceStore["finish"]>[0]): Promise<boolean> {
    const { tenantId, key, owner, value, fault, purgeAt } = once;
    const entry = this.#entries.get(JSON.stringify([tenantId, key]));
    if (entry === undefined || entry.owner !== owner || entry.done) return false;
    entry.done = true;
    entry.text = JSON.stringify(value);
    entry.fault = fault;
    entry.purgeAt = purgeAt;
    return true;
  }

  async release({ tenantId, key, owner }: Parameters<OnceStore["release"]>[0]): Promise<void> {
    const id = JSON.stringify([tenantId, key]);
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.owner === owner && !entry.done) this.#entries.delete(id);
  }
}

/** Counters in memory. */
export class MemoryCounters implements Counters {
  readonly #keys = new Map<string, Set<string>>();

  async add(tenantId: string, name: string, idempotencyKey: string): Promise<number> {
    const id = JSON.stringify([tenantId, name]);
    const keys = this.#keys.get(id) ?? new Set();
    this.#keys.set(id, keys.add(idempotencyKey));
    return keys.size;
  }
}

/** Metrics that keep nothing. */
export const noMetrics: Metrics = { add: () => {} };
