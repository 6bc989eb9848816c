import type { DeadLetterMessage, Ticket } from "../../src/core/model/envelope.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import type { Delivery, Outgoing, QueueDepth, Queues } from "../../src/core/ports/tasks.ts";
import { maxReceiveCount, workerTimeoutSeconds } from "../../src/settings/config.ts";
import type { Dice } from "./dice.ts";
import type { Scheduler } from "./scheduler.ts";
import { useUp, type Weather } from "./weather.ts";

/** The queues that functions are fed from: the tiers, and the one that takes what they gave up on. */
export type QueueName = Tier | "redrive";

export const queueNames: readonly QueueName[] = [...tiers, "redrive"];

interface Message {
  id: number;
  queue: QueueName;
  /** The tier it was sent to. */
  tier: Tier;
  body: string;
  solo: boolean;
  redrives: number;
  tenantId: string | undefined;
  ticket: Ticket | undefined;
  receiveCount: number;
  handle: string;
  visibleAt: number;
  sentAt: number;
}

interface PutOptions {
  delaySeconds?: number;
  solo?: boolean;
  redrives?: number;
  tenantId?: string | undefined;
  ticket?: Ticket | undefined;
}

interface QueueOptions {
  /** Called with each moment at which a message becomes visible. */
  wake: (queue: QueueName, atMs: number) => void;
  /** Time that a message waits behind others in its tier, in milliseconds. */
  behindMs: number;
}

/** As deployed: visibility in seconds, and how often a message is handed out before it is moved on. */
const settings = {
  tier: { visibilitySeconds: 6 * workerTimeoutSeconds, maxReceives: maxReceiveCount },
  redrive: { visibilitySeconds: 360, maxReceives: maxReceiveCount + 15 },
} as const;

const settingsOf = (queue: QueueName) => (queue === "redrive" ? settings.redrive : settings.tier);

/** A message of a DLQ: a letter, or what the redrive queue itself gave up on. A sweep sees it when it is not hidden. */
export type DeadMessage = ({ tier: Tier; letter: DeadLetterMessage } | { tier: Tier; body: string }) & {
  id?: string;
  handle?: string;
  visibleAt?: number;
};

/** SQS: standard queues, so delivery is at least once and in no order. */
export class SimQueues {
  readonly dead: DeadMessage[] = [];
  readonly #time: Scheduler;
  readonly #dice: Dice;
  readonly #weather: Weather;
  readonly #wake: (queue: QueueName, atMs: number) => void;
  readonly behindMs: number;
  /** Messages of tasks that were sent to tiers. */
  sent = 0;
  readonly #messages = new Map<number, Message>();
  #nextId = 1;

  constructor(time: Scheduler, dice: Dice, weather: Weather, { wake, behindMs }: QueueOptions) {
    this.#time = time;
    this.#dice = dice;
    this.#weather = weather;
    this.#wake = wake;
    this.behindMs = behindMs;
  }

  send({ tier, envelope, delaySeconds, solo, redrives, ticket }: Outgoing): number {
    const tenantId = envelope.tenant_id;
    this.sent += 1;
    return this.put(tier, JSON.stringify(envelope), { delaySeconds, solo, redrives, tenantId, ticket });
  }

  sendCheck({ tier, check, delaySeconds }: Parameters<Queues["sendCheck"]>[0]): number {
    return this.put(tier, JSON.stringify(check), { delaySeconds });
  }

  /** Puts any text into a tier; gives the message's number. */
  put(
    tier: Tier,
    body: string,
    { delaySeconds = 0, solo = false, redrives = 0, tenantId, ticket }: PutOptions = {},
  ): number {
    const id = this.#nextId++;
    const now = this.#time.now;
    const sent = { receiveCount: 0, handle: "", sentAt: now, visibleAt: 0 };
    this.#messages.set(id, { id, queue: tier, tier, body, solo, redrives, tenantId, ticket, ...sent });
    this.#show(this.#messages.get(id), now + delaySeconds * 1000 + this.behindMs);
    return id;
  }

