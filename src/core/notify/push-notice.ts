import { inLanes } from "../../util/in-lanes.ts";
import type { TaskView } from "../model/task-view.ts";
import type { Status } from "../model/words.ts";
import type { ChangeNotice, Connection, Connections, EndNotice, Posted, Socket } from "../ports/notify.ts";
import type { Clock, Log, Random } from "../ports/tasks.ts";
import { acquirePermits, type Host, type PermitPorts, releasePermits, slowAfterMs, slowForMs } from "./send-try.ts";

/** Largest result in a message, in bytes of JSON. */
export const largestPushedResultBytes = 32 * 1024;

/** Requests to connections at the same time. */
const lanes = 25;

/** Waits before further tries of an end, in milliseconds, each shortened by up to a half. */
const retryWaitsMs = [200, 600, 1_800];

/**
 * Time for all tries of a notice, in milliseconds: connections that do not read hold up neither other notices nor other
 * tenants.
 */
const budgetMs = 3_000;

/** Name under which a tenant's connections that do not read are known as slow. No host has it. */
const connectionsHost = "@connections";

/**
 * A connection that does not get this many ends in a row is closed: its client does not read, and can connect again.
 */
const maxDrops = 3;

/** Most connections whose dropped ends a process remembers. */
const maxRemembered = 10_000;

/**
 * API Gateway can answer for a new connection that it is closed. For this time, in milliseconds, that answer proves
 * nothing.
 */
const youngMs = 10_000;

export interface PushPorts extends PermitPorts {
  clock: Clock;
  connections: Connections;
  socket: Socket;
  /** Numbers of the last ends in a row that a connection did not get, by its id, as this process has seen it. */
  drops: Map<string, number>;
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
  /** Text that the handler reported with its progress. Absent: none. */
  progress_message?: string | null;
  /** Data that the handler reported with its progress. Absent: none. */
  progress_data?: unknown;
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
 * Sends a notice to all connections that hear it, within three seconds. A connection that fails does not stop the
 * others: an end that it did not take is tried again after all have had their first try. A connection that does not
 * take three ends in a row is closed. A notice that is not done after a second needs a place, as a request to a slow
 * receiver does; without a place it ends. While a tenant's connections are known as slow, none is tried without a
 * place.
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
  const outcomes = new Map<Connection, Posted>();
  const tries = notice.kind === "end" ? [0, ...retryWaitsMs] : [0];
  if (connections.length > 0) {
    await withPlace(ports, notice.tenant_id, (time) => tryAll(ports, { connections, text, tries, time }, outcomes));
  }
  if (notice.kind === "end") await countDrops(ports, outcomes);
  const numberOf = (outcome: Posted) => [...outcomes.values()].filter((one) => one === outcome).length;
  const untried = connections.length - outcomes.size;
  return { sent: numberOf("sent"), gone: numberOf("gone"), dropped: numberOf("busy") + untried };
}

/** The end of a notice's time, in epoch milliseconds. It can come earlier than it was first said. */
interface Time {
  endMs: number;
}

/** Tries to send a text to connections, again and again to those that may take it later. */
async function tryAll(
  ports: PushPorts,
  of: { connections: readonly Connection[]; text: string; tries: readonly number[]; time: Time },
  outcomes: Map<Connection, Posted>,
): Promise<void> {
  const { drops } = ports;
  // Connections that did not read before are last: the others get the message within the time.
  const dropped = ({ connection_id }: Connection) => drops.get(connection_id) ?? 0;
  let left = of.connections.toSorted((a, b) => dropped(a) - dropped(b));
  for (const waitMs of of.tries) {
    if (left.length === 0 || (waitMs > 0 && !(await waited(ports, waitMs, of.time.endMs)))) break;
    await inLanes(left, lanes, async (one) => {
      if (ports.clock.now() < of.time.endMs) outcomes.set(one, await tryOnce(ports, one, of.text));
    });
    left = left.filter((one) => isOpen(ports, one, outcomes.get(one)));
  }
}

