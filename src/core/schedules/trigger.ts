import * as z from "zod";
import { submitFields } from "../pipeline/submit/submit-body.ts";
import type { BusEvent } from "./bus-event.ts";
import type { EventPattern } from "./pattern.ts";

/** An event for a trigger, as a rule of EventBridge sends it to fire. */
export interface EventFiring {
  kind: "event";
  /** Name of the trigger. */
  trigger: string;
  event: BusEvent;
}

/**
 * Shortest retention of a trigger's task, in seconds: longer than an event may be delivered again. The record knows the
 * event.
 */
const minRetentionSeconds = 2 * 86_400;

const { type, input, priority, delay_seconds, max_attempts, expires_in_seconds, tags } = submitFields;

/** The task that a trigger submits: fields of a submit. Texts of `input` and `tags` may have paths of the event. */
export const triggeredTaskSchema = z.strictObject({
  ...{ type, input, priority, delay_seconds, max_attempts, expires_in_seconds, tags },
  retention_seconds: z.int().min(minRetentionSeconds).max(2_592_000).optional(),
});

/** The act of a trigger on the task of a key. Texts may have paths of the event. */
export interface TriggerAct {
  type: string;
  key: string;
  /** The signal of this name, with this body. Absent: the task is cancelled. */
  signal?: { name: string; body: unknown } | undefined;
}

export type TriggeredTask = z.output<typeof triggeredTaskSchema>;

/** A trigger of the app, as data. */
export interface AppTrigger {
  name: string;
  /** `default`, `own`, or the name or ARN of another bus. */
  bus: string;
  pattern: EventPattern;
  /** A tenant, or a path of the event. */
  tenant_id: string;
  /** The task that it submits. Absent: it has an act. */
  task?: TriggeredTask | undefined;
  /** The act on a task that is there. Absent: it submits a task. */
  act?: TriggerAct | undefined;
}

const triggersSchema = z.array(
  z.object({
    name: z.string(),
    bus: z.string(),
    pattern: z.custom<EventPattern>(),
    tenant_id: z.string(),
    task: triggeredTaskSchema.optional(),
    act: z.custom<TriggerAct>().optional(),
  }),
);

/** Parses the file with the app's triggers that is deployed next to fire's bundle. Returns them by name. */
export const parseTriggers = (text: string): ReadonlyMap<string, AppTrigger> =>
  new Map(triggersSchema.parse(JSON.parse(text)).map((trigger) => [trigger.name, trigger]));

/**
 * Name of a trigger's rule in EventBridge. The names of deployments have no dot, so that the trigger's name follows
 * from the rule's.
 */
export const ruleNameOf = (deployment: string, trigger: string): string => `${deployment}.${trigger}`;

/** The trigger's name in a rule's ARN. Undefined: the rule is not one of a trigger. */
export const triggerOfRule = (ruleArn: string): string | undefined =>
  /:rule\/(?:[^/]+\/)*[^/.]+\.([^/]+)$/.exec(ruleArn)?.[1];
