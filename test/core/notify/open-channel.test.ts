import { describe, expect, test, vi } from "vitest";
import { hashSecret } from "../../../src/core/model/keys.ts";
import { closeChannels, connect, disconnect, maxConnections, replyTo } from "../../../src/core/notify/connect.ts";
import { maxChannelsAMinute, openChannel } from "../../../src/core/notify/open-channel.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryKeys } from "../../../src/memory/keys.ts";
import { MemoryChannels, MemoryConnections, MemorySocket } from "../../../src/memory/push.ts";
import { KeptLog } from "../../support/kept.ts";

const sam = { tenantId: "acme", principal: "sam", role: "submitter" } as const;
const olga = { tenantId: "acme", principal: "olga", role: "operator" } as const;

function push() {
  const clock = new FakeClock();
  let ids = 0;
  const ports = {
    clock,
    channels: new MemoryChannels(),
    connections: new MemoryConnections(clock),
    keys: new MemoryKeys(),
    newId: () => `channel-${++ids}`,
    newTicket: () => `ticket-${++ids}`,
    socketUrl: "wss://push.example.com/v1" as string | undefined,
  };
  const ticketOf = ({ url }: { url: string }) => new URL(url).searchParams.get("ticket") ?? "";
  const opened = async (identity: Parameters<typeof openChannel>[1] = sam, body: object = {}) =>
    ticketOf(await openChannel(ports, identity, body));
  return { clock, ports, opened };
}

