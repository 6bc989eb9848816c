import { tenantPattern } from "../model/keys.ts";
import { withoutValues } from "../model/problem.ts";
import { submit } from "../pipeline/submit/submit.ts";
import { isCorrelationId, type SubmitCall, type SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import { isTraceparent } from "../ports/tasks.ts";
import { type BusEvent, offloadSource } from "./bus-event.ts";
import { fill, fillAsText, PathMissing } from "./event-path.ts";
import { countRefusal, type FiringOutcome, isFinalRefusal } from "./fire-schedule.ts";
import type { RefusedEvents } from "./ports.ts";
import type { AppTrigger, EventFiring, TriggerAct, TriggeredTask } from "./trigger.ts";

export interface FireEventPorts extends SubmitPorts, RefusalPorts {
  /** By name. */
  triggers: ReadonlyMap<string, AppTrigger>;
  /** Cancels or signals the task that an event names. */
  actOnEvent: (firing: EventFiring, trigger: AppTrigger, act: TriggerAct) => Promise<FiringOutcome>;
  /** Saves the tenant of an event's task in the directory, as `noteTenant` does for a client's task. */
  noteTenantOfEvent?: SubmitPorts["noteTenant"];
}

/**
 * Number of tasks of triggers that may follow from one another by Offload's own events. More are taken for an endless
 * loop.
 */
const maxHops = 8;

/** Start of the principal of a trigger's tasks. */
const triggerPrincipal = "trigger:";

/** End of the correlation id of a task that an event became. The task's children inherit it. */
const hopSuffix = /:hop-(\d{1,4})$/;

/** Length to which the correlation id of an event is cut before the suffix. */
const longestBase = 112;

/**
 * Submits the task of an event: exactly one for each trigger and event, even if the event is delivered more than once.
 * The task's id is derived from both. A refused event is reported, kept in the dead-letter queue, and not delivered
 * again.
 * @throws any other error: the event is then delivered again
 */
export async function fireEvent(ports: FireEventPorts, firing: EventFiring): Promise<FiringOutcome> {
  const { trigger: name, event } = firing;
  const trigger = ports.triggers.get(name);
  const fields = { trigger: name, event_id: event.id, event_source: event.source };
  if (trigger === undefined) {
    ports.log.info("event ignored", { ...fields, outcome: "ignored", reason: "the app does not define this trigger" });
    return "ignored";
  }
  const { task, act } = trigger;
  if (act !== undefined) return ports.actOnEvent(firing, trigger, act);
  if (task === undefined) return "ignored";
  try {
    const noteTenant = ports.noteTenantOfEvent;
    const submitPorts = noteTenant === undefined ? ports : { ...ports, noteTenant };
    const { record } = await submit(submitPorts, callOf(ports, { ...trigger, task }, event));
    const { tenant_id, task_id } = record;
    ports.log.info("trigger fired", { ...fields, outcome: "submitted", tenant_id, task_id });
    return "submitted";
  } catch (error) {
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    // The event already has a task, of an earlier version of the trigger.
    if (isFinalRefusal(error) && error.code === "idempotency_key_reused") return "submitted";
    return refused(ports, firing, task, reason);
  }
}

/** @throws EventRefused, PathMissing */
function callOf(ports: FireEventPorts, trigger: AppTrigger & { task: TriggeredTask }, event: BusEvent): SubmitCall {
  const { tags, ...task } = trigger.task;
  const tenantId = tenantOf(trigger, event);
  const filledTags = Object.entries(tags ?? {}).map(([tag, value]) => [tag, fillAsText(value, event)]);
  return {
    identity: { tenantId, principal: `${triggerPrincipal}${trigger.name}`, role: "operator" },
    body: {
      ...task,
      input: fill(task.input, event),
      ...(tags === undefined ? {} : { tags: Object.fromEntries(filledTags) }),
    },
    // No client can send it, as a client's key has no line breaks.
    idempotencyKey: `event\n${trigger.name}\n${event.id}`,
    correlationId: correlationOf(ports, trigger, event),
    traceparent: textIn(event, "traceparent", isTraceparent),
  };
}

/**
 * The correlation id of an event's task. An event of Offload passes on that of its task, with the number of tasks of
 * triggers that followed from one another.
 * @throws EventRefused in an endless loop
 */
function correlationOf(ports: FireEventPorts, trigger: AppTrigger, event: BusEvent): string {
  const earlier = event.source.startsWith(offloadSource) ? textIn(event, "correlation_id", isCorrelationId) : undefined;
  if (earlier === undefined) {
    const own = `${trigger.name}:${event.id}`;
    return isCorrelationId(own) ? own : ports.newId();
  }
  // A client may choose an id that ends like this one. Only the tasks of triggers, and their children, have ids of this
  // function.
  const isOfTrigger = textIn(event, "requested_by", (text) => text.startsWith(triggerPrincipal)) !== undefined;
  const hops = (isOfTrigger ? Number(hopSuffix.exec(earlier)?.[1] ?? 0) : 0) + 1;
  if (hops > maxHops) {
    throw new EventRefused(
      `${maxHops} tasks of triggers followed from one another: expected no endless loop of triggers`,
    );
  }
  return `${earlier.replace(hopSuffix, "").slice(0, longestBase)}:hop-${hops}`;
}

/** A text in an event's detail, if it is valid. */
function textIn(event: BusEvent, name: string, isValid: (text: string) => boolean): string | undefined {
  const { detail } = event;
  if (typeof detail !== "object" || detail === null || !Object.hasOwn(detail, name)) return undefined;
  const value = (detail as Record<string, unknown>)[name];
  return typeof value === "string" && isValid(value) ? value : undefined;
}

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
