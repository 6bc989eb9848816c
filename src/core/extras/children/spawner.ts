import { inLanes } from "../../../util/in-lanes.ts";
import { fence } from "../../model/change.ts";
import { PermanentError } from "../../model/errors.ts";
import {
  endedOf,
  type FamilyNode,
  familyPurgeAt,
  noCounts,
  nodeSize,
  type Sealing,
  treeOver,
} from "../../model/family-node.ts";
import { spawnedId } from "../../model/idempotency.ts";
import type { TaskRecord } from "../../model/record.ts";
import { familyOf, leafOf, treeOf } from "../../pipeline/end/child-results.ts";
import { passUp } from "../../pipeline/end/close-family.ts";
import { noteFailures } from "../../pipeline/end/stop-family.ts";
import type { StepEntry } from "../../ports/steps.ts";
import type { NamedSpawn } from "../../task/handler-submit.ts";
import { Numbering, printOf } from "../../task/numbering.ts";
import { type At, hasPlace, type KnownPage, KnownPages, leadingPlaces, placeBit } from "./known-pages.ts";
import { keyTwice, lostLease, PageWriter, type Spawned, type SpawnPorts } from "./page-writer.ts";

/**
 * The parent's record gets the number of spawned children at most this often, in milliseconds: 84 writes in the longest
 * attempt of 840 s, which with its heartbeats stay below 200 for any number of children.
 */
const noteMs = 10_000;

const dayMs = 86_400_000;

/**
 * The longest time, in milliseconds, from an attempt of a parent to the next attempt that looks at its pages: a sleep
 * of a year, retries and a retention.
 */
const longestLifeMs = 420 * dayMs;

/**
 * From this age of a parent on, in milliseconds, its attempts look at its pages whether they spawn or not: new pages
 * are kept for 800 days.
 */
const oldMs = 370 * dayMs;

/** Nodes that are sealed, and pages that are settled, at the same time. */
const nodeLanes = 20;

/** A family that is ready to be waited for. */
export interface SealedFamily {
  root: string;
  total: number;
  /** Number of the children whose failure the handler has caught. */
  caught?: number;
  /** True for a family that stops as soon as too many children have failed. */
  stops?: true;
}

/**
 * The children that a task spawns. They are created a page at a time, so memory does not grow with their number.
 *
 * A page is stored before its children are created. It is what later attempts know: they do nothing for children that a
 * page has, also after the children's records are gone. So a task's family is what all of its attempts have spawned.
 */
export class Spawner {
  /** Default keys. */
  readonly numbers: Numbering;
  readonly #ports: SpawnPorts;
  readonly #parent: TaskRecord;
  readonly #nodeSize: number;
  readonly #pages: KnownPages;
  readonly #writer: PageWriter;
  #loading: Promise<void> | undefined;
  #used = false;
  /** Children that no page has yet. */
  #new: Spawned[] = [];
  /** Children that a page has, and for which something may be left to do. */
  #again: (Spawned & At)[] = [];
  #notedMs = 0;
  #notedTotal: number | undefined;
  #work: Promise<void> = Promise.resolve();
  /** The next creation of awaited children. */
  #soon: Promise<void> | undefined;

  /**
   * @param prefix Begins the default keys: of an attempt that aggregates, which must not name the handler's children.
   */
  constructor(ports: SpawnPorts, parent: TaskRecord, traceparent: string | undefined, prefix = "") {
    this.#ports = ports;
    this.#parent = parent;
    this.#nodeSize = ports.nodeSize ?? nodeSize;
    this.#pages = new KnownPages(parent);
    this.#writer = new PageWriter(ports, parent, traceparent, this.#pages);
    this.numbers = new Numbering(prefix, 0);
    if (parent.family_state !== undefined) this.#notedTotal = parent.family_total;
  }