describe("openChannel", () => {
  test("a channel has a URL with a ticket for 60 seconds, and only the ticket's hash is stored", async () => {
    const { ports } = push();
    expect(await openChannel(ports, sam, {})).toEqual({
      channel_id: "channel-1",
      url: "wss://push.example.com/v1?ticket=ticket-2",
      expires_at: "2027-01-01T00:01:00.000Z",
    });
    expect(ports.channels.ticketHashes).toEqual([hashSecret("ticket-2")]);
  });

  test("a channel for the tenant requires an operator", async () => {
    const { ports } = push();
    await expect(openChannel(ports, sam, { scope: "tenant" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(openChannel(ports, olga, { scope: "tenant" })).resolves.toBeDefined();
  });

  test.each([{ scope: "all" }, { scope: null }, { type: "x" }])("the body %j is refused", async (body) => {
    await expect(openChannel(push().ports, sam, body)).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("a deployment without push says how to get it", async () => {
    const { ports } = push();
    const refused = openChannel({ ...ports, socketUrl: undefined }, sam, {});
    await expect(refused).rejects.toMatchObject({ code: "not_found", detail: expect.stringContaining("push: true") });
  });

  test("a principal that opens too many channels is refused until the next minute", async () => {
    const { clock, ports, opened } = push();
    await clock.advance(45_000);
    for (let n = 0; n < maxChannelsAMinute; n++) await opened();
    await expect(opened()).rejects.toMatchObject({ code: "rate_limited", options: { retryAfterSeconds: 15 } });
    expect(ports.channels.ticketHashes).toHaveLength(maxChannelsAMinute);
    await expect(opened(olga)).resolves.toBeDefined();
    await clock.advance(15_000);
    await expect(opened()).resolves.toBeDefined();
  });
});

describe("connect", () => {
  test("a ticket connects once", async () => {
    const { ports, opened } = push();
    const ticket = await opened();
    expect(await connect(ports, ticket, "c-1")).toBe("connected");
    expect(await connect(ports, ticket, "c-2")).toBe("wrong ticket");
    expect(await ports.connections.hearing("acme", "sam")).toEqual([
      {
        connection_id: "c-1",
        channel_id: "channel-1",
        tenant_id: "acme",
        principal: "sam",
        scope: "own",
        connected_at: "2027-01-01T00:00:00.000Z",
      },
    ]);
  });

  test("without a valid ticket nothing is stored", async () => {
    const { clock, ports, opened } = push();
    const late = await opened();
    await clock.advance(60_000);
    const outcomes = await Promise.all(
      [undefined, "", "forged", late, "x".repeat(10_000)].map((ticket) => connect(ports, ticket, "c-1")),
    );
    expect(outcomes).toEqual(["no ticket", "no ticket", "wrong ticket", "wrong ticket", "wrong ticket"]);
    expect(await ports.connections.find("c-1")).toBeUndefined();
    expect(await ports.connections.hears("acme", "sam")).toBe(false);
  });

  test("the connection is stored before it is announced", async () => {
    const { ports, opened } = push();
    const ticket = await opened();
    const steps: string[] = [];
    const { connections } = ports;
    const add = connections.add.bind(connections);
    connections.add = async (connection) => {
      await new Promise(setImmediate);
      await add(connection);
      steps.push("stored");
    };
    connections.announce = async () => void steps.push("announced");
    await connect(ports, ticket, "c-1");
    expect(steps).toEqual(["stored", "announced"]);
  });

  test("a principal has a bounded number of connections", async () => {
    const { clock, ports, opened } = push();
    for (let n = 0; n < maxConnections; n++) {
      if (n === maxChannelsAMinute) await clock.advance(60_000);
      expect(await connect(ports, await opened(), `c-${n}`)).toBe("connected");
    }
    expect(await connect(ports, await opened(), "too-many")).toBe("too many connections");
    expect(await ports.connections.find("too-many")).toBeUndefined();
    await disconnect(ports, "c-0");
    expect(await connect(ports, await opened(), "next")).toBe("connected");
  });

  /** An API key of the tenant `acme`. */
  async function withKey(keyId = "k1abcdefghijkmnp") {
    const all = push();
    const { keys, connections } = all.ports;
    await keys.add({ key_id: keyId, tenant_id: "acme", role: "submitter", secret_hash: "x", created_at: "2027-01-01" });
    const identity = { tenantId: "acme", principal: keyId, role: "submitter" } as const;
    const revoke = async () => {
      await keys.revoke(keyId, "2027-01-01T00:00:00.000Z");
      const ports = { connections, socket: new MemorySocket(), log: new KeptLog() };
      await closeChannels(ports, { kind: "key_revoked", tenant_id: "acme", key_id: keyId });
    };
    const hearing = () => connections.hearing("acme", keyId);
    return { ...all, identity, revoke, hearing };
  }

  test("a revoked key gets no connection, by an identity that is remembered or a ticket of before", async () => {
    const { ports, opened, identity, revoke, hearing } = await withKey();
    const before = await opened(identity);
    expect(await connect(ports, await opened(identity), "c-1")).toBe("connected");
    await revoke();
    expect(await hearing()).toEqual([]);
    expect(await connect(ports, before, "c-2")).toBe("revoked key");
    expect(await connect(ports, await opened(identity), "c-3")).toBe("revoked key");
    expect(await hearing()).toEqual([]);
    expect(await ports.connections.hears("acme", identity.principal)).toBe(false);
    expect(await ports.connections.find("c-3")).toBeUndefined();
  });

  test("a key that is revoked while its connection begins does not hear", async () => {
    const { ports, opened, identity, revoke, hearing } = await withKey();
    const { connections } = ports;
    const add = connections.add.bind(connections);
    for (const isEarly of [true, false]) {
      connections.add = async (connection) => {
        if (isEarly) await revoke();
        await add(connection);
        if (!isEarly) await revoke();
      };
      await connect(ports, await opened(identity), "c-1");
      expect(await hearing()).toEqual([]);
    }
  });

  test("a token's subject is no key, and another tenant's key with the same id decides nothing", async () => {
    const { ports, opened, revoke } = await withKey();
    const find = vi.spyOn(ports.keys, "find");
    expect(await connect(ports, await opened(sam), "c-1")).toBe("connected");
    expect(find).not.toHaveBeenCalled();
    await revoke();
    const other = await opened({ tenantId: "globex", principal: "k1abcdefghijkmnp", role: "submitter" });
    expect(await connect(ports, other, "c-2")).toBe("connected");
  });

  test("a connection that has closed is removed, also when that is said twice", async () => {
    const { ports, opened } = push();
    await connect(ports, await opened(), "c-1");
    for (const id of ["c-1", "c-1", "unknown"]) await disconnect(ports, id);
    expect(await ports.connections.hearing("acme", "sam")).toEqual([]);
  });
});

describe("replyTo", () => {
  test("a ping gets a pong", () => {
    expect(replyTo('{"type":"ping"}')).toBe('{"type":"pong"}');
  });

  test.each([
    "",
    "ping",
    "null",
    "1",
    "[]",
    '{"type":"pong"}',
    '{"__proto__":1}',
    "{".repeat(1_000),
    "x".repeat(100_000),
  ])("the message %.20j gets an error", (text) => {
    expect(JSON.parse(replyTo(text))).toEqual({ type: "error", detail: expect.any(String) });
  });
});
