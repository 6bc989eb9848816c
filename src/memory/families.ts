import type { FamilyNode, Sealing } from "../core/model/family-node.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Families, FamilyKey, FamilyPage, StoredPage } from "../core/ports/family.ts";
import { copy } from "./copy.ts";

const nameOf = ({ tenant_id, task_id }: TaskKey, node: string) => JSON.stringify([tenant_id, task_id, node]);

/** Families in memory, for tests, simulations and the test kit. */
export class MemoryFamilies implements Families {
  readonly #nodes = new Map<string, FamilyNode>();
  readonly #sealedBy = new Map<string, number>();
  readonly #pages = new Map<string, StoredPage[]>();

  async end(parent: TaskKey, node: string, place: number, text: string): Promise<FamilyNode> {
    const before = this.#nodes.get(nameOf(parent, node)) ?? { ended: {} };
    if ((before.ended[place] ?? "") > text) return copy(before);
    return this.#save(parent, node, { ...before, ended: { ...before.ended, [place]: text } });
  }

  async seal(parent: TaskKey, node: string, sealing: Sealing, attempt: number): Promise<FamilyNode | undefined> {
    if ((this.#sealedBy.get(nameOf(parent, node)) ?? 0) > attempt) return undefined;
    this.#sealedBy.set(nameOf(parent, node), attempt);
    const { ended = {} } = this.#nodes.get(nameOf(parent, node)) ?? {};
    const given = Object.entries(sealing).filter(([, value]) => value !== undefined);
    return this.#save(parent, node, { ended, ...Object.fromEntries(given) });
  }

  async read(parent: TaskKey, node: string): Promise<FamilyNode | undefined> {
    return copy(this.#nodes.get(nameOf(parent, node)));
  }

  async pages(family: FamilyKey, from: number, max = 200): Promise<StoredPage[]> {
    const pages = this.#pages.get(nameOf(family, family.life)) ?? [];
    return copy(pages.filter(({ number }) => number >= from).slice(0, max));
  }

  async savePage(
    family: FamilyKey,
    number: number,
    page: FamilyPage,
    before: number,
    purge_at: number,
  ): Promise<boolean> {
    const name = nameOf(family, family.life);
    const pages = this.#pages.get(name) ?? [];
    const stored = pages.find((one) => one.number === number);
    if ((stored?.keys.length ?? 0) !== before || (stored?.attempt ?? 0) > page.attempt) return false;
    const { created = 0, round = 0 } = stored ?? {};
    const next = copy({ ...page, number, created, round, purge_at });
    this.#pages.set(
      name,
      [...pages.filter((one) => one !== stored), next].sort((a, b) => a.number - b.number),
    );
    return true;
  }

  async notePage(family: FamilyKey, number: number, created: number, round: number): Promise<void> {
    const stored = this.#page(family, number);
    if (stored === undefined || stored.round > round || (stored.round === round && stored.created >= created)) return;
    Object.assign(stored, { created, round });
  }

  async keep(family: FamilyKey, number: number, _leaf: string, purgeAt: number): Promise<void> {
    const stored = this.#page(family, number);
    if (stored !== undefined) stored.purge_at = Math.max(stored.purge_at, purgeAt);
  }

  #page(family: FamilyKey, number: number): StoredPage | undefined {
    return this.#pages.get(nameOf(family, family.life))?.find((one) => one.number === number);
  }

  #save(parent: TaskKey, node: string, saved: FamilyNode): FamilyNode {
    this.#nodes.set(nameOf(parent, node), copy(saved));
    return copy(saved);
  }
}
