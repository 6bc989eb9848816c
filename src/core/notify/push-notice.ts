import { inLanes } from "../model/in-lanes.ts";
import type { Status } from "../model/status.ts";
import type { ChangeNotice, EndNotice } from "../ports/notice.ts";
import type { Connection, Connections, Posted, Socket } from "../ports/notify.ts";
import type { Clock, Log, Random } from "../ports/tasks.ts";

/** Largest result in a message, in bytes of JSON. */
export const largestPushedResultBytes = 32 * 1024;

/** Requests to connections at the same time. */
const lanes = 25;

/** Waits before further tries of an end, in milliseconds, each shortened by up to a half. */
const retryWaitsMs = [200, 600, 1_800];

/** API Gateway can answer for a new connection that it is closed. For this time, in milliseconds, that answer proves nothing. */
const youngMs = 10_000;

export interface PushPorts {
  clock: Clock;
  connections: Connections;
  socket: Socket;
  random: Random;
  log: Log;
}

/** A message about a task, as clients get it. */
export interface TaskMessage {
  type: `task.${Status}` | "task.progress";
  task_id: string;
  status: Status;
  outcome: string | null;
  progress: number | null;
  /** Time of the change: ISO 8601 UTC with milliseconds. */
  at: string;
  /** Only with the end of a task whose type has `push: "result"`. */
  result?: unknown;
}

/** Numbers of connections, by what happened to the message for them. */
export interface Pushed {
  sent: number;
  /** Their connections were closed. */
  gone: number;
  /** The message was not sent: the client does not read, or API Gateway cannot take it now. */
  dropped: number;
}

/**
 * Sends a notice to all connections that hear it. A connection that fails does not stop the others.
 * @param result The task's result, for a type whose results are pushed. Left out of the message when it is too large.
 * @throws PortUnavailable when the connections cannot be read
 */
export async function pushNotice(
  ports: PushPorts,
  notice: EndNotice | ChangeNotice,
  result?: unknown,
): Promise<Pushed> {
  const connections = await ports.connections.hearing(notice.tenant_id, notice.requested_by);
  const text = JSON.stringify(messageOf(notice, result));
  const retries = notice.kind === "end" ? retryWaitsMs : [];
  const outcomes = await inLanes(connections, lanes, (connection) => deliver(ports, connection, text, retries));
  const numberOf = (outcome: Posted) => outcomes.filter((one) => one === outcome).length;
  return { sent: numberOf("sent"), gone: numberOf("gone"), dropped: numberOf("busy") };
}

/** The message of a notice. */
export function messageOf(notice: EndNotice | ChangeNotice, result?: unknown): TaskMessage {
  const { task_id } = notice;
  if (notice.kind === "change") {
    const { change, status, progress, at } = notice;
    return { type: `task.${change}`, task_id, status, outcome: null, progress, at };
  }
  const { status, outcome, progress, finished_at, updated_at } = notice.task;
  const message: TaskMessage = {
    type: `task.${status}`,
    task_id,
    status,
    outcome,
    progress,
    at: finished_at ?? updated_at,
  };
  return fits(result) ? { ...message, result } : message;
}

const fits = (result: unknown): boolean =>
  result !== undefined && Buffer.byteLength(JSON.stringify(result)) <= largestPushedResultBytes;

/** Sends a message to one connection. Never throws. */
async function deliver(
  ports: PushPorts,
  connection: Connection,
  text: string,
  retryWaits: readonly number[],
): Promise<Posted> {
  for (let tries = 0; ; tries++) {
    const posted = await post(ports, connection, text);
    const waitMs = retryWaits[tries];
    if (posted === "sent") return posted;
    const closed = posted === "gone" && !isYoung(ports, connection);
    if (closed) await forget(ports, connection);
    if (closed || waitMs === undefined) return posted;
    await new Promise<void>((resolve) => {
      ports.clock.after(waitMs * (1 - ports.random() / 2), resolve);
    });
  }
}

/** Posts a message. An error counts as `busy`: a later try can succeed. */
async function post({ socket, log }: PushPorts, connection: Connection, text: string): Promise<Posted> {
  try {
    return await socket.post(connection.connection_id, text);
  } catch (error) {
    log.warn("could not send a message to a connection", { ...about(connection), error: String(error) });
    return "busy";
  }
}

/** True for a connection that can be answered as closed although it is open. */
const isYoung = ({ clock }: PushPorts, { connected_at }: Connection): boolean =>
  clock.now() - Date.parse(connected_at) < youngMs;

/** Removes a closed connection. Never throws. */
async function forget({ connections, log }: PushPorts, connection: Connection): Promise<void> {
  try {
    await connections.remove(connection);
  } catch (error) {
    log.warn("could not remove a closed connection; the next message tries again", {
      ...about(connection),
      error: String(error),
    });
  }
}

const about = ({ tenant_id, channel_id, connection_id }: Connection) => ({ tenant_id, channel_id, connection_id });