  /** Hides or shows messages that are in flight; the rest of the batch is not done, as SQS does it. */
  hold(messages: readonly { receiptHandle: string; seconds: number }[]): void {
    for (const { receiptHandle, seconds } of messages) {
      const message = this.#byHandle(receiptHandle);
      if (message !== undefined && message.visibleAt > this.#time.now)
        this.#show(message, this.#time.now + seconds * 1000);
    }
  }

  /** Hands out visible messages, in random order; what was handed out too often is moved on instead. */
  receive(queue: QueueName, most: number): Delivery[] {
    const now = this.#time.now;
    const visible: Message[] = [];
    for (const message of this.#messages.values()) {
      if (message.queue !== queue || message.visibleAt > now) continue;
      if (message.receiveCount >= settingsOf(queue).maxReceives) this.#moveOn(message);
      else visible.push(message);
    }
    return this.#dice
      .shuffle(visible)
      .slice(0, most)
      .map((message) => this.#handOut(message));
  }

  /** Deletes a message. An old receipt may do nothing, and a deleted message may come again: delivery is at least once. */
  delete(receiptHandle: string): void {
    const message = this.#messages.get(Number(receiptHandle.split(":")[0]));
    if (message === undefined) return;
    if (message.handle !== receiptHandle && this.#dice.chance(0.5)) return;
    if (useUp(this.#weather, this.#dice.chance(this.#weather.undelete)))
      this.#show(message, this.#time.now + this.#dice.spread(1, 600_000));
    else this.#messages.delete(message.id);
  }

  /** Every message that is left. */
  left(): { queue: QueueName; id: number; body: string }[] {
    return [...this.#messages.values()];
  }

  /** Messages of a tier. Those that are visible, too, are in flight here. */
  depthOf(tier: Tier): QueueDepth {
    const inFlight = [...this.#messages.values()].filter(({ queue }) => queue === tier).length;
    return { visible: 0, delayed: 0, inFlight };
  }

  /** True when a worker can receive a message of the task, or a check of the line, now, or a few seconds later. */
  isVisible(name: string): boolean {
    const soon = this.#time.now + 5000;
    return [...this.#messages.values()].some(({ body, visibleAt }) => visibleAt <= soon && body.includes(`"${name}"`));
  }

  /** True when a message of the task is in a tier, or has been there until redrive got it. */
  hasMessage(tier: Tier, taskId: string): boolean {
    return [...this.#messages.values()].some((message) => message.tier === tier && message.body.includes(taskId));
  }

  #handOut(message: Message): Delivery {
    message.receiveCount += 1;
    message.handle = `${message.id}:${message.receiveCount}`;
    // Redrive's count is for outages: of those it stands two hours.
    const twice = message.queue !== "redrive" && useUp(this.#weather, this.#dice.chance(this.#weather.duplicate));
    const hiddenMs = twice ? this.#dice.spread(1, 10_000) : settingsOf(message.queue).visibilitySeconds * 1000;
    this.#show(message, this.#time.now + hiddenMs);
    const { tier, handle: receiptHandle, body, receiveCount, solo, redrives, sentAt, tenantId, ticket } = message;
    const delivery = { tier, messageId: String(message.id), receiptHandle, body, receiveCount, solo, redrives, sentAt };
    return { ...delivery, ...(tenantId !== undefined && { tenantId }), ...(ticket !== undefined && { ticket }) };
  }

  #moveOn(message: Message): void {
    if (message.queue === "redrive") {
      this.#messages.delete(message.id);
      this.dead.push({ tier: message.tier, body: message.body });
      return;
    }
    message.queue = "redrive";
    message.receiveCount = 0;
    this.#wake("redrive", this.#time.now);
  }

  #show(message: Message | undefined, atMs: number): void {
    if (message === undefined) return;
    message.visibleAt = atMs;
    this.#wake(message.queue, atMs);
  }

  #byHandle(receiptHandle: string): Message | undefined {
    const message = this.#messages.get(Number(receiptHandle.split(":")[0]));
    return message?.handle === receiptHandle ? message : undefined;
  }
}