/** Does the work of a notice, in the time that its tenant's slow connections leave. Gives the place back. */
async function withPlace(ports: PushPorts, tenantId: string, work: (time: Time) => Promise<void>): Promise<void> {
  const { clock, slowHosts } = ports;
  const of: Host = { tenantId, host: connectionsHost };
  // Without the table nobody knows that connections are slow, and the work goes on.
  const [isSlow] = await slowHosts.areSlow(tenantId, [of.host], clock.now()).catch(() => [false]);
  let placeMs = isSlow ? await acquirePermits(ports, of).catch(() => undefined) : undefined;
  const time = { endMs: clock.now() + (isSlow && placeMs === undefined ? 0 : budgetMs) };
  let giveUp = () => {};
  const givenUp = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  const judge = async () => {
    await slowHosts.markSlow(tenantId, of.host, clock.now() + slowForMs);
    placeMs ??= await acquirePermits(ports, of);
    if (placeMs !== undefined) return;
    time.endMs = clock.now();
    giveUp();
  };
  let judging: Promise<void> = Promise.resolve();
  const stop = clock.after(slowAfterMs, () => {
    judging = judge().catch(() => {});
  });
  try {
    // Messages that are under way cannot be stopped, but nobody waits for them any more.
    await Promise.race([work(time), givenUp]);
    await judging;
  } finally {
    stop();
    if (placeMs !== undefined) await releasePermits(ports, of, placeMs);
  }
}

/** Waits before further tries. Returns false, at once, when the notice's time would be over then. */
async function waited({ clock, random }: PushPorts, waitMs: number, endMs: number): Promise<boolean> {
  const ms = waitMs * (1 - random() / 2);
  if (clock.now() + ms >= endMs) return false;
  await new Promise<void>((resolve) => {
    clock.after(ms, resolve);
  });
  return true;
}

/** True for a connection that may take the message at a later try. */
const isOpen = (ports: PushPorts, connection: Connection, posted: Posted | undefined): boolean =>
  posted === "busy" || (posted === "gone" && isYoung(ports, connection));

/** Closes connections that have not taken three ends in a row. Never throws. */
async function countDrops(ports: PushPorts, outcomes: ReadonlyMap<Connection, Posted>): Promise<void> {
  const { drops } = ports;
  if (drops.size > maxRemembered) drops.clear();
  const deaf: Connection[] = [];
  for (const [connection, posted] of outcomes) {
    const { connection_id: id } = connection;
    const count = posted === "busy" ? (drops.get(id) ?? 0) + 1 : 0;
    if (count === 0 || count >= maxDrops) drops.delete(id);
    else drops.set(id, count);
    if (count >= maxDrops) deaf.push(connection);
  }
  await inLanes(deaf, lanes, (connection) => close(ports, connection));
}

async function close(ports: PushPorts, connection: Connection): Promise<void> {
  try {
    await ports.socket.close(connection.connection_id);
    ports.log.info("closed a connection whose client does not read", about(connection));
  } catch (error) {
    ports.log.warn("could not close a connection whose client does not read", {
      ...about(connection),
      error: String(error),
    });
  }
  await forget(ports, connection);
}

/** The message of a notice. */
export function messageOf(notice: EndNotice | ChangeNotice, result?: unknown): TaskMessage {
  const { task_id } = notice;
  if (notice.kind === "change") {
    const { change, status, progress, at } = notice;
    return { type: `task.${change}`, task_id, status, outcome: null, progress, ...noteOf(notice), at };
  }
  const { status, outcome, progress, finished_at, updated_at } = notice.task;
  const message: TaskMessage = {
    type: `task.${status}`,
    task_id,
    status,
    outcome,
    progress,
    ...noteOf(notice.task),
    at: finished_at ?? updated_at,
  };
  return fits(result) ? { ...message, result } : message;
}

/** The note of a progress, where there is one. */
const noteOf = ({ progress_message = null, progress_data = null }: Partial<TaskView>) => ({
  ...(progress_message !== null && { progress_message }),
  ...(progress_data !== null && { progress_data }),
});

const fits = (result: unknown): boolean =>
  result !== undefined && Buffer.byteLength(JSON.stringify(result)) <= largestPushedResultBytes;

/** Sends a message to one connection. Never throws. */
async function tryOnce(ports: PushPorts, connection: Connection, text: string): Promise<Posted> {
  const posted = await post(ports, connection, text);
  if (posted === "gone" && !isYoung(ports, connection)) await forget(ports, connection);
  return posted;
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
