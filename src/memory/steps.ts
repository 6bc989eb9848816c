import type { NewState, StepEntry, StepOwner, StepStore, StoredEntry } from "../core/ports/steps.ts";
import { copy } from "./copy.ts";

/** Entries of tasks in memory, for tests, simulations and the test kit. */
export class MemoryStepStore implements StepStore {
  readonly #byOwner = new Map<string, Map<string, StoredEntry>>();

  async load(owner: StepOwner, kind?: StepEntry["kind"]): Promise<StoredEntry[]> {
    return copy([...this.#of(owner).values()].filter((entry) => kind === undefined || entry.kind === kind));
  }

  async add(owner: StepOwner, entry: StepEntry, purgeAt: number): Promise<StoredEntry> {
    const entries = this.#of(owner);
    const there = entries.get(nameOf(entry));
    if (there === undefined) entries.set(nameOf(entry), { ...entry, purge_at: purgeAt });
    return copy(there ?? { ...entry, purge_at: purgeAt });
  }

  async saveState(owner: StepOwner, state: NewState, purgeAt: number): Promise<boolean> {
    const entry: StoredEntry = { kind: "state", name: "", ...state, purge_at: purgeAt };
    const { attempt = 0, order = 0 } = this.#of(owner).get(nameOf(entry)) ?? {};
    if (attempt > state.attempt || (attempt === state.attempt && order > state.order)) return false;
    this.#of(owner).set(nameOf(entry), entry);
    return true;
  }

  async keep(owner: StepOwner, entries: readonly Pick<StepEntry, "kind" | "name">[], purgeAt: number): Promise<void> {
    for (const entry of entries) {
      const stored = this.#of(owner).get(nameOf(entry));
      if (stored !== undefined) stored.purge_at = Math.max(stored.purge_at, purgeAt);
    }
  }

  #of({ tenant_id, task_id, created_at }: StepOwner): Map<string, StoredEntry> {
    const id = JSON.stringify([tenant_id, task_id, created_at]);
    const entries = this.#byOwner.get(id) ?? new Map<string, StoredEntry>();
    this.#byOwner.set(id, entries);
    return entries;
  }
}

const nameOf = ({ kind, name }: Pick<StepEntry, "kind" | "name">): string => `${kind}:${name}`;