  /** Adds a child, and returns its id. It is created with its page, and before the attempt ends or stores anything. */
  async spawn(child: NamedSpawn): Promise<string> {
    this.#used = true;
    if (this.#hasPages()) await this.#load();
    const key = child.key ?? this.numbers.next((number) => this.#pages.isSame(number, printOf(child), this.#nodeSize));
    this.#add({ child, key });
    const room = this.#nodeSize - (this.#pages.open(this.#nodeSize)?.count ?? 0);
    if (this.#new.length >= room || this.#again.length >= this.#nodeSize) await this.#flush();
    return spawnedId(this.#parent, key);
  }

  /**
   * Creates a child whose end the handler awaits, together with those that it asks for in the same turn. Returns its
   * place.
   * @param turn Resolves after what is ready to run has run.
   */
  async create(child: NamedSpawn, key: string, turn: () => Promise<void>): Promise<At> {
    this.#used = true;
    if (this.#hasPages()) await this.#load();
    const spawned: Spawned = { child, key };
    this.#add(spawned);
    this.#soon ??= turn().then(() => {
      this.#soon = undefined;
      return this.#flush();
    });
    await this.#soon;
    if (spawned.at === undefined) throw lostLease();
    return spawned.at;
  }

  /** Creates what was spawned, and notes it, so that a later attempt need not look for it. */
  async keep(): Promise<void> {
    if (!this.#used && !this.#isOld()) return;
    if (this.#hasPages()) await this.#load();
    await this.#flush();
    const { families } = this.#ports;
    const news = this.#pages.all.filter(({ noted, certain }) => leadingPlaces(certain) > noted);
    await inLanes(news, nodeLanes, async (page) => {
      page.noted = leadingPlaces(page.certain);
      await families.notePage(familyOf(this.#parent), page.number, page.noted, this.#parent.round);
    });
    await this.#note(true);
  }

  /** True when the family has children that its counts do not have: those that `aggregate` has spawned. */
  get hasUncounted(): boolean {
    const { family_counts: counts = noCounts, family_total: total = 0 } = this.#parent;
    return this.#used || total > endedOf(counts);
  }

  /**
   * Creates the last children, and builds the tree that counts their ends. Undefined: the task has no child, or its
   * handler has awaited the end of each. A repeat in a later attempt builds another tree over the same leaves.
   * @param entries Returns the entries of the task.
   * @param stops True for a family that stops as soon as too many children have failed.
   */
  async seal(entries: () => Promise<ReadonlyMap<string, StepEntry>>, stops = false): Promise<SealedFamily | undefined> {
    if (!this.#used && !this.#hasPages()) return undefined;
    if (this.#hasPages()) await this.#load();
    await this.#flush();
    if (!this.#pages.hasSpawned) return undefined;
    const found = await inLanes(this.#pages.all, nodeLanes, (page) => this.#writer.leafOf(page));
    const leaves = found.filter(([, members]) => members.includes("1"));
    if (leaves.length === 0) return undefined;
    const { root, nodes } = treeOver(leaves, treeOf(this.#parent), this.#parent.round, this.#nodeSize, stops);
    // In order: no node may be full before the one above it is sealed.
    const above = nodes.filter(([, { below }]) => below !== undefined);
    for (const [name, sealing] of above) await this.#seal(name, sealing);
    await inLanes(
      nodes.filter(([, { below }]) => below === undefined),
      nodeLanes,
      async ([name, sealing]) => {
        const node = await this.#seal(name, sealing);
        // The children that failed before: the later ones see the seal.
        if (stops) await noteFailures(this.#ports, this.#parent, name, node);
        // A leaf whose children had all ended before it was sealed: none of their ends could pass it up.
        await passUp(this.#ports, this.#parent, name, node);
      },
    );
    const total = leaves.reduce((sum, [, members]) => sum + members.replaceAll("0", "").length, 0);
    const caught = this.#pages.hasAwaited ? this.#caught(await entries()) : undefined;
    return { root, total, ...(caught !== undefined && { caught }), ...(stops && { stops }) };
  }

  /** Number of the children whose failure the handler has caught in this round. */
  #caught(entries: ReadonlyMap<string, StepEntry>): number {
    const ends = [...entries.values()].filter(({ kind, status }) => kind === "run" && status !== undefined);
    return ends.filter(({ round }) => round === this.#parent.round).length;
  }

  /** @throws AttemptCrashed when a later attempt has sealed the node: this one has lost its lease */
  async #seal(name: string, sealing: Sealing): Promise<FamilyNode> {
    const { families, clock } = this.#ports;
    const purgeAt = familyPurgeAt(clock.now());
    const node = await families.seal(this.#parent, name, sealing, this.#parent.attempts_total, purgeAt);
    if (node === undefined) throw lostLease();
    return node;
  }

  /** True when earlier attempts may have stored pages. */
  #hasPages(): boolean {
    return this.#parent.family_total !== undefined;
  }

  /** True for a parent whose pages must be kept anew, also by attempts that spawn nothing. */
  #isOld(): boolean {
    return this.#hasPages() && this.#ports.clock.now() - Date.parse(this.#parent.created_at) > oldMs;
  }

  #load(): Promise<void> {
    this.#loading ??= this.#loadAndKeep();
    return this.#loading;
  }

  async #loadAndKeep(): Promise<void> {
    const { families, clock } = this.#ports;
    const family = familyOf(this.#parent);
    const early = await this.#pages.load(families, Math.floor((clock.now() + longestLifeMs) / 1000));
    await inLanes(early, nodeLanes, (number) =>
      families.keep(family, number, leafOf(this.#parent, number), familyPurgeAt(clock.now())),
    );
  }

  /** @throws PermanentError when this attempt has spawned a known child before */
  #add(spawned: Spawned): void {
    const { child, key } = spawned;
    const at = this.#pages.find(key, this.#nodeSize);
    if (at === undefined) {
      this.#new.push(spawned);
      return;
    }
    spawned.at = at;
    const { page, place } = at;
    if (hasPlace(page.spawned, place)) throw keyTwice(key);
    page.spawned |= placeBit(place);
    if (!hasPlace(page.certain, place)) this.#again.push({ page, place, child, key });
  }

  #flush(): Promise<void> {
    this.#work = this.#work.then(() => this.#createAll());
    return this.#work;
  }

  async #createAll(): Promise<void> {
    if (this.#new.length === 0 && this.#again.length === 0) return;
    await this.#note(false);
    try {
      await this.#createNoted();
    } catch (error) {
      // The attempt fails for good, and so the task: nobody is left to create the others.
      if (error instanceof PermanentError) await this.#notePresent();
      throw error;
    }
  }

  async #createNoted(): Promise<void> {
    await this.#finishPages();
    while (this.#new.length > 0) {
      const open = this.#pages.open(this.#nodeSize);
      const children = this.#new.splice(0, this.#nodeSize - (open?.count ?? 0));
      if (await this.#writer.append(open, children)) continue;
      // An attempt that has lost its lease stored the page: some of its children may be these.
      for (const spawned of children) this.#add(spawned);
      await this.#finishPages();
    }
  }

  async #finishPages(): Promise<void> {
    const byPage = new Map<KnownPage, (Spawned & At)[]>();
    for (const one of this.#again.splice(0)) byPage.set(one.page, [...(byPage.get(one.page) ?? []), one]);
    for (const [page, children] of byPage) await this.#writer.finishPage(page, children);
  }

  /** Notes how many children the parent has, without those that were refused: they would stay open for ever. */
  async #notePresent(): Promise<void> {
    const { records, log } = this.#ports;
    const set = { family_total: this.#pages.present };
    await records.change(this.#parent, { when: fence(this.#parent), set }).catch((error: unknown) => {
      log.warn("could not note that children were refused: the task shows them as open", { error: String(error) });
    });
  }

  /** Notes in the parent's record that it has children, so that a cancel finds them, and how many. */
  async #note(exactly: boolean): Promise<void> {
    const { clock, records } = this.#ports;
    const total = this.#pages.total + this.#new.length;
    const isKnown = this.#notedTotal !== undefined;
    if (isKnown && (total <= (this.#notedTotal ?? 0) || (!exactly && clock.now() - this.#notedMs < noteMs))) return;
    this.#notedMs = clock.now();
    const changed = await records.change(this.#parent, {
      when: fence(this.#parent),
      // An attempt that aggregates stays one.
      set: { family_state: this.#parent.family_state === "closing" ? "closing" : "spawning", family_total: total },
    });
    if (!changed.done) throw lostLease();
    this.#notedTotal = total;
  }
}
