import type { EventBus, OutgoingEvent } from "../core/ports/notify.ts";
import type { RefusedEvents } from "../core/schedules/ports.ts";
import type { EventFiring } from "../core/schedules/trigger.ts";
import { copy } from "./copy.ts";

/** An event bus in memory. */
export class MemoryEventBus implements EventBus {
  /** Events that the bus has, oldest first. */
  readonly events: OutgoingEvent[] = [];

  async put(events: readonly OutgoingEvent[]): Promise<readonly (Error | undefined)[]> {
    this.events.push(...copy(events));
    return events.map(() => undefined);
  }
}

/** The dead-letter queue of firings in memory. */
export class MemoryRefusedEvents implements RefusedEvents {
  /** Oldest first. */
  readonly firings: EventFiring[] = [];

  async keep(firing: EventFiring): Promise<void> {
    this.firings.push(copy(firing));
  }
}
