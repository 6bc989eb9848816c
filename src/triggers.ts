/**
 * The package's entry `offload/triggers`: triggers that make tasks of events. An entry of its own, as only `tasks/triggers.ts` needs it.
 * @module offload/triggers
 */
export { defineTrigger, type InputFromEvent, type TriggerOptions } from "./core/events/define-trigger.ts";
export type { EventPath } from "./core/events/event-path.ts";
export type { EventPattern, PatternFields, PatternValues } from "./core/events/pattern.ts";
export type { PatternMatch } from "./core/events/pattern-matches.ts";
export type { AppTrigger } from "./core/events/trigger.ts";
