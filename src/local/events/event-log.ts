import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/ports/tasks.ts";
import { type BusEvent, ownBus } from "../../core/schedules/bus-event.ts";
import { matchesPattern } from "../../core/schedules/pattern.ts";
import type { AppTrigger, EventFiring } from "../../core/schedules/trigger.ts";
import { accountId, region } from "../sqs/queue-message.ts";

/** Event bus of the tasks' ends. Triggers name it `own`. */
export const localEventBus = "offload";

/** Number of events that the server remembers. */
const maxEvents = 1_000;

/** An event that somebody sends. */
export interface SentEvent {
  source: string;
  "detail-type": string;
  detail: Readonly<Record<string, unknown>>;
  /** Default: a new one. */
  id?: string | undefined;
  /** ISO time. Default: now. */
  time?: string | undefined;
  resources?: readonly string[] | undefined;
}

export interface EventLogOptions {
  clock: Clock;
  /** Delivers an event to fire, at least once. */
  deliver(firing: EventFiring): void;
  /** Called with a line for each event. */
  log(line: string): void;
}

/** The event buses of the local server: it remembers the newest events, and delivers those that match a trigger. */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #events: BusEvent[] = [];
  #triggers: readonly AppTrigger[] = [];

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /** Replaces the triggers. */
  use(triggers: readonly AppTrigger[]): void {
    this.#triggers = triggers;
  }

  /** The newest events, newest first. */
  newest(): readonly BusEvent[] {
    return this.#events.toReversed();
  }

  /**
   * Puts an event on a bus. Returns its id.
   * @param bus Name of the bus. Undefined: all triggers get the event if it matches, whatever their bus is.
   */
  put(sent: SentEvent, bus?: string): string {
    const event = {
      version: "0",
      id: sent.id ?? randomUUID(),
      "detail-type": sent["detail-type"],
      source: sent.source,
      account: accountId,
      time: secondOf(sent.time ?? new Date(this.#options.clock.now()).toISOString()),
      region,
      resources: sent.resources ?? [],
      detail: sent.detail,
    };
    const matching = this.#triggers.filter(
      (trigger) => (bus === undefined || bus === nameOf(trigger.bus)) && matchesPattern(trigger.pattern, event),
    );
    for (const { name } of matching) this.#options.deliver({ kind: "event", trigger: name, event });
    this.#events.push(event);
    if (this.#events.length > maxEvents) this.#events.shift();
    const names = matching.length === 0 ? "no trigger" : matching.map(({ name }) => name).join(", ");
    this.#options.log(`event ${shown(event["detail-type"])} of ${shown(event.source)} ${event.id}: ${names}`);
    return event.id;
  }
}

/** The local name of a trigger's bus. */
const nameOf = (bus: string): string => (bus === ownBus ? localEventBus : busNameOf(bus));

/** The name in a bus's ARN; a name stays as it is. */
export const busNameOf = (nameOrArn: string): string => nameOrArn.replace(/^arn:[^/]*:event-bus\//, "");

/** EventBridge's times have no fractions of a second. */
const secondOf = (time: string): string => new Date(time).toISOString().replace(/\.\d+Z$/, "Z");

/** Texts of clients may have line breaks. */
const shown = (text: string): string => JSON.stringify(text.slice(0, 100));
