import { expect, test, vi } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { closeChannels } from "../../../src/core/notify/connect.ts";
import type { Connection } from "../../../src/core/ports/notify.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryConnections, MemorySocket } from "../../../src/memory/push.ts";
import { KeptLog } from "../../support/kept.ts";

async function setUp() {
  const clock = new FakeClock();
  const ports = { connections: new MemoryConnections(clock), socket: new MemorySocket(), log: new KeptLog() };
  const connect = async (connection_id: string, more: Partial<Connection> = {}) => {
    const connection: Connection = {
      ...{ connection_id, channel_id: "channel", tenant_id: "acme", principal: "key-1", scope: "own" },
      ...{ connected_at: new Date(clock.now()).toISOString(), ...more },
    };
    await ports.connections.add(connection);
    await ports.connections.announce(connection);
  };
  await connect("own");
  await connect("whole", { scope: "tenant" });
  await connect("other", { principal: "key-2" });
  await connect("other whole", { principal: "key-2", scope: "tenant" });
  await connect("foreign", { tenant_id: "globex" });
  return ports;
}

const notice = { kind: "key_revoked", tenant_id: "acme", key_id: "key-1" } as const;
const left = async ({ connections }: { connections: MemoryConnections }) =>
  (await connections.hearing("acme", "key-1")).map(({ connection_id }) => connection_id);

test("the connections of a revoked key are closed, in both scopes, and no others", async () => {
  const ports = await setUp();
  await closeChannels(ports, notice);
  expect(ports.socket.closed.toSorted()).toEqual(["own", "whole"]);
  expect(await left(ports)).toEqual(["other whole"]);
  await closeChannels(ports, notice);
  expect(ports.socket.closed).toHaveLength(2);
});

test("a connection that cannot be closed is closed by the repeated notice", async () => {
  const ports = await setUp();
  vi.spyOn(ports.socket, "close").mockRejectedValueOnce(new PortUnavailable("the connections"));
  await expect(closeChannels(ports, notice)).rejects.toThrow(PortUnavailable);
  await closeChannels(ports, notice);
  expect(await left(ports)).toEqual(["other whole"]);
});
