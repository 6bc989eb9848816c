import type { EventFiring } from "./trigger.ts";

/** The dead-letter queue of firings, which keeps refused events until an operator moves them back to fire. */
export interface RefusedEvents {
  /** @throws PortUnavailable */
  keep(firing: EventFiring): Promise<void>;
}
