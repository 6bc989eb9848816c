import type { ListInput, ListKey, ListPage, ListPlace, Lists, PageRoom } from "../core/ports/unique.ts";
import { copy } from "./copy.ts";

interface StoredPage extends ListPage {
  purgeAt: number;
}

const nameOf = ({ tenant_id, task_id, created_at }: ListKey) => JSON.stringify([tenant_id, task_id, created_at]);

/** Lists of collected inputs in memory, for tests, simulations and the test kit. */
export class MemoryLists implements Lists {
  readonly #lists = new Map<string, StoredPage[]>();

  async last(list: ListKey): Promise<ListPage | undefined> {
    return copied(this.#pages(list).at(-1));
  }

  async page(list: ListKey, number: number): Promise<ListPage | undefined> {
    return copied(this.#pages(list).find((page) => page.number === number));
  }

  async all(list: ListKey): Promise<ListPage[]> {
    return this.#pages(list).map(pageOf);
  }

  async add(
    list: ListKey,
    place: ListPlace,
    inputs: readonly [ListInput, ...ListInput[]],
    room: PageRoom,
    purgeAt: number,
  ): Promise<ListPage> {
    const page = this.#pageAt(list, place, purgeAt);
    const has = page.ids.includes(inputs[0].id);
    if (!has && !page.closed && page.bytes < room.bytes && page.ids.length + inputs.length <= room.inputs) {
      for (const { id, text } of inputs) {
        page.ids.push(id);
        page.inputs.push(text);
        page.bytes += Buffer.byteLength(text);
      }
    }
    return pageOf(page);
  }

  async close(list: ListKey, place: ListPlace, bytes: number, purgeAt: number): Promise<ListPage> {
    const page = this.#pageAt(list, place, purgeAt);
    if (page.bytes < bytes) page.closed = true;
    return pageOf(page);
  }

  async keep(list: ListKey, purgeAt: number): Promise<void> {
    for (const page of this.#pages(list)) page.purgeAt = Math.max(page.purgeAt, purgeAt);
  }

  /** Deletes the pages whose time is over, as the table does some time later. */
  purge(nowSeconds: number): void {
    for (const [name, pages] of this.#lists) {
      const left = pages.filter(({ purgeAt }) => purgeAt > nowSeconds);
      if (left.length === 0) this.#lists.delete(name);
      else if (left.length < pages.length) this.#lists.set(name, left);
    }
  }

  #pages(list: ListKey): StoredPage[] {
    return this.#lists.get(nameOf(list)) ?? [];
  }

  #pageAt(list: ListKey, place: ListPlace, purgeAt: number): StoredPage {
    const pages = this.#pages(list);
    const present = pages.find(({ number }) => number === place.number);
    if (present !== undefined) return present;
    const page = { ...place, ids: [], inputs: [], bytes: 0, closed: false, purgeAt };
    this.#lists.set(
      nameOf(list),
      [...pages, page].sort((a, b) => a.number - b.number),
    );
    return page;
  }
}

const pageOf = ({ purgeAt: _, ...page }: StoredPage): ListPage => copy(page);

const copied = (page: StoredPage | undefined) => page && pageOf(page);
