import { Heap } from "../../util/heap.ts";

/** State of a message that was not deleted. */
export type MessageState = "visible" | "delayed" | "inFlight";

/** The part of a stored message that is also in memory; the body is in the database only. */
export interface Entry {
  /** Row number in the database, in the order of sending. */
  seq: number;
  id: string;
  /** Absent: the message is alone in its group. */
  groupId?: string | undefined;
  /** Epoch milliseconds of sending, from which retention counts. A move to a dead-letter queue does not change it. */
  sentAt: number;
  /** Epoch milliseconds at which a delayed or in-flight message becomes visible; 0 for a visible message. */
  until: number;
  /** Number of receives in the message's present queue. */
  receives: number;
  /** Number of receives in all queues, for `ApproximateReceiveCount`. */
  receiveCount: number;
  /** Epoch milliseconds of the first receive; 0 for a message that was never received. */
  firstReceivedAt: number;
  /** Epoch milliseconds of the last receive. It is in memory only: undefined before a receive, and after a restart. */
  receivedAt?: number;
}

/** The messages of one group. */
interface Lane {
  readonly visible: Heap<Entry>;
  inFlight: number;
  size: number;
  /**
   * Number of the group's last turn. Among groups with equally many messages in flight, the smallest number is next.
   */
  turn: number;
}

interface Place {
  lane: Lane;
  state: MessageState;
}

/**
 * Order in which one queue delivers its messages. The next message is the oldest one of the group with the fewest
 * messages in flight; among several such groups, of the group that has waited longest. Every operation takes O(log n).
 */
export class FairIndex {
  readonly #byId = new Map<string, Entry>();
  readonly #places = new Map<Entry, Place>();
  readonly #lanes = new Map<string, Lane>();
  readonly #ready = new Heap<Lane>((a, b) => (a.inFlight === b.inFlight ? a.turn < b.turn : a.inFlight < b.inFlight));
  readonly #hidden = new Heap<Entry>((a, b) => a.until < b.until);
  readonly #ages = new Heap<Entry>((a, b) => a.sentAt < b.sentAt);
  readonly #counts: Record<MessageState, number> = { visible: 0, delayed: 0, inFlight: 0 };
  #turn = 0;

  get counts(): Readonly<Record<MessageState, number>> {
    return this.#counts;
  }

  /** The message to receive next. */
  next(): Entry | undefined {
    return this.#ready.first()?.visible.first();
  }

  /** The message that was sent first, in any state. */
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

  stateOf(entry: Entry): MessageState | undefined {
    return this.#places.get(entry)?.state;
  }

  entries(): IterableIterator<Entry> {
    return this.#byId.values();
  }

  add(entry: Entry, state: MessageState): void {
    this.#byId.set(entry.id, entry);
    this.#ages.put(entry);
    const lane = this.#laneOf(entry);
    lane.size += 1;
    this.#enter(entry, lane, state);
  }

  /** Changes a message's state. A hidden message becomes visible again at `until`. */
  move(entry: Entry, state: MessageState, until = 0): void {
    const lane = this.#leave(entry);
    if (lane === undefined) return;
    entry.until = until;
    this.#enter(entry, lane, state);
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

  #enter(entry: Entry, lane: Lane, state: MessageState): void {
    this.#places.set(entry, { lane, state });
    this.#counts[state] += 1;
    const joins = state === "visible" && lane.visible.size === 0;
    if (joins || state === "inFlight") lane.turn = ++this.#turn;
    if (state === "inFlight") lane.inFlight += 1;
    if (state === "visible") lane.visible.put(entry);
    else this.#hidden.put(entry);
    this.#rank(lane);
  }

  #leave(entry: Entry): Lane | undefined {
    const place = this.#places.get(entry);
    if (place === undefined) return undefined;
    const { lane, state } = place;
    this.#places.delete(entry);
    this.#counts[state] -= 1;
    if (state === "inFlight") lane.inFlight -= 1;
    if (state === "visible") lane.visible.delete(entry);
    else this.#hidden.delete(entry);
    this.#rank(lane);
    return lane;
  }

  #rank(lane: Lane): void {
    if (lane.visible.size > 0) this.#ready.put(lane);
    else this.#ready.delete(lane);
  }
}
