import { inLanes } from "../../util/in-lanes.ts";
import { hashSecret, isKeyId } from "../model/keys.ts";
import { iso } from "../model/record.ts";
import type {
  Channel,
  Channels,
  Connection,
  Connections,
  KeyRevokedNotice,
  Notices,
  OpenConnections,
  Socket,
} from "../ports/notify.ts";
import type { ApiKeys, Clock, Log } from "../ports/tasks.ts";

/** Most open connections that hear the same tasks: one change of a task is at most that many messages. */
export const maxConnections = 500;

/** Longest message of a client that is read, in characters. A ping is shorter. */
const longestMessage = 1024;

/** Longest ticket that is looked up, in characters. */
const longestTicket = 128;

export interface SocketPorts {
  clock: Clock;
  channels: Channels;
  connections: OpenConnections;
  keys: Pick<ApiKeys, "find">;
}

/** `connected`, or why the connection is refused. */
export type Connected = "connected" | "no ticket" | "wrong ticket" | "revoked key" | "too many connections";

/**
 * Makes a connection hear tasks, if its ticket is valid. The connection is stored before it is announced. A client that
 * has connected and then reads a task's status sees its end there, or gets the message about it.
 * @throws PortUnavailable
 */
export async function connect(
  ports: SocketPorts,
  ticket: string | undefined,
  connectionId: string,
): Promise<Connected> {
  if (ticket === undefined || ticket === "") return "no ticket";
  if (ticket.length > longestTicket) return "wrong ticket";
  const { clock, channels, connections } = ports;
  const now = clock.now();
  const channel = await channels.redeem(hashSecret(ticket), connectionId, now);
  if (channel === undefined) return "wrong ticket";
  if ((await connections.count(channel, maxConnections)) >= maxConnections) return "too many connections";
  const connection: Connection = { ...channel, connection_id: connectionId, connected_at: iso(now) };
  await connections.add(connection);
  // A key that is revoked after this look finds the connection stored, and closes it.
  if (await isRevoked(ports, channel)) {
    await connections.remove(connection);
    return "revoked key";
  }
  await connections.announce(connection);
  return "connected";
}

/** True when the API key that has opened a channel is revoked: its processes may have remembered its identity. */
async function isRevoked({ keys }: SocketPorts, { tenant_id, principal }: Channel): Promise<boolean> {
  if (!isKeyId(principal)) return false;
  const key = await keys.find(principal);
  return key?.tenant_id === tenant_id && key.revoked_at !== undefined;
}

/** Removes a connection that has closed. @throws PortUnavailable */
export async function disconnect({ connections }: SocketPorts, connectionId: string): Promise<void> {
  const connection = await connections.find(connectionId);
  if (connection !== undefined) await connections.remove(connection);
}

/** Returns the answer to a message of a client. */
export function replyTo(text: string): string {
  if (text.length > longestMessage) return errorMessage(`a message has at most ${longestMessage} characters`);
  return typeOf(text) === "ping" ? JSON.stringify({ type: "pong" }) : errorMessage('expected {"type":"ping"}');
}

const errorMessage = (detail: string): string => JSON.stringify({ type: "error", detail });

function typeOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { type?: unknown } | null)?.type;
  } catch {
    return undefined;
  }
}

/** Connections that are closed at the same time. */
const lanes = 25;

/** The connections are closed once more after this time, in seconds, in case that the first message failed. */
const againSeconds = 30;

/**
 * Has the connections of a revoked key closed. None begins afterwards: `connect` looks at the key. Two messages.
 * @throws PortUnavailable
 */
export async function requestClosedChannels(notices: Pick<Notices, "send">, of: Omit<KeyRevokedNotice, "kind">) {
  const notice: KeyRevokedNotice = { kind: "key_revoked", ...of };
  await notices.send([notice]);
  await notices.send([notice], againSeconds);
}

/**
 * Closes the connections of a revoked key. The repeated notice closes what could not be closed.
 * @throws PortUnavailable
 */
export async function closeChannels(
  { connections, socket, log }: { connections: Connections; socket: Socket; log: Log },
  { tenant_id, key_id }: KeyRevokedNotice,
): Promise<void> {
  const own = (await connections.hearing(tenant_id, key_id)).filter(({ principal }) => principal === key_id);
  await inLanes(own, lanes, async (connection) => {
    await socket.close(connection.connection_id);
    await connections.remove(connection);
  });
  if (own.length > 0) log.info("closed the connections of a revoked key", { tenant_id, key_id, count: own.length });
}
