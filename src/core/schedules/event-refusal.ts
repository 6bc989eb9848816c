import { tenantPattern } from "../model/keys.ts";
import { withoutValues } from "../model/problem.ts";
import type { SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import type { BusEvent } from "./bus-event.ts";
import { fillAsText, PathMissing } from "./event-path.ts";
import { countRefusal, type FiringOutcome, isFinalRefusal } from "./fire-schedule.ts";
import type { RefusedEvents } from "./ports.ts";
import type { AppTrigger, EventFiring } from "./trigger.ts";

export interface RefusalPorts extends Pick<SubmitPorts, "log" | "metrics" | "types"> {
  refusedEvents: RefusedEvents;
}

/** The event cannot become a task, however often it is delivered. */
export class EventRefused extends Error {
  static override readonly name: string = "EventRefused";
}

/** Keeps an event that cannot have its effect, however often it is delivered. */
export async function refused(
  ports: RefusalPorts,
  firing: EventFiring,
  of: Parameters<typeof countRefusal>[1],
  reason: string,
): Promise<FiringOutcome> {
  const { trigger, event } = firing;
  await ports.refusedEvents.keep(firing);
  countRefusal(ports, of);
  ports.log.error("an event's task was refused; the event is in the dead-letter queue of firings", {
    ...{ trigger, event_id: event.id, event_source: event.source },
    outcome: "refused",
    error: reason,
  });
  return "refused";
}

export function refusalOf(error: unknown): string | undefined {
  if (error instanceof EventRefused || error instanceof PathMissing) return error.message;
  return isFinalRefusal(error) ? withoutValues(error) : undefined;
}

/** @throws EventRefused, PathMissing */
export function tenantOf({ tenant_id }: AppTrigger, event: BusEvent): string {
  const tenantId = fillAsText(tenant_id, event);
  if (tenantPattern.test(tenantId)) return tenantId;
  throw new EventRefused(`the value at ${tenant_id} is not a tenant's id`);
}
