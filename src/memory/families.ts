import type { FamilyNode, Sealing } from "../core/model/family-node.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Families, FamilyPage } from "../core/ports/family.ts";
import { copy } from "./copy.ts";

const nameOf = ({ tenant_id, task_id }: TaskKey, node: string) => JSON.stringify([tenant_id, task_id, node]);

/** Families in memory, for tests, simulations and the test kit. */
export class MemoryFamilies implements Families {
  readonly #nodes = new Map<string, FamilyNode>();
  readonly #sealedBy = new Map<string, number>();
  readonly #pages = new Map<string, FamilyPage>();

  async end(parent: TaskKey, node: string, place: number, text: string): Promise<FamilyNode> {
    const before = this.#nodes.get(nameOf(parent, node)) ?? { ended: {} };
    return this.#save(parent, node, { ...before, ended: { ...before.ended, [place]: text } });
  }

  async seal(
    parent: TaskKey,
    node: string,
    { members, up, below }: Sealing,
    attempt: number,
  ): Promise<FamilyNode | undefined> {
    if ((this.#sealedBy.get(nameOf(parent, node)) ?? 0) > attempt) return undefined;
    this.#sealedBy.set(nameOf(parent, node), attempt);
    const { ended = {} } = this.#nodes.get(nameOf(parent, node)) ?? {};
    return this.#save(parent, node, {
      ended,
      members,
      ...(up === undefined ? {} : { up }),
      ...(below === undefined ? {} : { below }),
    });
  }

  async read(parent: TaskKey, node: string): Promise<FamilyNode | undefined> {
    return copy(this.#nodes.get(nameOf(parent, node)));
  }

  async savePage(parent: TaskKey, leaf: string, page: FamilyPage): Promise<void> {
    this.#pages.set(nameOf(parent, leaf), copy(page));
  }

  async loadPage(parent: TaskKey, leaf: string): Promise<FamilyPage | undefined> {
    return copy(this.#pages.get(nameOf(parent, leaf)));
  }

  #save(parent: TaskKey, node: string, saved: FamilyNode): FamilyNode {
    this.#nodes.set(nameOf(parent, node), copy(saved));
    return copy(saved);
  }
}
