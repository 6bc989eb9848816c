import { createHash, randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports.ts";
import { systemClock } from "../clock.ts";
import { Availability } from "./availability.ts";
import { type Entry, FairIndex } from "./fair-index.ts";
import {
  defaultSettings,
  type NewMessage,
  type QueueCounts,
  type QueueSettings,
  queueArn,
  type ReceivedMessage,
  systemAttributes,
} from "./queue-message.ts";
import { type Content, QueueRows } from "./queue-rows.ts";
import { ReceiptError, readReceipt, writeReceipt } from "./receipt.ts";

/** The longest sleep between looks at the clock: the machine's own sleep stops timers. */
const maxSleepMs = 30_000;

interface Queue {
  readonly name: string;
  readonly availability: Availability;
  index: FairIndex;
  settings: QueueSettings;
}

/**
 * SQS standard queues on disk. Every change is in SQLite before the call returns; the order of messages is kept in
 * memory. A queue exists as soon as it is named.
 */
export class QueueStore {
  /** The database; its definitions of queues are for whoever creates queues. */
  readonly rows: QueueRows;
  readonly #clock: Clock;
  readonly #queues = new Map<string, Queue>();
  #sleep = { until: Number.POSITIVE_INFINITY, cancel: () => {} };

  /** Without a state directory the queues live in memory. */
  constructor({ stateDir, clock = systemClock }: { stateDir?: string | undefined; clock?: Clock }) {
    this.rows = new QueueRows(stateDir);
    this.#clock = clock;
    this.#load();
  }

  /** Says how a queue treats its messages; those that it has stay. */
  define(name: string, settings: QueueSettings): void {
    this.#queue(name).settings = settings;
  }

  send(name: string, message: NewMessage): { messageId: string; bodyMd5: string } {
    const queue = this.#current(name);
    const messageId = message.messageId ?? randomUUID();
    const bodyMd5 = createHash("md5").update(message.body).digest("hex");
    const delayMs = (message.delaySeconds ?? queue.settings.delaySeconds) * 1000;
    this.#insert(queue, { id: messageId, groupId: message.groupId, delayMs }, { ...message, bodyMd5 });
    this.#announce(queue);
    return { messageId, bodyMd5 };
  }

  /**
   * Takes up to `max` visible messages, fairly by group, and hides them. A message that was received as often as the
   * queue's redrive allows goes to the dead-letter queue instead.
   */
  receive(name: string, max: number, options: { visibilitySeconds?: number | undefined } = {}): ReceivedMessage[] {
    const queue = this.#current(name);
    const received: ReceivedMessage[] = [];
    if (queue.index.next() === undefined) return received;
    const until = this.#clock.now() + (options.visibilitySeconds ?? queue.settings.visibilitySeconds) * 1000;
    this.#atOnce(() => {
      for (let entry = queue.index.next(); entry && received.length < max; entry = queue.index.next()) {
        if (!this.#bury(queue, entry)) received.push(this.#take(queue, entry, until));
      }
    });
    this.#watch(queue);
    return received;
  }

  /**
   * Deletes a message, also a visible one. A handle of an earlier receive, or of a message that is gone, does nothing.
   * @throws ReceiptError for what is not a receipt handle of this queue.
   */
  delete(name: string, receiptHandle: string): void {
    const queue = this.#current(name);
    const { messageId, receive } = readReceipt(name, receiptHandle);
    const entry = queue.index.get(messageId);
    if (entry?.receives === receive) this.#remove(queue, entry);
  }

  /**
   * Hides a received message for so many seconds from now; 0 makes it visible at once. The receive count stays.
   * @throws ReceiptError when the handle is not of the message's latest receive, or the message is not in flight.
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
    if (queue.index.whereabouts(entry) !== "inFlight") {
      throw new ReceiptError("MessageNotInflight", "The message referred to isn't in flight.");
    }
    const until = seconds > 0 ? this.#clock.now() + seconds * 1000 : 0;
    this.rows.hide(entry.seq, until);
    queue.index.move(entry, seconds > 0 ? "inFlight" : "visible", until);
    this.#announce(queue);
  }

  counts(name: string): QueueCounts {
    const { index } = this.#current(name);
    return { ...index.counts, oldestSentAt: index.oldest()?.sentAt };
  }

  /** Deletes all messages of the queue. */
  purge(name: string): void {
    this.rows.purge(name);
    this.#queue(name).index = new FairIndex();
  }

  /** Makes the in-flight messages of all queues visible: for a start, when none of their receivers can be alive. */
  releaseAll(): void {
    this.rows.release();
    for (const queue of this.#queues.values()) {
      const held = [...queue.index.entries()].filter((entry) => queue.index.whereabouts(entry) === "inFlight");
      for (const entry of held) queue.index.move(entry, "visible");
      this.#announce(queue);
    }
  }

  /**
   * Sends the next visible message anew to another queue, as a message move task does: with a new id and age, never
   * received. `target` names that queue, from the ARN of the queue that gave the message up; undefined leaves the
   * message where it is. Gives whether a message was moved.
   */
  resend(name: string, target: (sourceArn: string | undefined) => string | undefined): boolean {
    const queue = this.#current(name);
    const entry = queue.index.next();
    if (entry === undefined) return false;
    const content = this.rows.content(entry.seq);
    const to = target(content.sourceArn);
    if (to === undefined) return false;
    this.#atOnce(() => {
      this.#insert(this.#queue(to), { id: randomUUID(), groupId: entry.groupId, delayMs: 0 }, content);
      this.#remove(queue, entry);
    });
    this.#announce(this.#queue(to));
    return true;
  }

  /** Calls back soon after messages of the queue became visible, delayed ones included. Gives the way to stop that. */
  onAvailable(name: string, callback: () => void): () => void {
    return this.#queue(name).availability.listen(callback);
  }

  /** Resolves when the queue has a visible message, at once if it has one now, or when the signal aborts. */
  whenAvailable(name: string, signal?: AbortSignal): Promise<void> {
    return this.#current(name).availability.wait(signal);
  }

  close(): void {
    this.#sleep.cancel();
    this.rows.close();
  }

  #queue(name: string): Queue {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const availability = new Availability(() => queue.index.next() !== undefined);
    const queue: Queue = { name, availability, index: new FairIndex(), settings: defaultSettings };
    this.#queues.set(name, queue);
    return queue;
  }

  /** The queue as it is now: hidden messages whose time has come are visible, those past their retention are gone. */
  #current(name: string): Queue {
    const queue = this.#queue(name);
    this.#advance(queue);
    return queue;
  }

  /** Gives whether messages became visible. */
  #advance(queue: Queue): boolean {
    const now = this.#clock.now();
    const { index } = queue;
    const oldestKept = now - queue.settings.retentionSeconds * 1000;
    for (let entry = index.oldest(); entry && entry.sentAt < oldestKept; entry = index.oldest()) {
      this.#remove(queue, entry);
    }
    let any = false;
    for (let entry = index.nextHidden(); entry && entry.until <= now; entry = index.nextHidden()) {
      index.move(entry, "visible");
      any = true;
    }
    return any;
  }

  #insert(
    queue: Queue,
    { id, groupId, delayMs }: { id: string; groupId?: string | undefined; delayMs: number },
    content: Content,
  ) {
    const now = this.#clock.now();
    const until = delayMs > 0 ? now + delayMs : 0;
    const entry = { id, groupId, sentAt: now, until, receives: 0, receiveCount: 0, firstReceivedAt: 0 };
    const seq = this.rows.insert(queue.name, entry, content);
    queue.index.add({ ...entry, seq }, until > 0 ? "delayed" : "visible");
  }

  #remove(queue: Queue, entry: Entry): void {
    this.rows.delete(entry.seq);
    queue.index.remove(entry);
  }

  #take(queue: Queue, entry: Entry, until: number): ReceivedMessage {
    entry.until = until;
    entry.receives += 1;
    entry.receiveCount += 1;
    entry.firstReceivedAt ||= this.#clock.now();
    const content = this.rows.receive(entry);
    queue.index.move(entry, "inFlight", until);
    const receiptHandle = writeReceipt({ queue: queue.name, messageId: entry.id, receive: entry.receives });
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

  /** Moves a message that was received often enough to the dead-letter queue; gives whether it was. */
  #bury(queue: Queue, entry: Entry): boolean {
    const { redrive } = queue.settings;
    if (redrive === undefined || entry.receives < redrive.maxReceiveCount) return false;
    const target = this.#queue(redrive.target);
    this.rows.bury(entry.seq, target.name, queueArn(queue.name));
    queue.index.remove(entry);
    target.index.add({ ...entry, receives: 0, until: 0 }, "visible");
    this.#announce(target);
    return true;
  }

  /** Does several steps as one; memory follows the database when that fails. */
  #atOnce(work: () => void): void {
    try {
      this.rows.atOnce(work);
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
    this.#rest();
  }

  /** Tells those who wait for the queue what has changed in it. */
  #announce(queue: Queue): void {
    if (queue.index.next() !== undefined) queue.availability.announce();
    this.#watch(queue);
  }

  /** Sees to it that the queue's hidden messages are noticed in time. */
  #watch(queue: Queue): void {
    const next = queue.index.nextHidden()?.until;
    if (next !== undefined && next < this.#sleep.until) this.#rest();
  }

  /** Sleeps until the next hidden message becomes visible. */
  #rest(): void {
    this.#sleep.cancel();
    const now = this.#clock.now();
    const times = [...this.#queues.values()].map(({ index }) => index.nextHidden()?.until ?? Number.POSITIVE_INFINITY);
    const until = Math.min(now + maxSleepMs, ...times);
    this.#sleep = { until, cancel: this.#clock.after(until - now, () => this.#rise()) };
  }

  #rise(): void {
    for (const queue of this.#queues.values()) if (this.#advance(queue)) queue.availability.announce();
    this.#rest();
  }
}
