import type { Delivery } from "./tasks.ts";

/** Keeps messages hidden while work on them goes on. */
export interface Visibility {
  /**
   * Hides one message for the given seconds from now.
   * @throws PortUnavailable
   */
  renew(delivery: Delivery, seconds: number): Promise<void>;
}
