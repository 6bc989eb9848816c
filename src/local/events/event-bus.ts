import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { Door, Reply } from "../direct/doors.ts";
import { onlyOnce, open } from "../net/endpoint.ts";
import { readBody } from "../net/request.ts";
import { systemClock } from "../time/clock.ts";
import { EventLog, type EventLogOptions } from "./event-log.ts";
import { EventsError, putEvents } from "./put-events.ts";

export interface LocalEventBus {
  url: string;
  log: EventLog;
  /** The same without HTTP. */
  call: Door;
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
    const reply = replyOf(log, String(request.headers["x-amz-target"]), body.toString("utf8"));
    response.statusCode = reply.status;
    response.end(JSON.stringify(reply.body));
  });
  const endpoint = await open(server, 0);
  const call: Door = async (operation, body) => replyOf(log, `AWSEvents.${operation}`, body);
  return { url: endpoint.url, log, call, close: onlyOnce(() => endpoint.close()) };
}

function replyOf(log: EventLog, target: string, body: string): Reply {
  try {
    return { status: 200, body: { ...answerOf(log, target, body) } };
  } catch (error) {
    const known = error instanceof EventsError;
    const [__type, message] = known ? [error.code, error.message] : ["InternalException", String(error)];
    return { status: known ? 400 : 500, body: { __type, message } };
  }
}

function answerOf(log: EventLog, target: string, body: string): object {
  if (target !== "AWSEvents.PutEvents") {
    throw new EventsError(
      "UnknownOperationException",
      "Only PutEvents is supported here. The rules are in tasks/triggers.ts.",
    );
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw new EventsError("SerializationException", "The request body is not JSON.");
  }
  return putEvents(log, parsed);
}
