import type { NewState, StepEntry, StepOwner, StoredEntry } from "../../src/core/ports/steps.ts";
import { copy } from "../../src/memory/copy.ts";

/** A stored entry and the task that it belongs to. */
export interface OwnedEntry {
  owner: StepOwner;
  entry: StoredEntry;
}

interface Owned {
  owner: StepOwner;
  entries: Map<string, StoredEntry>;
}

export const entryKeyOf = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string => `${kind}:${name}`;

/** The entries of tasks as the table has them: each method is one request, and the table deletes what is past its end. */
export class Entries {
  readonly #byOwner = new Map<string, Owned>();

  load(owner: StepOwner, kind?: StepEntry["kind"]): StoredEntry[] {
    return copy([...this.#of(owner).values()].filter((entry) => kind === undefined || entry.kind === kind));
  }

  /** Stores the entry unless there is one. Returns the one that is stored now, and true when it is the given one. */
  add(owner: StepOwner, entry: StepEntry, purgeAt: number): { stored: StoredEntry; added: boolean } {
    const entries = this.#of(owner);
    const there = entries.get(entryKeyOf(entry));
    if (there === undefined) entries.set(entryKeyOf(entry), { ...copy(entry), purge_at: purgeAt });
    return { stored: copy(there ?? { ...entry, purge_at: purgeAt }), added: there === undefined };
  }

  saveState(owner: StepOwner, state: NewState, purgeAt: number): boolean {
    const entry: StoredEntry = { kind: "state", name: "", ...state, purge_at: purgeAt };
    const { attempt = 0, order = 0 } = this.#of(owner).get(entryKeyOf(entry)) ?? {};
    if (attempt > state.attempt || (attempt === state.attempt && order > state.order)) return false;
    this.#of(owner).set(entryKeyOf(entry), entry);
    return true;
  }

  keep(owner: StepOwner, entries: readonly Pick<StepEntry, "kind" | "name">[], purgeAt: number): void {
    for (const entry of entries) {
      const stored = this.#of(owner).get(entryKeyOf(entry));
      if (stored !== undefined) stored.purge_at = Math.max(stored.purge_at, purgeAt);
    }
  }

  /** Deletes what is past its end, and returns it. */
  purge(nowMs: number): OwnedEntry[] {
    const gone: OwnedEntry[] = [];
    for (const { owner, entries } of this.#byOwner.values()) {
      for (const [key, entry] of entries) {
        if (entry.purge_at * 1000 > nowMs) continue;
        entries.delete(key);
        gone.push({ owner, entry });
      }
    }
    return gone;
  }

  #of({ tenant_id, task_id, created_at }: StepOwner): Map<string, StoredEntry> {
    const id = JSON.stringify([tenant_id, task_id, created_at]);
    const owned = this.#byOwner.get(id) ?? { owner: { tenant_id, task_id, created_at }, entries: new Map() };
    this.#byOwner.set(id, owned);
    return owned.entries;
  }
}
