import { isAwaitedKey } from "../../model/family-node.ts";
import type { TaskRecord } from "../../model/record.ts";
import { membersOf, storedPages } from "../../pipeline/end/child-results.ts";
import type { Families, StoredPage } from "../../ports/family.ts";
import { printLength } from "../../task/numbering.ts";

/** Places of a page, one bit each. */
export type Places = bigint;

export const placeBit = (place: number): Places => 1n << BigInt(place);

/** The first places of a page. */
export const firstPlaces = (count: number): Places => (1n << BigInt(count)) - 1n;

export const hasPlace = (places: Places, place: number): boolean => (places & placeBit(place)) !== 0n;

const placesIn = (places: Places): number => places.toString(2).replaceAll("0", "").length;

/** Number of places from the first one on without a gap. */
export function leadingPlaces(places: Places): number {
  let count = 0;
  while (hasPlace(places, count)) count += 1;
  return count;
}

/** A page of a family as an attempt knows it. Its keys are not kept, as memory must not grow with the children. */
export interface KnownPage {
  number: number;
  first: number;
  count: number;
  /** Places whose children certainly exist. */
  exist: Places;
  /** Places whose children certainly belong to the parent's present round: nothing is to be done for them. */
  certain: Places;
  /** Places whose children certainly do not exist: they were refused, or not tried because another one was. */
  absent: Places;
  /** Prints of the children that earlier attempts spawned. */
  prints: string;
  /** Places that this attempt has spawned. */
  spawned: Places;
  /** `created` as it is noted in the stored page for the present round. */
  noted: number;
}

/** The place of a child. */
export interface At {
  page: KnownPage;
  place: number;
}

const noPlaces = { prints: "", exist: 0n, certain: 0n, absent: 0n, spawned: 0n, noted: 0 };

/** The pages of a family: those that earlier attempts stored, and those of this one. */
export class KnownPages {
  readonly #parent: TaskRecord;
  readonly #pages: KnownPage[] = [];
  /**
   * Places of the children of pages in which some have keys of their own. The places in the other pages follow from
   * their numbers.
   */
  readonly #byKey = new Map<string, At>();
  /** Pages with default keys only, by the number of their first child. */
  readonly #byFirst = new Map<number, KnownPage>();

  /** True when there are children of `spawn`, and of `run`. */
  hasSpawned = false;
  hasAwaited = false;

  constructor(parent: TaskRecord) {
    this.#parent = parent;
  }

  #note(keys: readonly (string | null)[]): void {
    const awaited = keys.filter(isAwaitedKey).length;
    this.hasAwaited ||= awaited > 0;
    this.hasSpawned ||= awaited < keys.length;
  }

  get all(): readonly KnownPage[] {
    return this.#pages;
  }

  get total(): number {
    return this.#pages.reduce((sum, { count }) => sum + count, 0);
  }

  /** Number of children, without the children that certainly do not exist. */
  get present(): number {
    return this.#pages.reduce((sum, { count, absent }) => sum + count - placesIn(absent), 0);
  }

  /**
   * Reads the pages of earlier attempts.
   * @param untilSeconds Epoch seconds.
   * @returns The numbers of the pages that are kept no longer than that.
   */
  async load(families: Families, untilSeconds: number): Promise<number[]> {
    const early: number[] = [];
    for await (const page of storedPages({ families }, this.#parent)) {
      this.take(page);
      if (page.purge_at < untilSeconds) early.push(page.number);
    }
    return early;
  }

  /** Takes a stored page, or its present state. */
  take(stored: StoredPage): void {
    const { number, first, keys, created, round } = stored;
    const page = this.#pageOf(number, first);
    this.#note(keys);
    const known = page.count;
    page.count = keys.length;
    page.prints = stored.prints;
    if (round > 0) page.exist |= firstPlaces(created);
    if (round === this.#parent.round) {
      page.certain |= firstPlaces(created);
      page.noted = Math.max(page.noted, created);
    }
    if (keys.every((key) => key === null)) this.#byFirst.set(first, page);
    else {
      const isMixed = this.#byFirst.delete(first);
      for (const { place, key } of membersOf(this.#parent, stored).slice(isMixed ? 0 : known))
        this.#byKey.set(key, { page, place });
    }
  }

  /** Adds children to a page, or a new page. They are this attempt's own, so they are not looked for. */
  add(number: number, first: number, keys: readonly string[]): KnownPage {
    const page = this.#pageOf(number, first);
    this.#note(keys);
    page.count += keys.length;
    return page;
  }

  /** Finds the child of an earlier attempt by its key. */
  find(key: string, nodeSize: number): At | undefined {
    const own = this.#byKey.get(key);
    if (own !== undefined || this.#byFirst.size === 0 || !/^\d{1,12}$/.test(key)) return own;
    return this.#byNumber(Number(key), key, nodeSize);
  }

  /** True when an earlier attempt spawned a child of the same type and input under the key. */
  isSame(key: string, print: string, nodeSize: number): boolean {
    const at = this.find(key, nodeSize);
    return at?.page.prints.slice(at.place * printLength).startsWith(print) === true;
  }

  #byNumber(number: number, key: string, nodeSize: number): At | undefined {
    if (String(number) !== key) return undefined;
    for (let first = number; first >= Math.max(0, number - nodeSize + 1); first--) {
      const page = this.#byFirst.get(first);
      if (page !== undefined && number - first < page.count) return { page, place: number - first };
    }
    return undefined;
  }

  /** The page to which children may be added: the last one, if all of its children are certain. */
  open(nodeSize: number): KnownPage | undefined {
    const last = this.#pages.at(-1);
    if (last === undefined || last.count >= nodeSize || last.certain !== firstPlaces(last.count)) return undefined;
    return last;
  }

  #pageOf(number: number, first: number): KnownPage {
    this.#pages[number] ??= { number, first, count: 0, ...noPlaces };
    return this.#pages[number];
  }
}
