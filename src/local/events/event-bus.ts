import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { onlyOnce, open } from "../net/endpoint.ts";
import { readBody } from "../net/request.ts";
import { systemClock } from "../time/clock.ts";
import { EventLog, type EventLogOptions } from "./event-log.ts";
import { EventsError, putEvents } from "./put-events.ts";

export interface LocalEventBus {
  url: string;
  log: EventLog;
  close(): Promise<void>;
}

/**
 * Starts an emulator of the part of EventBridge that sends events: PutEvents, on every event bus. Rules are the app's
 * triggers.
 */
export async function startEventBus(
  options: Omit<EventLogOptions, "clock"> & Partial<Pick<EventLogOptions, "clock">>,
): Promise<LocalEventBus> {
  const log = new EventLog({ clock: systemClock, ...options });
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    if (body === undefined) return;
    response.setHeader("content-type", "application/x-amz-json-1.1");
    response.setHeader("x-amzn-requestid", randomUUID());
    try {
      response.end(JSON.stringify(answerOf(log, String(request.headers["x-amz-target"]), body)));
    } catch (error) {
      const known = error instanceof EventsError;
      response.statusCode = known ? 400 : 500;
      response.end(
        JSON.stringify({
          __type: known ? error.code : "InternalException",
          message: known ? error.message : String(error),
        }),
      );
    }
  });
  const endpoint = await open(server, 0);
  return { url: endpoint.url, log, close: onlyOnce(() => endpoint.close()) };
}

function answerOf(log: EventLog, target: string, body: Buffer): object {
  if (target !== "AWSEvents.PutEvents") {
    throw new EventsError(
      "UnknownOperationException",
      "Only PutEvents is supported here. The rules are in tasks/triggers.ts.",
    );
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch {
    throw new EventsError("SerializationException", "The request body is not JSON.");
  }
  return putEvents(log, parsed);
}
