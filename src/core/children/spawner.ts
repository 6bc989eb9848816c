import { isLeafOf, leafOf, treeOf } from "../end/child-results.ts";
import { familyPurgeAt, passUp } from "../end/close-family.ts";
import { AttemptCrashed, PermanentError, PortUnavailable, RetryAfter } from "../model/errors.ts";
import { type FamilyNode, nodeSize, type Sealing, treeOver } from "../model/family-node.ts";
import type { FamilyPlace } from "../model/family-place.ts";
import { inLanes } from "../model/in-lanes.ts";
import { fence } from "../model/lease.ts";
import type { TaskRecord } from "../model/record.ts";
import { spawnedId } from "../model/spawned-id.ts";
import type { DispatchPorts } from "../ports/step-ports.ts";
import type { NamedSpawn } from "../task/context.ts";

/** Children of a page that are created at the same time. */
const lanes = 50;

/**
 * The parent's record gets the number of spawned children at most this often, in milliseconds: 84 writes in the longest attempt of 840 s, which
 * with its heartbeats stay below 200 for any number of children.
 */
const noteMs = 10_000;

/** Pauses before a refused child is tried again, in milliseconds: 6 s in all. */
const pausesMs = [200, 400, 800, 1_600, 3_000];

/** Nodes that are sealed at the same time. */
const sealLanes = 20;

export interface SpawnPorts extends DispatchPorts {
  /** Places in a node. Default: 100. */
  nodeSize?: number;
  /**
   * Creates a child, or finds the one that an earlier attempt created. A child of an earlier round of the
   * parent that has not completed joins the present round. Returns its record.
   */
  createChild(
    parent: TaskRecord,
    child: NamedSpawn,
    key: string,
    family: FamilyPlace,
    traceparent: string | undefined,
  ): Promise<TaskRecord>;
}

/** A family that is ready to be waited for. */
export interface SealedFamily {
  root: string;
  total: number;
}

/** The children that one attempt spawns. They are created a page at a time, so memory does not grow with their number. */
export class Spawner {
  readonly #ports: SpawnPorts;
  readonly #parent: TaskRecord;
  readonly #traceparent: string | undefined;
  readonly #nodeSize: number;
  #page: NamedSpawn[] = [];
  #count = 0;
  #notedMs = 0;
  #pages: Promise<void> = Promise.resolve();
  /** Members of each leaf: those of this attempt, and of earlier attempts whose children this one found. */
  readonly #leaves = new Map<string, string[]>();

  constructor(ports: SpawnPorts, parent: TaskRecord, traceparent: string | undefined) {
    this.#ports = ports;
    this.#parent = parent;
    this.#traceparent = traceparent;
    this.#nodeSize = ports.nodeSize ?? nodeSize;
  }

  /** Adds a child, and returns its id. It is created with its page: soon, and at the latest when the handler has returned. */
  async spawn(child: NamedSpawn): Promise<string> {
    const id = spawnedId(this.#parent, child.key ?? String(this.#count));
    this.#count += 1;
    this.#page.push(child);
    if (this.#page.length === this.#nodeSize) await this.#flush();
    return id;
  }

  /**
   * Creates the last children, and builds the tree that counts their ends. Undefined: the attempt spawned no child. A repeat in a later
   * attempt builds another tree over the same leaves.
   */
  async seal(): Promise<SealedFamily | undefined> {
    if (this.#count === 0) return undefined;
    await this.#flush();
    const purgeAt = familyPurgeAt(this.#ports.clock.now());
    const leaves = [...this.#leaves].map(([leaf, members]) => [leaf, members.join("")] as const);
    const { root, nodes } = treeOver(leaves, treeOf(this.#parent), this.#nodeSize);
    // In order: no node may be full before the one above it is sealed.
    const above = nodes.filter(([, { below }]) => below !== undefined);
    for (const [name, sealing] of above) await this.#seal(name, sealing, purgeAt);
    await inLanes(
      nodes.filter(([, { below }]) => below === undefined),
      sealLanes,
      async ([name, sealing]) => {
        const node = await this.#seal(name, sealing, purgeAt);
        // A leaf whose children had all ended before it was sealed: none of their ends could pass it up.
        await passUp(this.#ports, this.#parent, name, node);
      },
    );
    const total = leaves.reduce((sum, [, members]) => sum + members.replaceAll("0", "").length, 0);
    return { root, total };
  }

  /** @throws AttemptCrashed when a later attempt has sealed the node: this one has lost its lease */
  async #seal(name: string, sealing: Sealing, purgeAt: number): Promise<FamilyNode> {
    const { families } = this.#ports;
    const node = await families.seal(this.#parent, name, sealing, this.#parent.attempts_total, purgeAt);
    if (node === undefined) throw lostLease();
    return node;
  }

  #flush(): Promise<void> {
    const page = this.#page.splice(0);
    const first = this.#count - page.length;
    if (page.length > 0) this.#pages = this.#pages.then(() => this.#create(page, first));
    return this.#pages;
  }

  async #create(page: readonly NamedSpawn[], first: number): Promise<void> {
    const { families, clock, createChild } = this.#ports;
    const leaf = leafOf(this.#parent, this.#parent.attempts_total, Math.floor(first / this.#nodeSize));
    await this.#note(first + page.length, first === 0);
    const keys = page.map(({ key }) => key ?? null);
    await families.savePage(this.#parent, leaf, { first, keys }, familyPurgeAt(clock.now()));
    await inLanes(page.entries(), lanes, async ([place, child]) => {
      const family = { leaf, place, round: this.#parent.round };
      const key = child.key ?? String(first + place);
      const record = await this.#patiently(() => createChild(this.#parent, child, key, family, this.#traceparent));
      this.#mustBeFirst(record, key, family);
      this.#add(record);
    });
  }

  /** Repeats a step that cannot be done now, as another attempt would have to spawn everything again. */
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

  /** @throws PermanentError when this attempt has another child with the key */
  #mustBeFirst({ family_leaf: leaf = "", family_place: place }: TaskRecord, key: string, own: FamilyPlace): void {
    if (!isLeafOf(leaf, this.#parent) || (leaf === own.leaf && place === own.place)) return;
    throw new PermanentError(`two children have the key ${JSON.stringify(key)}: each child needs its own`);
  }

  #add({ family_leaf: leaf, family_place: place }: TaskRecord): void {
    if (leaf === undefined || place === undefined) {
      throw new PermanentError("a child has the id of a task that this family does not count");
    }
    const members = this.#leaves.get(leaf) ?? Array.from({ length: this.#nodeSize }, () => "0");
    members[place] = "1";
    this.#leaves.set(leaf, members);
  }

  /** Notes in the parent's record that it has children, so that a cancel finds them, and how many. */
  async #note(total: number, isFirst: boolean): Promise<void> {
    const { clock, records } = this.#ports;
    if (!isFirst && clock.now() - this.#notedMs < noteMs) return;
    this.#notedMs = clock.now();
    const changed = await records.change(this.#parent, {
      when: fence(this.#parent),
      set: { family_state: "spawning", family_total: total },
    });
    if (!changed.done) throw lostLease();
  }
}

const lostLease = () => new AttemptCrashed("the attempt lost its lease while it spawned children");
