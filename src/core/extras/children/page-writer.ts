import { inLanes } from "../../../util/in-lanes.ts";
import { AttemptCrashed, PermanentError, PortUnavailable, RetryAfter } from "../../model/errors.ts";
import {
  countsIn,
  endIn,
  endText,
  type FamilyNode,
  type FamilyPlace,
  familyPurgeAt,
  isAwaitedKey,
  type Leaf,
} from "../../model/family-node.ts";
import type { TaskRecord } from "../../model/record.ts";
import { familyOf, isChildOf, leafOf, membersOf } from "../../pipeline/end/child-results.ts";
import type { EndPorts } from "../../ports/extra.ts";
import type { FamilyPage } from "../../ports/family.ts";
import type { NamedSpawn } from "../../task/handler-submit.ts";
import { printOf } from "../../task/numbering.ts";
import { type At, firstPlaces, hasPlace, type KnownPage, type KnownPages, placeBit } from "./known-pages.ts";

/** Children of a page that are created at the same time. */
const lanes = 50;

/** Pauses before a refused child is tried again, in milliseconds: 6 s in all. */
const pausesMs = [200, 400, 800, 1_600, 3_000];

export interface SpawnPorts extends EndPorts {
  /** Places in a node. Default: 100. */
  nodeSize?: number;
  /**
   * Creates a child, or finds the child that an earlier attempt created. A child of an earlier round of the
   * parent that has not completed joins the present round. Returns its record.
   */
  createChild(
    parent: TaskRecord,
    child: NamedSpawn,
    key: string,
    family: FamilyPlace,
    traceparent: string | undefined,
  ): Promise<TaskRecord>;
  /**
   * Lets a child join the parent's present round, which does not spawn it, with the input that it has. Returns its
   * record, which has ended when the input is no longer kept.
   */
  rejoinChild(child: TaskRecord, family: FamilyPlace): Promise<TaskRecord>;
}

/** A child that is to be created, and its key. */
export interface Spawned {
  child: NamedSpawn;
  key: string;
  /** Its place, once a page has it. */
  at?: At;
}

/** Writes the pages of a family, and creates the children of their places. */
export class PageWriter {
  readonly #ports: SpawnPorts;
  readonly #parent: TaskRecord;
  readonly #traceparent: string | undefined;
  readonly #pages: KnownPages;

  constructor(ports: SpawnPorts, parent: TaskRecord, traceparent: string | undefined, pages: KnownPages) {
    this.#ports = ports;
    this.#parent = parent;
    this.#traceparent = traceparent;
    this.#pages = pages;
  }

