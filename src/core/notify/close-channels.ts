import { inLanes } from "../../util/in-lanes.ts";
import type { KeyRevokedNotice } from "../ports/notice.ts";
import type { Connections, Notices, Socket } from "../ports/notify.ts";
import type { Log } from "../ports/tasks.ts";

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
