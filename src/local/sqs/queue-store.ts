import { hash, randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/tasks.ts";
import { DiskFault, type DiskFaults } from "../disk/disk-faults.ts";
import { Alarm } from "../time/alarm.ts";
import { systemClock } from "../time/clock.ts";
import { type Entry, FairIndex } from "./fair-index.ts";
import {
  type NewMessage,
  type QueueCounts,
  type QueueSettings,
  queueArn,
  type ReceivedMessage,
} from "./queue-message.ts";
import { QueueRows } from "./queue-rows.ts";
import { ReceiptError, readReceipt } from "./receipt.ts";
import { SavedEnvelopes } from "./saved-envelopes.ts";
import { StoredQueue } from "./stored-queue.ts";

/** SQS hides a message for at most 12 hours, counted from its receive. */
const longestHiddenSeconds = 43_200;
/** Wait after the disk refused a change that the alarm makes, in milliseconds. */
const faultWaitMs = 1_000;

interface StoreOptions {
  /** Undefined: the queues are in memory only. */
  stateDir?: string | undefined;
  /** Default: the machine's clock. */
  clock?: Clock | undefined;
  /** Default: faults are not printed. */
  faults?: DiskFaults | undefined;
}

/**
 * SQS standard queues on disk. Every change is in SQLite before the call returns; the order of messages is kept in
 * memory. A queue exists from the first use of its name.
 */
export class QueueStore {
  /** The database. The SQS server also keeps its definitions of queues there. */
  readonly rows: QueueRows;
  readonly envelopes: SavedEnvelopes;
  readonly #clock: Clock;
  readonly #queues = new Map<string, StoredQueue>();
  /** Rings when the next hidden message of any queue becomes visible. */
  readonly #alarm: Alarm;

  constructor({ stateDir, clock = systemClock, faults }: StoreOptions) {
    this.rows = new QueueRows(stateDir, faults);
    this.envelopes = new SavedEnvelopes(stateDir, faults);
    this.#clock = clock;
    this.#alarm = new Alarm(clock, () => this.#advanceAll());
    this.#load();
  }

  /** Sets the queue's settings. Its messages stay. */
  define(name: string, settings: QueueSettings): void {
    this.#queue(name).settings = settings;
  }

  send(name: string, message: NewMessage): { messageId: string; bodyMd5: string } {
    const queue = this.#current(name);
    const messageId = message.messageId ?? randomUUID();
    const bodyMd5 = hash("md5", message.body);
    const delayMs = (message.delaySeconds ?? queue.settings.delaySeconds) * 1000;
    queue.insert({ id: messageId, groupId: message.groupId, delayMs }, { ...message, bodyMd5 });
    this.#announce(queue);
    return { messageId, bodyMd5 };
  }

  /**
   * Receives up to `max` visible messages, fairly by group, and hides them. A message that was already received
   * `maxReceiveCount` times goes to the dead-letter queue instead.
   */
  receive(name: string, max: number, options: { visibilitySeconds?: number | undefined } = {}): ReceivedMessage[] {
    const queue = this.#current(name);
    const received: ReceivedMessage[] = [];
    if (queue.index.next() === undefined) return received;
    const until = this.#clock.now() + (options.visibilitySeconds ?? queue.settings.visibilitySeconds) * 1000;
    this.#transaction(() => {
      for (let entry = queue.index.next(); entry && received.length < max; entry = queue.index.next()) {
        if (!this.#moveToDlq(queue, entry)) received.push(queue.receive(entry, until));
      }
    });
    this.#watch(queue);
    return received;
  }

  /**
   * Deletes a message, even a visible one. Does nothing when the message is gone or was received again since.
   * @throws ReceiptError when the handle is not a receipt handle of this queue
   */
  delete(name: string, receiptHandle: string): void {
    const queue = this.#current(name);
    const { messageId, receive } = readReceipt(name, receiptHandle);
    const entry = queue.index.get(messageId);
    if (entry?.receives === receive) queue.delete(entry);
  }

  /**
   * Hides a received message for this many seconds from now; 0 makes it visible immediately. The receive count stays.
   * @throws ReceiptError when the message was received again since, is not in flight, or would be hidden for more than
   * 12 hours
   */
  changeVisibility(name: string, receiptHandle: string, seconds: number): void {
    const queue = this.#current(name);
    const { messageId, receive } = readReceipt(name, receiptHandle);
    const entry = queue.index.get(messageId);
    if (entry?.receives !== receive) {
      const reason = "Message does not exist or is not available for visibility timeout change.";
      const message = `Value ${receiptHandle} for parameter ReceiptHandle is invalid. Reason: ${reason}`;
      throw new ReceiptError("InvalidParameterValue", message);
    }
    if (queue.index.stateOf(entry) !== "inFlight") {
      throw new ReceiptError("MessageNotInflight", "The message referred to isn't in flight.");
    }
    const hiddenMs = this.#clock.now() + seconds * 1000 - (entry.receivedAt ?? this.#clock.now());
    if (hiddenMs > longestHiddenSeconds * 1000) {
      const reason = `Total VisibilityTimeout for the message is beyond the limit [${longestHiddenSeconds} seconds]`;
      const message = `Value ${seconds} for parameter VisibilityTimeout is invalid. Reason: ${reason}.`;
      throw new ReceiptError("InvalidParameterValue", message);
    }
    queue.hide(entry, seconds);
    this.#announce(queue);
  }

  counts(name: string): QueueCounts {
    const { index } = this.#current(name);
    return { ...index.counts, oldestSentAt: index.oldest()?.sentAt };
  }

  /** Epoch milliseconds at which the next hidden message of these queues becomes visible. Undefined: none is hidden. */
  nextAt(names: Iterable<string>): number | undefined {
    const times = [...names].flatMap((name) => this.#queue(name).index.nextHidden()?.until ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Deletes all messages of the queue. */
  purge(name: string): void {
    this.rows.purge(name);
    this.#queue(name).index = new FairIndex();
  }

  /** Makes the in-flight messages of all queues visible. For the start, when no receiver can be alive. */
  releaseAll(): void {
    this.rows.release();
    for (const queue of this.#queues.values()) {
      const inFlight = [...queue.index.entries()].filter((entry) => queue.index.stateOf(entry) === "inFlight");
      for (const entry of inFlight) queue.index.move(entry, "visible");
      this.#announce(queue);
    }
  }

  /**
   * Sends the next visible message to another queue with a new id and age, as a message move task does. `target`
   * returns the name of that queue; its argument is the ARN of the queue from which the message came to this
   * dead-letter queue. Returns false when there is no message, or `target` returned undefined.
   */
  resend(name: string, target: (sourceArn: string | undefined) => string | undefined): boolean {
    const queue = this.#current(name);
    const entry = queue.index.next();
    if (entry === undefined) return false;
    const content = this.rows.content(entry.seq);
    const to = target(content.sourceArn);
    if (to === undefined) return false;
    this.#transaction(() => {
      this.#queue(to).insert({ id: randomUUID(), groupId: entry.groupId, delayMs: 0 }, content);
      queue.remove(entry);
    });
    this.#announce(this.#queue(to));
    return true;
  }

  /** Calls back soon after messages of the queue became visible. Returns a function that ends this. */
  onAvailable(name: string, callback: () => void): () => void {
    return this.#queue(name).availability.listen(callback);
  }

  /** Resolves when the queue has a visible message, or when the signal aborts. */
  whenAvailable(name: string, signal?: AbortSignal): Promise<void> {
    return this.#current(name).availability.wait(signal);
  }

  close(): void {
    this.#alarm.cancel();
    this.rows.close();
    this.envelopes.close();
  }

  #queue(name: string): StoredQueue {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = new StoredQueue(name, { rows: this.rows, envelopes: this.envelopes, clock: this.#clock });
    this.#queues.set(name, queue);
    return queue;
  }

  /**
   * The queue after the changes that are due at the current time. Notifies listeners: the alarm does not, when a call
   * that came just before it made the due messages visible.
   */
  #current(name: string): StoredQueue {
    const queue = this.#queue(name);
    if (queue.advance()) queue.availability.announce();
    return queue;
  }

  /** Moves a message to the dead-letter queue if it was received too often. Returns true when it was moved. */
  #moveToDlq(queue: StoredQueue, entry: Entry): boolean {
    const { redrive } = queue.settings;
    if (redrive === undefined || entry.receives < redrive.maxReceiveCount) return false;
    const target = this.#queue(redrive.target);
    this.rows.moveToDlq(entry.seq, target.name, queueArn(queue.name));
    queue.index.remove(entry);
    target.index.add({ ...entry, receives: 0, until: 0 }, "visible");
    this.#announce(target);
    return true;
  }

  /** Makes several changes in one transaction. When it fails, memory is loaded again from the database. */
  #transaction(work: () => void): void {
    try {
      this.rows.transaction(work);
    } catch (error) {
      for (const queue of this.#queues.values()) queue.index = new FairIndex();
      this.#load();
      throw error;
    }
  }

  #load(): void {
    const now = this.#clock.now();
    for (const { queue, entry } of this.rows.load()) {
      const hidden = entry.receives > 0 ? "inFlight" : "delayed";
      this.#queue(queue).index.add(entry, entry.until > now ? hidden : "visible");
    }
    this.#setAlarm();
  }

  /** Notifies the queue's listeners if it has visible messages. */
  #announce(queue: StoredQueue): void {
    if (queue.index.next() !== undefined) queue.availability.announce();
    this.#watch(queue);
  }

  /** Sets the alarm earlier if the queue's next hidden message needs that. */
  #watch(queue: StoredQueue): void {
    const next = queue.index.nextHidden()?.until;
    if (next !== undefined && next < this.#alarm.at) this.#setAlarm();
  }

  #setAlarm(): void {
    const times = [...this.#queues.values()].map(({ index }) => index.nextHidden()?.until ?? Number.POSITIVE_INFINITY);
    this.#alarm.set(Math.min(...times));
  }

  #advanceAll(): void {
    try {
      for (const queue of this.#queues.values()) if (queue.advance()) queue.availability.announce();
      this.#setAlarm();
    } catch (error) {
      if (!(error instanceof DiskFault)) throw error;
      this.#alarm.set(this.#clock.now() + faultWaitMs);
    }
  }
}
