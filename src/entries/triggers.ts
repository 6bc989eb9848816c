/**
 * The package's entry `offload/triggers`: triggers that make tasks of events. An entry of its own, as only
 * `tasks/triggers.ts` needs it.
 * @module offload/triggers
 */
export {
  type ActTriggerOptions,
  defineTrigger,
  type InputFromEvent,
  type KeyOfTask,
  type TriggerOptions,
} from "../core/schedules/define-trigger.ts";
export type { EventPath } from "../core/schedules/event-path.ts";
export type { EventPattern, PatternFields, PatternValues } from "../core/schedules/pattern.ts";
export type { PatternMatch } from "../core/schedules/pattern-matches.ts";
export type { AppTrigger } from "../core/schedules/trigger.ts";
