import type { TaskKey } from "../core/record.ts";
import type { Holder, Joined, Submitted, UniqueKey, UniqueKeys } from "../core/unique/ports.ts";

const nameOf = ({ tenant_id, type, unique_key }: UniqueKey) => JSON.stringify([tenant_id, type, unique_key]);
const callOf = ({ tenant_id, task_id }: TaskKey) => JSON.stringify([tenant_id, task_id]);

const isSame = (a: Submitted | undefined, b: Submitted | undefined): boolean =>
  a?.task_id === b?.task_id && a?.created_at === b?.created_at;

/** Keys of unique submits in memory, for tests, simulations and the test kit. Nothing deletes old ones. */
export class MemoryUniqueKeys implements UniqueKeys {
  readonly #holders = new Map<string, Holder & { purgeAt: number }>();
  readonly #joined = new Map<string, Joined>();

  async holder(key: UniqueKey): Promise<Holder | undefined> {
    const stored = this.#holders.get(nameOf(key));
    if (stored === undefined) return undefined;
    const { purgeAt: _, ...holder } = stored;
    return structuredClone(holder);
  }

  async take(key: UniqueKey, holder: Holder, seen: Submitted | undefined, purgeAt: number): Promise<boolean> {
    const present = this.#holders.get(nameOf(key));
    if (!isSame(present, seen) && !isSame(present, holder)) return false;
    this.#holders.set(nameOf(key), { ...structuredClone(holder), purgeAt });
    return true;
  }

  async sent(key: UniqueKey, holder: Submitted): Promise<void> {
    const present = this.#holders.get(nameOf(key));
    if (present !== undefined && isSame(present, holder)) delete present.unsent;
  }

  async keep(key: UniqueKey, holder: Submitted, purgeAt: number): Promise<void> {
    const present = this.#holders.get(nameOf(key));
    if (present !== undefined && isSame(present, holder)) present.purgeAt = Math.max(present.purgeAt, purgeAt);
  }

  /** Epoch seconds until which a key is stored, for the checks of tests. */
  purgeAtOf(key: UniqueKey): number | undefined {
    return this.#holders.get(nameOf(key))?.purgeAt;
  }

  async joined(call: TaskKey): Promise<Joined | undefined> {
    return structuredClone(this.#joined.get(callOf(call)));
  }

  async join(call: TaskKey, joined: Joined, seen: Joined | undefined, _purgeAt: number): Promise<boolean> {
    const present = this.#joined.get(callOf(call));
    if (!isSame(present, seen) || present?.replaced !== seen?.replaced) return false;
    this.#joined.set(callOf(call), { ...joined });
    return true;
  }
}
