import type { Clock } from "../../core/ports/tasks.ts";
import { Availability } from "./availability.ts";
import { type Entry, FairIndex } from "./fair-index.ts";
import { defaultSettings, type QueueSettings, type ReceivedMessage, systemAttributes } from "./queue-message.ts";
import type { Content, QueueRows } from "./queue-rows.ts";
import { writeReceipt } from "./receipt.ts";
import type { SavedEnvelopes } from "./saved-envelopes.ts";

/** A message that is new in the queue; its content is passed separately. */
export interface NewEntry {
  id: string;
  groupId?: string | undefined;
  delayMs: number;
}

/** One queue: its messages in the database and their order in memory, which are changed together. */
export class StoredQueue {
  readonly name: string;
  readonly availability: Availability;
  index = new FairIndex();
  settings: QueueSettings = defaultSettings;
  readonly #rows: QueueRows;
  readonly #envelopes: SavedEnvelopes;
  readonly #clock: Clock;

  constructor(name: string, { rows, envelopes, clock }: { rows: QueueRows; envelopes: SavedEnvelopes; clock: Clock }) {
    this.name = name;
    this.#rows = rows;
    this.#envelopes = envelopes;
    this.#clock = clock;
    this.availability = new Availability(() => this.index.next() !== undefined);
  }

  /**
   * Deletes messages older than the retention period, and makes hidden messages visible whose time has come.
   * Returns true when messages became visible.
   */
  advance(): boolean {
    const now = this.#clock.now();
    const { index } = this;
    const oldestKept = now - this.settings.retentionSeconds * 1000;
    for (let entry = index.oldest(); entry && entry.sentAt < oldestKept; entry = index.oldest()) {
      this.remove(entry);
    }
    let any = false;
    for (let entry = index.nextHidden(); entry && entry.until <= now; entry = index.nextHidden()) {
      index.move(entry, "visible");
      any = true;
    }
    return any;
  }

  insert({ id, groupId, delayMs }: NewEntry, content: Content): void {
    const now = this.#clock.now();
    const until = delayMs > 0 ? now + delayMs : 0;
    const entry = { id, groupId, sentAt: now, until, receives: 0, receiveCount: 0, firstReceivedAt: 0 };
    this.#envelopes.save(id, content.body);
    const seq = this.#rows.insert(this.name, entry, content);
    this.index.add({ ...entry, seq }, until > 0 ? "delayed" : "visible");
  }

  remove(entry: Entry): void {
    this.#rows.delete(entry.seq);
    this.index.remove(entry);
  }

  /** Removes a message for its receiver, and its saved envelope. */
  delete(entry: Entry): void {
    this.remove(entry);
    this.#envelopes.remove(entry.id);
  }

  /** Receives a message and hides it until the given time. */
  receive(entry: Entry, until: number): ReceivedMessage {
    entry.until = until;
    entry.receives += 1;
    entry.receiveCount += 1;
    entry.receivedAt = this.#clock.now();
    entry.firstReceivedAt ||= entry.receivedAt;
    const content = this.#rows.receive(entry);
    this.index.move(entry, "inFlight", until);
    const receiptHandle = writeReceipt({ queue: this.name, messageId: entry.id, receive: entry.receives });
    const { body, bodyMd5, messageAttributes } = content;
    return {
      messageId: entry.id,
      receiptHandle,
      body,
      bodyMd5,
      attributes: systemAttributes(entry, content),
      messageAttributes,
    };
  }

  /** Hides a message for this many seconds from now; 0 makes it visible immediately. */
  hide(entry: Entry, seconds: number): void {
    const until = seconds > 0 ? this.#clock.now() + seconds * 1000 : 0;
    this.#rows.hide(entry.seq, until);
    this.index.move(entry, seconds > 0 ? "inFlight" : "visible", until);
  }
}
