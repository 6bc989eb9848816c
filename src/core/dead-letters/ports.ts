import type { Tier } from "../tier.ts";

/** One message of a DLQ, held by its reader. */
export interface HeldLetter {
  receiptHandle: string;
  body: string;
}

/** Reading and emptying the DLQs: for sweeps only. */
export interface DeadLetterQueues {
  /**
   * Up to 10 messages, hidden from others for so many seconds. An empty array may mean that none is left.
   * @param waitSeconds How long to wait for the first one, 1 to 4. Default: 1.
   */
  receive(tier: Tier, holdSeconds: number, waitSeconds?: number): Promise<HeldLetter[]>;
  delete(tier: Tier, letters: readonly HeldLetter[]): Promise<void>;
  /** Makes messages visible again at once. */
  release(tier: Tier, letters: readonly HeldLetter[]): Promise<void>;
}
