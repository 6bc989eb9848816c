import type { Holder, Seen, Submitted, UniqueKey, UniqueKeys } from "../core/ports/unique.ts";
import { copy } from "./copy.ts";

interface Stored extends Holder {
  key: UniqueKey;
  purgeAt: number;
}

const nameOf = ({ tenant_id, type, unique_key }: UniqueKey) => JSON.stringify([tenant_id, type, unique_key]);

const isOf = (stored: Stored | undefined, task: Submitted): stored is Stored =>
  stored?.task_id === task.task_id && stored.created_at === task.created_at;

const isSame = (stored: Stored | undefined, seen: Seen | undefined): boolean =>
  seen === undefined ? stored === undefined : isOf(stored, seen) && stored.replaced === seen.replaced;

/** Keys of unique submits in memory, for tests, simulations and the test kit. */
export class MemoryUniqueKeys implements UniqueKeys {
  readonly #holders = new Map<string, Stored>();

  async holder(key: UniqueKey): Promise<Holder | undefined> {
    const stored = this.#holders.get(nameOf(key));
    if (stored === undefined) return undefined;
    const { purgeAt: _, key: __, ...holder } = stored;
    return copy(holder);
  }

  async take(key: UniqueKey, holder: Holder, seen: Seen | undefined, purgeAt: number): Promise<boolean> {
    const stored = this.#holders.get(nameOf(key));
    const isMine = isSame(stored, holder);
    if (!isMine && !isSame(stored, seen)) return false;
    if (isMine && stored !== undefined && stored.purgeAt > purgeAt) return true;
    this.#holders.set(nameOf(key), { ...copy(holder), key, purgeAt });
    return true;
  }

  async sent(key: UniqueKey, holder: Submitted): Promise<void> {
    const stored = this.#holders.get(nameOf(key));
    if (isOf(stored, holder)) delete stored.unsent;
  }

  async keep(key: UniqueKey, holder: Submitted, purgeAt: number): Promise<void> {
    const stored = this.#holders.get(nameOf(key));
    if (isOf(stored, holder)) stored.purgeAt = Math.max(stored.purgeAt, purgeAt);
  }

  /** Epoch seconds until which a key is stored, for the checks of tests. */
  purgeAtOf(key: UniqueKey): number | undefined {
    return this.#holders.get(nameOf(key))?.purgeAt;
  }

  /** The holder of a key as it is stored, for the laws of a simulation. */
  peek(key: UniqueKey): Readonly<Holder> | undefined {
    return this.#holders.get(nameOf(key));
  }

  /** Deletes the keys whose time is over, as the table does some time later. Returns their last holders. */
  purge(nowSeconds: number): { key: UniqueKey; holder: Holder }[] {
    const gone = [...this.#holders].filter(([, { purgeAt }]) => purgeAt <= nowSeconds);
    for (const [name] of gone) this.#holders.delete(name);
    return gone.map(([, stored]) => ({ key: stored.key, holder: stored }));
  }
}
