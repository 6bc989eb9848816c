import type { Tier } from "../model/tier.ts";
import type { Delivery } from "./tasks.ts";

/** The queues that container workers read. Contract suite: `test/contract/work-queues.ts`. */
export interface WorkQueues {
  /**
   * Receives up to `most` messages of a tier, 1 to 10, and hides them for `hideSeconds`. Waits up to `waitSeconds`, 1
   * to 20, for the first. When the signal aborts, it stops waiting and returns what has arrived.
   * @throws PortUnavailable
   */
  receive(
    tier: Tier,
    options: { most: number; waitSeconds: number; hideSeconds: number },
    signal: AbortSignal,
  ): Promise<Delivery[]>;
  /**
   * Deletes a received message. SQS may deliver it once more; the claim decides.
   * @throws PortUnavailable
   */
  remove(delivery: Delivery): Promise<void>;
}
