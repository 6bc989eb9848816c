import type { Tier } from "../model/tier.ts";

/** A message of a DLQ that is hidden from other readers. */
export interface HeldLetter {
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
  receive(tier: Tier, holdSeconds: number, waitSeconds?: number): Promise<HeldLetter[]>;
  delete(tier: Tier, letters: readonly HeldLetter[]): Promise<void>;
  /** Makes messages visible again immediately. */
  release(tier: Tier, letters: readonly HeldLetter[]): Promise<void>;
}
