import { Heap } from "./heap.ts";

/** Where a message is in its life; deleted ones are not in the index. */
export type Whereabouts = "visible" | "delayed" | "inFlight";

/** What is known in memory of a stored message; its body is not. */
export interface Entry {
  /** Row of the database. Rises with the time of sending. */
  seq: number;
  id: string;
  /** Absent: the message is a group of its own. */
  groupId?: string | undefined;
  /** Epoch milliseconds of sending; retention counts from it. Kept when a message moves to a dead-letter queue. */
  sentAt: number;
  /** Epoch milliseconds at which a delayed or in-flight message becomes visible; 0 for a visible one. */
  until: number;
  /** Receives in the queue where the message is now. */
  receives: number;
  /** Receives in all queues: what `ApproximateReceiveCount` says. */
  receiveCount: number;
  /** Epoch milliseconds of the first receive; 0 before it. */
  firstReceivedAt: number;
}

/** The messages of one group. */
interface Lane {
  readonly visible: Heap<Entry>;
  inFlight: number;
  size: number;
  /** Rises each time the lane is served: the round robin. */
  turn: number;
}

interface Place {
  lane: Lane;
  whereabouts: Whereabouts;
}

/**
 * The order of one queue. Next comes the group with the fewest messages in flight, among equals the one that has waited
 * longest for its turn, and of that group the oldest message. Every step takes O(log n).
 */
export class FairIndex {
  readonly #byId = new Map<string, Entry>();
  readonly #places = new Map<Entry, Place>();
  readonly #lanes = new Map<string, Lane>();
  readonly #ready = new Heap<Lane>((a, b) => (a.inFlight === b.inFlight ? a.turn < b.turn : a.inFlight < b.inFlight));
  readonly #hidden = new Heap<Entry>((a, b) => a.until < b.until);
  readonly #ages = new Heap<Entry>((a, b) => a.sentAt < b.sentAt);
  readonly #counts: Record<Whereabouts, number> = { visible: 0, delayed: 0, inFlight: 0 };
  #turn = 0;

  get counts(): Readonly<Record<Whereabouts, number>> {
    return this.#counts;
  }

  /** The message to receive now. */
  next(): Entry | undefined {
    return this.#ready.first()?.visible.first();
  }

  /** The message that has been here longest, in whatever state. */
  oldest(): Entry | undefined {
    return this.#ages.first();
  }

  /** The hidden message that becomes visible first. */
  nextHidden(): Entry | undefined {
    return this.#hidden.first();
  }

  get(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  whereabouts(entry: Entry): Whereabouts | undefined {
    return this.#places.get(entry)?.whereabouts;
  }

  entries(): IterableIterator<Entry> {
    return this.#byId.values();
  }

  add(entry: Entry, whereabouts: Whereabouts): void {
    this.#byId.set(entry.id, entry);
    this.#ages.put(entry);
    const lane = this.#laneOf(entry);
    lane.size += 1;
    this.#enter(entry, lane, whereabouts);
  }

  /** Changes a message's state; `until` is when a hidden one becomes visible again. */
  move(entry: Entry, whereabouts: Whereabouts, until = 0): void {
    const lane = this.#leave(entry);
    if (lane === undefined) return;
    entry.until = until;
    this.#enter(entry, lane, whereabouts);
  }

  remove(entry: Entry): void {
    const lane = this.#leave(entry);
    if (lane === undefined) return;
    this.#byId.delete(entry.id);
    this.#ages.delete(entry);
    lane.size -= 1;
    if (lane.size === 0 && entry.groupId !== undefined) this.#lanes.delete(entry.groupId);
  }

  #laneOf(entry: Entry): Lane {
    const known = entry.groupId === undefined ? undefined : this.#lanes.get(entry.groupId);
    if (known !== undefined) return known;
    const lane: Lane = { visible: new Heap((a, b) => a.seq < b.seq), inFlight: 0, size: 0, turn: 0 };
    if (entry.groupId !== undefined) this.#lanes.set(entry.groupId, lane);
    return lane;
  }

  #enter(entry: Entry, lane: Lane, whereabouts: Whereabouts): void {
    this.#places.set(entry, { lane, whereabouts });
    this.#counts[whereabouts] += 1;
    const joins = whereabouts === "visible" && lane.visible.size === 0;
    if (joins || whereabouts === "inFlight") lane.turn = ++this.#turn;
    if (whereabouts === "inFlight") lane.inFlight += 1;
    if (whereabouts === "visible") lane.visible.put(entry);
    else this.#hidden.put(entry);
    this.#rank(lane);
  }

  #leave(entry: Entry): Lane | undefined {
    const place = this.#places.get(entry);
    if (place === undefined) return undefined;
    const { lane, whereabouts } = place;
    this.#places.delete(entry);
    this.#counts[whereabouts] -= 1;
    if (whereabouts === "inFlight") lane.inFlight -= 1;
    if (whereabouts === "visible") lane.visible.delete(entry);
    else this.#hidden.delete(entry);
    this.#rank(lane);
    return lane;
  }

  #rank(lane: Lane): void {
    if (lane.visible.size > 0) this.#ready.put(lane);
    else this.#ready.delete(lane);
  }
}
