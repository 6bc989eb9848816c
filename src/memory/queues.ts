import { type DeadLetterMessage, messageText, type Ticket } from "../core/model/envelope.ts";
import { type Tier, tiers } from "../core/model/words.ts";
import type { DeadLetterQueues, ReceivedDeadLetter } from "../core/ports/queues.ts";
import type { Clock, Delivery, MainQueue, Outgoing, QueueDepth, QueueDepths, Queues } from "../core/ports/tasks.ts";
import { Heap } from "../util/heap.ts";

interface QueuedMessage extends MainQueue {
  id: number;
  body: string;
  solo: boolean;
  redrives: number;
  tenantId?: string;
  ticket?: Ticket;
  receiveCount: number;
  receiptHandle: string;
  /** Epoch milliseconds at which it becomes visible. */
  visibleAt: number;
  sentAt: number;
}

interface DeadLetter {
  /** Absent until it is received. */
  id?: string;
  body: string;
  visibleAt: number;
  handle: string;
}

/** The messages of a queue: the visible ones, oldest first, and the hidden ones, in the order in which they appear. */
interface Queue {
  visible: Heap<QueuedMessage>;
  hidden: Heap<QueuedMessage>;
}

/** The tier queues and their DLQs in memory. The caller plays the event source with `take` and `acknowledge`. */
export class MemoryQueues implements Queues, DeadLetterQueues, QueueDepths {
  readonly #clock: Clock;
  readonly #messages = new Map<number, QueuedMessage>();
  readonly #ofFunctions = new Map(tiers.map((tier) => [tier, newQueue()]));
  readonly #ofContainers = new Map(tiers.map((tier) => [tier, newQueue()]));
  readonly #letters = new Map<Tier, DeadLetter[]>(tiers.map((tier) => [tier, []]));
  readonly #listeners = new Set<() => void>();
  #nextId = 1;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async send(message: Outgoing): Promise<void> {
    this.put(message.tier, messageText(message.envelope), {
      delaySeconds: message.delaySeconds,
      solo: message.solo,
      redrives: message.redrives,
      tenantId: message.envelope.tenant_id,
      runsOn: message.runsOn,
      ticket: message.ticket,
    });
  }

  async sendCheck({ tier, runsOn, check, delaySeconds }: Parameters<Queues["sendCheck"]>[0]): Promise<void> {
    this.put(tier, messageText(check), { delaySeconds, runsOn });
  }

  /** Puts any text into a tier, as a sender with access to the queue could. */
  put(
    tier: Tier,
    body: string,
    options: {
      delaySeconds?: number;
      solo?: boolean;
      redrives?: number;
      tenantId?: string;
      runsOn?: MainQueue["runsOn"];
      ticket?: Ticket | undefined;
    } = {},
  ): void {
    const now = this.#clock.now();
    const id = this.#nextId++;
    const held: QueuedMessage = {
      id,
      tier,
      body,
      solo: options.solo ?? false,
      redrives: options.redrives ?? 0,
      ...(options.tenantId === undefined ? {} : { tenantId: options.tenantId }),
      ...(options.runsOn === undefined ? {} : { runsOn: options.runsOn }),
      ...(options.ticket === undefined ? {} : { ticket: options.ticket }),
      receiveCount: 0,
      receiptHandle: "",
      visibleAt: now + (options.delaySeconds ?? 0) * 1000,
      sentAt: now,
    };
    this.#messages.set(id, held);
    this.#place(held);
    this.#announce();
  }

  async hold(
    _tier: Tier,
    messages: readonly { receiptHandle: string; seconds: number }[],
    _runsOn?: "container",
  ): Promise<void> {
    for (const { receiptHandle, seconds } of messages) {
      const held = this.#byHandle(receiptHandle);
      if (held === undefined) continue;
      held.visibleAt = this.#clock.now() + seconds * 1000;
      this.#place(held);
    }
    this.#announce();
  }

  /** Calls back after messages were sent or hidden. Returns a function that ends this. */
  onChange(call: () => void): () => void {
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  /** Time at which the next message of a queue is visible: now or earlier, if one is. Infinity: there is none. */
  nextVisibleAt(tier: Tier, runsOn?: "container"): number {
    const { visible, hidden } = this.#queueNow({ tier, runsOn });
    return (visible.first() ?? hidden.first())?.visibleAt ?? Number.POSITIVE_INFINITY;
  }

  #announce(): void {
    for (const call of [...this.#listeners]) call();
  }

  async deadLetter(tier: Tier, deadLetter: DeadLetterMessage): Promise<void> {
    this.deadLettersOf(tier).push({ body: messageText(deadLetter), visibleAt: this.#clock.now(), handle: "" });
  }

  /** Receives up to `max` visible messages, oldest first, and hides them for `visibilitySeconds`. */
  take(tier: Tier, max: number, visibilitySeconds: number, runsOn?: "container"): Delivery[] {
    const now = this.#clock.now();
    const { visible } = this.#queueNow({ tier, runsOn });
    const taken: QueuedMessage[] = [];
    for (let held = visible.first(); held !== undefined && taken.length < max; held = visible.first()) {
      taken.push(held);
      visible.delete(held);
    }
    return taken.map((held) => {
      held.receiveCount += 1;
      held.receiptHandle = `${held.id}:${held.receiveCount}`;
      held.visibleAt = now + visibilitySeconds * 1000;
      this.#place(held);
      const { id, visibleAt, ...rest } = held;
      return { ...rest, messageId: String(id) };
    });
  }

  /** Deletes a message by its latest receipt handle. */
  acknowledge(receiptHandle: string): void {
    const held = this.#byHandle(receiptHandle);
    if (held === undefined) return;
    this.#messages.delete(held.id);
    const { visible, hidden } = this.#queue(held);
    visible.delete(held);
    hidden.delete(held);
  }

  /** All messages of a tier, visible and hidden. */
  waiting(tier: Tier): readonly { body: string; visibleAt: number; receiveCount: number; solo: boolean }[] {
    return [...this.#messages.values()].filter((held) => held.tier === tier);
  }

  /** The messages of a tier's DLQ. */
  deadLettersOf(tier: Tier): DeadLetter[] {
    return this.#letters.get(tier) ?? [];
  }

  async receive(tier: Tier, holdSeconds: number): Promise<ReceivedDeadLetter[]> {
    const now = this.#clock.now();
    const visible = this.deadLettersOf(tier).filter((deadLetter) => deadLetter.visibleAt <= now);
    return visible.slice(0, 10).map((deadLetter) => {
      deadLetter.visibleAt = now + holdSeconds * 1000;
      deadLetter.handle = String(this.#nextId++);
      deadLetter.id ??= deadLetter.handle;
      return { messageId: deadLetter.id, receiptHandle: deadLetter.handle, body: deadLetter.body };
    });
  }

  async delete(tier: Tier, deadLetters: readonly ReceivedDeadLetter[]): Promise<void> {
    const handles = new Set(deadLetters.map((deadLetter) => deadLetter.receiptHandle));
    this.#letters.set(
      tier,
      this.deadLettersOf(tier).filter((deadLetter) => !handles.has(deadLetter.handle)),
    );
  }

  async release(tier: Tier, deadLetters: readonly ReceivedDeadLetter[]): Promise<void> {
    const handles = new Set(deadLetters.map((deadLetter) => deadLetter.receiptHandle));
    for (const deadLetter of this.deadLettersOf(tier))
      if (handles.has(deadLetter.handle)) deadLetter.visibleAt = this.#clock.now();
  }

  async ofTier(tier: Tier): Promise<QueueDepth> {
    const now = this.#clock.now();
    const messages = [...this.#messages.values()].filter((held) => held.tier === tier);
    const hidden = messages.filter((held) => held.visibleAt > now);
    const delayed = hidden.filter((held) => held.receiveCount === 0).length;
    return { visible: messages.length - hidden.length, inFlight: hidden.length - delayed, delayed };
  }

  async ofDlq(tier: Tier): Promise<QueueDepth> {
    const deadLetters = this.deadLettersOf(tier);
    const inFlight = deadLetters.filter((deadLetter) => deadLetter.visibleAt > this.#clock.now()).length;
    return { visible: deadLetters.length - inFlight, inFlight, delayed: 0 };
  }

  /** Sorts a new message, or a message whose `visibleAt` has changed, into its queue. */
  #place(held: QueuedMessage): void {
    const { visible, hidden } = this.#queue(held);
    visible.delete(held);
    hidden.put(held);
  }

  #queue({ tier, runsOn }: MainQueue): Queue {
    const queues = runsOn === "container" ? this.#ofContainers : this.#ofFunctions;
    return queues.get(tier) as Queue;
  }

  /** A queue whose messages are visible as far as their time has come. */
  #queueNow(name: MainQueue): Queue {
    const { visible, hidden } = this.#queue(name);
    const now = this.#clock.now();
    for (let held = hidden.first(); held !== undefined && held.visibleAt <= now; held = hidden.first()) {
      hidden.delete(held);
      visible.put(held);
    }
    return { visible, hidden };
  }

  #byHandle(receiptHandle: string): QueuedMessage | undefined {
    const held = this.#messages.get(Number(receiptHandle.split(":")[0]));
    return held?.receiptHandle === receiptHandle ? held : undefined;
  }
}

function newQueue(): Queue {
  return { visible: new Heap((a, b) => a.id < b.id), hidden: new Heap((a, b) => a.visibleAt < b.visibleAt) };
}
