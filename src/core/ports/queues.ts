import { PortUnavailable } from "../model/errors.ts";
import type { Tier } from "../model/words.ts";
import type { Delivery } from "./tasks.ts";

/** Keeps messages hidden while work on them goes on. */
export interface Visibility {
  /**
   * Hides one message for the given seconds from now.
   * @throws PortUnavailable
   */
  renew(delivery: Delivery, seconds: number): Promise<void>;
}

/** The queues that container workers read. Contract suite: `test/contract/work-queues.ts`. */
export interface WorkQueues {
  /**
   * Receives up to `max` messages of a tier, 1 to 10, and hides them for `hideSeconds`. Waits up to `waitSeconds`, 1
   * to 20, for the first. When the signal aborts, it stops waiting and returns what has arrived.
   * @throws PortUnavailable
   */
  receive(
    tier: Tier,
    options: { max: number; waitSeconds: number; hideSeconds: number },
    signal: AbortSignal,
  ): Promise<Delivery[]>;
  /**
   * Deletes a received message. SQS may deliver it once more; the claim decides.
   * @throws PortUnavailable
   */
  remove(delivery: Delivery): Promise<void>;
}

/** A message of a DLQ that is hidden from other readers. */
export interface ReceivedDeadLetter {
  messageId: string;
  receiptHandle: string;
  body: string;
}

/** The DLQs, for sweeps only. */
export interface DeadLetterQueues {
  /**
   * Receives up to 10 messages, and hides them from other readers for `holdSeconds`. An empty array may mean that none
   * is left.
   * @param waitSeconds Maximum time to wait for the first message, 1 to 4. Default: 1.
   */
  receive(tier: Tier, holdSeconds: number, waitSeconds?: number): Promise<ReceivedDeadLetter[]>;
  delete(tier: Tier, letters: readonly ReceivedDeadLetter[]): Promise<void>;
  /** Makes messages visible again immediately. */
  release(tier: Tier, letters: readonly ReceivedDeadLetter[]): Promise<void>;
}

/** The end of a delivery: a `done` message is deleted, an `again` message is delivered once more. */
export type Verdict = "done" | "again";

/** Returns `again` when a port was unavailable, and throws any other error. */
export function againWhenUnavailable(error: unknown): Verdict {
  if (error instanceof PortUnavailable) return "again";
  throw error;
}