  /**
   * Stores new children in a page, and creates them. Returns false when the page is not as this attempt knows it; then
   * that is read again.
   * @throws AttemptCrashed when a later attempt has stored it
   */
  async append(page: KnownPage | undefined, children: readonly Spawned[]): Promise<boolean> {
    const number = page?.number ?? this.#pages.all.length;
    const before = page?.count ?? 0;
    const stored = page === undefined ? undefined : await this.#storedPage(number);
    const first = page?.first ?? firstOf(children);
    const added = children.map(({ key }, index) => (key === String(first + before + index) ? null : key));
    const whole = {
      first,
      keys: [...(stored?.keys ?? []), ...added],
      prints: (stored?.prints ?? "") + children.map(({ child }) => printOf(child)).join(""),
      attempt: this.#parent.attempts_total,
    };
    if (!(await this.#save(number, whole, before))) return false;
    const known = this.#pages.add(
      number,
      first,
      children.map(({ key }) => key),
    );
    // Until each is created.
    known.absent |= firstPlaces(before + children.length) & ~firstPlaces(before);
    await inLanes(children.entries(), lanes, ([index, spawned]) => {
      spawned.at = { page: known, place: before + index };
      return this.#create(spawned.at, spawned);
    });
    return true;
  }

  /** Creates children that a page has, as far as that is left to do. */
  async finishPage(page: KnownPage, children: readonly (Spawned & At)[]): Promise<void> {
    const node = await this.#ports.families.read(this.#parent, this.#leaf(page));
    await inLanes(children, lanes, async (spawned) => {
      const { place } = spawned;
      const text = node?.ended[place];
      if (text === undefined || !countsIn(text, this.#parent.round)) await this.#create({ page, place }, spawned);
      else sure(page, place);
    });
  }

  /** The leaf of a page and its members. Children that no attempt of this round has spawned join the round. */
  async leafOf(page: KnownPage): Promise<Leaf> {
    const name = this.#leaf(page);
    const all = firstPlaces(page.count);
    if (page.certain !== all) {
      const node = (await this.#ports.families.read(this.#parent, name)) ?? { ended: {} };
      const stored = await this.#storedPage(page.number);
      const open = membersOf(this.#parent, stored ?? noPage).filter(({ place }) => !hasPlace(page.certain, place));
      const ids = open.map(({ taskId }) => ({ tenant_id: this.#parent.tenant_id, task_id: taskId }));
      const records = await this.#ports.records.getMany(ids);
      await inLanes(open.entries(), lanes, ([index, { place }]) => this.#rejoin({ page, place }, node, records[index]));
    }
    const members = Array.from({ length: page.count }, (_, place) => (hasPlace(page.certain, place) ? "1" : "0"));
    return [name, members.join("")];
  }

  /** @throws AttemptCrashed when a later attempt has stored the page */
  async #save(number: number, page: FamilyPage, before: number): Promise<boolean> {
    const { families, clock } = this.#ports;
    const family = familyOf(this.#parent);
    if (await families.savePage(family, number, page, before, familyPurgeAt(clock.now()))) return true;
    const stored = await this.#storedPage(number);
    if (stored === undefined || stored.attempt > page.attempt) throw lostLease();
    this.#pages.take(stored);
    return false;
  }

  async #storedPage(number: number) {
    const [page] = await this.#ports.families.pages(familyOf(this.#parent), number, 1);
    return page?.number === number ? page : undefined;
  }

  #leaf(page: KnownPage): string {
    return leafOf(this.#parent, page.number);
  }

  async #create(at: At, { child, key }: Spawned): Promise<void> {
    const family = { ...this.#familyPlace(at), ...(isAwaitedKey(key) && { awaited: true as const }) };
    const create = () => this.#ports.createChild(this.#parent, child, key, family, this.#traceparent);
    const record = await this.#patiently(create).catch((error: unknown) => {
      if (error instanceof PermanentError) at.page.absent |= placeBit(at.place);
      throw error;
    });
    if (!isChildOf(record, this.#parent)) {
      throw new PermanentError("a child has the id of a task that this family does not count");
    }
    if (record.family_leaf !== family.leaf || record.family_place !== family.place) throw keyTwice(key);
    await this.#countIfEnded(at, record);
    sure(at.page, at.place);
  }

  /**
   * A place of which only this is known: an attempt that died wanted to create its child, or the child is of an earlier
   * round.
   */
  async #rejoin(at: At, node: FamilyNode, found: TaskRecord | undefined): Promise<void> {
    const { page, place } = at;
    const family = this.#familyPlace(at);
    const isOwn = found?.family_leaf === family.leaf && found.family_place === place;
    const text = node.ended[place];
    if (text !== undefined && countsIn(text, family.round)) return sure(page, place);
    if (found !== undefined && isOwn) {
      const record = await this.#patiently(() => this.#ports.rejoinChild(found, family));
      await this.#countIfEnded(at, { ...record, family_round: family.round });
      return sure(page, place);
    }
    if (text === undefined && !hasPlace(page.exist, place) && node.members?.[place] !== "1") return;
    // Its record is gone, and with it the input: it stays as it ended.
    const status = text === undefined ? "expired" : endIn(text).status;
    await this.#end(at, endText(status, { family_round: family.round, round: 1 }));
    sure(page, place);
  }

  /** Counts a child that has ended: nobody may be left to do so. */
  async #countIfEnded(at: At, record: TaskRecord): Promise<void> {
    const { status } = record;
    if (status !== "pending" && status !== "processing") await this.#end(at, endText(status, record));
  }

  async #end({ page, place }: At, text: string): Promise<void> {
    const { families, clock } = this.#ports;
    await families.end(this.#parent, this.#leaf(page), place, text, familyPurgeAt(clock.now()));
  }

  #familyPlace({ page, place }: At): FamilyPlace {
    return { leaf: this.#leaf(page), place, round: this.#parent.round };
  }

  /** Repeats a step that cannot be done now, as another attempt would have to do everything again. */
  async #patiently<T>(step: () => Promise<T>): Promise<T> {
    for (const pauseMs of pausesMs) {
      try {
        return await step();
      } catch (error) {
        if (!(error instanceof RetryAfter) && !(error instanceof PortUnavailable)) throw error;
      }
      await new Promise<void>((resolve) => this.#ports.clock.after(pauseMs, resolve));
    }
    return step();
  }
}

const noPage: FamilyPage = { first: 0, keys: [], prints: "", attempt: 0 };

/** The child of a place exists, and belongs to the present round. */
function sure(page: KnownPage, place: number): void {
  page.exist |= placeBit(place);
  page.certain |= placeBit(place);
  page.absent &= ~placeBit(place);
}

/** Number of the first child of a new page, as far as it has a default key. */
const firstOf = ([first]: readonly Spawned[]): number => {
  const number = Number(first?.key);
  return Number.isSafeInteger(number) && number >= 0 && String(number) === first?.key ? number : 0;
};

/** The error of an attempt that has another child with the key. */
export const keyTwice = (key: string): PermanentError =>
  new PermanentError(`two children have the key ${JSON.stringify(key)}: each child needs its own`);

export const lostLease = (): AttemptCrashed =>
  new AttemptCrashed("the attempt lost its lease while it spawned children");
