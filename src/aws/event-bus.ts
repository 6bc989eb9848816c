import { setTimeout as sleep } from "node:timers/promises";
import {
  EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from "#aws-sdk/client-eventbridge";
import { PortUnavailable } from "../core/model/errors.ts";
import type { EventBus, OutgoingEvent } from "../core/ports/notify.ts";
import type { Config } from "../settings/config.ts";
import { boundedCalls, timeLeftMs } from "./call-times.ts";
import { viaPort } from "./errors.ts";
import { boundedTries, named } from "./http-handler.ts";
import { localConfig } from "./local-services.ts";

const port = "the event bus";

/** Limits of one request of PutEvents. An event alone has the same limit of bytes. */
const maxEntries = 10;
const maxBytes = 256 * 1024;

/**
 * Number of requests for an event that EventBridge does not take at first, and the wait before the second, in
 * milliseconds.
 */
const maxTries = 3;
const firstWaitMs = 100;

/** Codes of entries that a later request can put. */
const passingCodes = ["ThrottlingException", "InternalFailure", "InternalException"];

/** Form of an X-Ray trace header. EventBridge refuses other forms. */
const xRayHeader = /^(?=.{1,500}$)(?:(?:Root|Parent|Self|Sampled|Lineage)=[^;=]+;?)+$/;

export const eventBusClient = (): EventBridgeClient =>
  boundedCalls(new EventBridgeClient({ ...boundedTries(), ...localConfig("eventbridge") }));

interface Pending {
  index: number;
  entry: PutEventsRequestEntry;
  bytes: number;
}

/** The deployment's event bus in EventBridge. */
export class EventBridgeBus implements EventBus {
  readonly #client: EventBridgeClient;
  readonly #bus: string;
  readonly #source: string;

  /** @throws Error when events are off */
  constructor(client: EventBridgeClient, { eventBus, eventSource }: Config<"eventBus" | "eventSource">) {
    if (eventBus === undefined || eventSource === undefined) {
      throw new Error("events are off: expected the settings OFFLOAD_EVENT_BUS and OFFLOAD_EVENT_SOURCE");
    }
    this.#client = client;
    this.#bus = eventBus;
    this.#source = eventSource;
  }

  async put(events: readonly OutgoingEvent[]): Promise<readonly (Error | undefined)[]> {
    const errors = new Array<Error | undefined>(events.length).fill(undefined);
    const fitting: Pending[] = [];
    for (const [index, event] of events.entries()) {
      const pending = this.#pendingOf(event, index);
      if (pending.bytes < maxBytes) fitting.push(pending);
      else
        errors[index] = named("EventTooLarge", `the event has ${pending.bytes} bytes: expected less than ${maxBytes}`);
    }
    for (const group of groupsOf(fitting)) await this.#putGroup(group, errors);
    return errors;
  }

  #pendingOf({ detailType, detail, time, traceparent }: OutgoingEvent, index: number): Pending {
    const isXRay = traceparent !== undefined && xRayHeader.test(traceparent);
    const entry = {
      EventBusName: this.#bus,
      Source: this.#source,
      DetailType: detailType,
      Detail: JSON.stringify(isXRay || traceparent === undefined ? detail : { ...detail, traceparent }),
      Time: new Date(time),
      ...(isXRay && { TraceHeader: traceparent }),
    };
    return { index, entry, bytes: bytesOf(entry) };
  }

  /** Puts the events of one request. Events that EventBridge did not take for the moment are put again. */
  async #putGroup(group: readonly Pending[], errors: (Error | undefined)[]): Promise<void> {
    let left = group;
    for (let number = 1; ; number++) {
      const command = new PutEventsCommand({ Entries: left.map(({ entry }) => entry) });
      try {
        const { Entries = [] } = await viaPort(port, this.#client.send(command));
        for (const [place, { index }] of left.entries()) errors[index] = errorOf(Entries[place]);
      } catch (error) {
        // The client has made its own tries.
        for (const { index } of left) errors[index] = error instanceof Error ? error : new Error(String(error));
        return;
      }
      left = left.filter(({ index }) => errors[index] instanceof PortUnavailable);
      const waitMs = firstWaitMs * 2 ** (number - 1);
      if (left.length === 0 || number === maxTries || timeLeftMs() < 2 * waitMs) return;
      await sleep(waitMs);
    }
  }
}

/** The error in the answer for an entry. An answer without the entry says nothing, so the event is put again. */
function errorOf(result: PutEventsResultEntry | undefined): Error | undefined {
  const { ErrorCode: code, ErrorMessage: message = "", EventId } = result ?? {};
  if (code === undefined && EventId !== undefined) return undefined;
  if (code === undefined || passingCodes.includes(code)) return new PortUnavailable(port, { cause: { code, message } });
  return named(code, `EventBridge refused the event: ${message}`);
}

/** Size of an entry as EventBridge counts it: a time has 14 bytes. */
const bytesOf = ({ Source = "", DetailType = "", Detail = "" }: PutEventsRequestEntry): number =>
  14 + [Source, DetailType, Detail].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** Puts events together into requests. */
function groupsOf(all: readonly Pending[]): Pending[][] {
  const groups: Pending[][] = [];
  let bytes = 0;
  for (const pending of all) {
    const last = groups.at(-1);
    if (last === undefined || last.length === maxEntries || bytes + pending.bytes >= maxBytes) {
      groups.push([pending]);
      bytes = pending.bytes;
    } else {
      last.push(pending);
      bytes += pending.bytes;
    }
  }
  return groups;
}
