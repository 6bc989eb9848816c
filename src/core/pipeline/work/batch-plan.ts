import { within } from "../../../util/within.ts";
import type { Visibility } from "../../ports/queues.ts";
import type { Clock, Delivery, Log, Queues } from "../../ports/tasks.ts";
import { type TaskMessage, timeoutOf } from "../../task/puller.ts";

/** Longest wait for hiding messages, in seconds. */
export const hideSeconds = 5;

/** Least seconds between two requests that hide finished messages. */
const minPauseSeconds = 5;

/** A finished message whose visibility time-out ends within this many seconds is hidden until the batch ends. */
const aheadSeconds = 12;

/** Lambda deletes a batch's messages after the function has answered; this many seconds are for that. */
const deleteSeconds = 60;

/** SQS's longest visibility time-out, in seconds. */
const longestVisibilitySeconds = 43_200;

interface VisibilityPorts {
  clock: Clock;
  queues: Queues;
  log: Log;
}

/**
 * Hides the messages of one batch. Lambda deletes messages only when the whole batch has ended, so a finished message
 * must not become visible beside a slow one: it would be received again, up to its redrive. A message of a running
 * attempt is hidden as long as the attempt's lease, so that a dead worker is noticed when the lease ends.
 */
export class BatchVisibility implements Visibility {
  readonly #ports: VisibilityPorts;
  readonly #deadlineMs: number;
  /** Time at which each message becomes visible, as far as this batch knows. */
  readonly #hiddenUntil = new Map<Delivery, number>();
  readonly #finished = new Set<Delivery>();
  #stopTimer: () => void = () => {};
  #hiding = false;
  #closed = false;

  /** @param deadlineMs Epoch milliseconds at which the batch's function is stopped. */
  constructor(ports: VisibilityPorts, deadlineMs: number) {
    this.#ports = ports;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Hides messages for the given seconds from now. If that fails, they come back after the queue's own visibility
   * time-out. Work does not wait for a queue that does not answer.
   */
  async hide(messages: readonly { delivery: Delivery; seconds: number }[]): Promise<void> {
    const { clock, log } = this.#ports;
    const hidden = this.#change(messages).catch((error: unknown) => {
      log.warn("could not change the visibility of messages", { error: String(error) });
    });
    await within(clock, hideSeconds * 1000, hidden, () => {});
  }

  renew(delivery: Delivery, seconds: number): Promise<void> {
    return this.#change([{ delivery, seconds }]);
  }

  /** Marks a message that Lambda is to delete: it stays hidden until the batch ends. */
  finished(delivery: Delivery): void {
    this.#finished.add(delivery);
    this.#schedule(0);
  }

  /** Ends the work of this object. Call it when the batch has ended. */
  close(): void {
    this.#closed = true;
    this.#stopTimer();
  }

  async #change(messages: readonly { delivery: Delivery; seconds: number }[]): Promise<void> {
    const first = messages[0];
    if (first === undefined) return;
    const now = this.#ports.clock.now();
    const holds = messages.map(({ delivery: { receiptHandle }, seconds }) => ({ receiptHandle, seconds }));
    await this.#ports.queues.hold(first.delivery.tier, holds, first.delivery.runsOn);
    for (const { delivery, seconds } of messages) this.#hiddenUntil.set(delivery, now + seconds * 1000);
  }

  /** Sets the timer for the finished message that becomes visible first. */
  #schedule(minDelayMs: number): void {
    if (this.#closed || this.#hiding) return;
    this.#stopTimer();
    const times = [...this.#finished].map((delivery) => this.#hiddenUntil.get(delivery) ?? Number.POSITIVE_INFINITY);
    const firstMs = Math.min(...times);
    if (firstMs >= this.#deadlineMs) return;
    const delayMs = Math.max(minDelayMs, firstMs - aheadSeconds * 1000 - this.#ports.clock.now());
    this.#stopTimer = this.#ports.clock.after(delayMs, () => {
      this.#hiding = true;
      void this.#hideFinished().then(() => {
        this.#hiding = false;
        this.#schedule(minPauseSeconds * 1000);
      });
    });
  }

  /** Hides each finished message that would become visible soon, until the batch has certainly ended. */
  async #hideFinished(): Promise<void> {
    const now = this.#ports.clock.now();
    const soon = now + (aheadSeconds + minPauseSeconds) * 1000;
    const leftSeconds = Math.max(0, Math.ceil((this.#deadlineMs - now) / 1000));
    const seconds = Math.min(longestVisibilitySeconds, leftSeconds + deleteSeconds);
    const early = [...this.#finished].filter((delivery) => (this.#hiddenUntil.get(delivery) ?? soon + 1) <= soon);
    await this.hide(early.map((delivery) => ({ delivery, seconds })));
  }
}

/**
 * Longest time for the claims of a batch, in seconds. The shortest lease, 17 s, must last until its handler has
 * started.
 */
export const beginSeconds = 10;

/**
 * Time that an attempt needs besides its time-out, in seconds: before it for hiding and claims, after it for settling.
 */
export const reserveSeconds = hideSeconds + beginSeconds + 15;

/** The order of work on one batch. */
export interface BatchPlan {
  /** Claimed and run at the same time. */
  together: TaskMessage[];
  /** Run one after the other, when those before have ended. */
  alone: TaskMessage[];
  /** Not started in this batch, for the sake of a message that runs alone: sent to the tier again. */
  sentBack: TaskMessage[];
  /** Not started: the function is stopped before an attempt could end, whatever the batch does. */
  late: TaskMessage[];
}

/** The longest time, in milliseconds, from the start of a message's work to the end of its settling. */
const longestMs = (message: TaskMessage): number => (timeoutOf(message) + reserveSeconds) * 1000;

/** True when work on a message that starts now ends, at the latest, before the function is stopped. */
export const fitsIn = (message: TaskMessage, nowMs: number, deadlineMs: number): boolean =>
  nowMs + longestMs(message) <= deadlineMs;

/** The longest time, in milliseconds, that the messages before the messages that run alone may take. */
const longestTogetherMs = (together: readonly TaskMessage[]): number => Math.max(0, ...together.map(longestMs));

/**
 * The longest time, in milliseconds, until each message that runs alone starts: after the rest, and after those before
 * it.
 */
export function waitsMs(together: readonly TaskMessage[], alone: readonly TaskMessage[]): number[] {
  let waitMs = longestTogetherMs(together);
  return alone.map((message) => {
    const own = waitMs;
    waitMs += longestMs(message);
    return own;
  });
}

/**
 * Plans a batch. Messages of crashed tasks run alone, after the rest. Where that may not fit before the deadline, the
 * first of them runs at once and everything else is sent back: a task of 14 minutes would otherwise never start in a
 * busy tier.
 */
export function planBatch(messages: readonly TaskMessage[], nowMs: number, deadlineMs: number): BatchPlan {
  const late = messages.filter((message) => !fitsIn(message, nowMs, deadlineMs));
  const starting = messages.filter((message) => !late.includes(message));
  const together = starting.filter(({ delivery }) => !delivery.solo);
  const alone = starting.filter(({ delivery }) => delivery.solo);
  const wholeMs = longestTogetherMs(together) + alone.reduce((sum, message) => sum + longestMs(message), 0);
  if (alone.length === 0 || nowMs + wholeMs <= deadlineMs) return { together, alone, sentBack: [], late };
  const [first] = alone;
  return {
    together: [],
    alone: first === undefined ? [] : [first],
    sentBack: starting.filter((message) => message !== first),
    late,
  };
}
