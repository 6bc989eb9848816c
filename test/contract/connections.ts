import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Connection,
  connectionSeconds,
  type Listeners,
  type OpenConnections,
} from "../../src/core/ports/notify.ts";
import { FakeClock } from "../../src/memory/clock.ts";

export interface ConnectionsUnderTest {
  connections: OpenConnections;
  listeners: Listeners;
  close(): Promise<void>;
}

/** The promises of open connections and of their marks, for every implementation. */
export function describeConnections(name: string, make: (clock: FakeClock) => Promise<ConnectionsUnderTest>): void {
  describe(name, () => {
    const clock = new FakeClock();
    let under: ConnectionsUnderTest;
    let connections: OpenConnections;
    beforeAll(async () => {
      under = await make(clock);
      connections = under.connections;
    });
    afterAll(() => under.close());

    const newConnection = (more: Partial<Connection> = {}): Connection => ({
      connection_id: `${randomUUID()}=`,
      channel_id: randomUUID(),
      tenant_id: `tenant-${randomUUID()}`,
      principal: "olga",
      scope: "own",
      connected_at: new Date(clock.now()).toISOString(),
      ...more,
    });
    const opened = async (more: Partial<Connection> = {}): Promise<Connection> => {
      const connection = newConnection(more);
      await connections.add(connection);
      await connections.announce(connection);
      return connection;
    };
    const idsOf = async (tenant: string, principal: string) =>
      (await connections.hearing(tenant, principal)).map(({ connection_id }) => connection_id).sort();
    const hears = (tenant: string, principal: string) => under.listeners.hears(tenant, principal, true);

    test("a connection is found by its id, as it was added", async () => {
      const connection = await opened({ principal: "a#b c", scope: "tenant" });
      expect(await connections.find(connection.connection_id)).toEqual(connection);
      expect(await connections.find("none")).toBeUndefined();
    });

    test("a connection hears the tasks of its own principal", async () => {
      const { tenant_id, connection_id } = await opened();
      expect(await idsOf(tenant_id, "olga")).toEqual([connection_id]);
      expect(await idsOf(tenant_id, "otto")).toEqual([]);
      expect(await idsOf("globex", "olga")).toEqual([]);
      expect([await hears(tenant_id, "olga"), await hears(tenant_id, "otto")]).toEqual([true, false]);
    });

    test("a connection of the scope tenant hears the tasks of all principals of its tenant", async () => {
      const all = await opened({ scope: "tenant" });
      const own = await opened({ tenant_id: all.tenant_id, principal: "otto" });
      expect(await idsOf(all.tenant_id, "otto")).toEqual([all.connection_id, own.connection_id].sort());
      expect(await idsOf(all.tenant_id, "anna")).toEqual([all.connection_id]);
      expect(await idsOf("globex", "otto")).toEqual([]);
      expect(await hears(all.tenant_id, "anna")).toBe(true);
    });

    test.each(["tenant", "*", "own#olga", "olga#own", "own", "#", "olg", "olgaa", "OLGA"])(
      "a connection of a principal with the name %j hears no task of another principal",
      async (principal) => {
        const { tenant_id } = await opened({ principal });
        expect(await idsOf(tenant_id, "olga")).toEqual([]);
        expect(await hears(tenant_id, "olga")).toBe(false);
        expect(await idsOf(tenant_id, principal)).toHaveLength(1);
      },
    );

    test("connections are counted up to a number, by what they hear", async () => {
      const first = await opened();
      const { tenant_id } = first;
      for (let n = 0; n < 3; n++) await opened({ tenant_id });
      await opened({ tenant_id, principal: "otto" });
      await opened({ tenant_id, scope: "tenant" });
      expect([await connections.count(first, 10), await connections.count(first, 3)]).toEqual([4, 3]);
      expect(await connections.count({ ...first, scope: "tenant" }, 10)).toBe(1);
    });

    test("a connection that was removed hears nothing, and the others do", async () => {
      const gone = await opened();
      const stays = await opened({ tenant_id: gone.tenant_id });
      await connections.remove(gone);
      await connections.remove(gone);
      expect(await connections.find(gone.connection_id)).toBeUndefined();
      expect(await idsOf(gone.tenant_id, "olga")).toEqual([stays.connection_id]);
    });

    test("the first look for connections after the last one has closed ends the listening", async () => {
      const { tenant_id, ...connection } = await opened();
      await connections.remove({ tenant_id, ...connection });
      expect(await hears(tenant_id, "olga")).toBe(true);
      expect(await idsOf(tenant_id, "olga")).toEqual([]);
      expect(await hears(tenant_id, "olga")).toBe(false);
    });

    test("a connection that is announced after the listening has ended is heard of", async () => {
      const first = await opened();
      await connections.remove(first);
      await connections.hearing(first.tenant_id, "olga");
      const second = await opened({ tenant_id: first.tenant_id });
      expect(await hears(first.tenant_id, "olga")).toBe(true);
      expect(await idsOf(first.tenant_id, "olga")).toEqual([second.connection_id]);
    });

    test("no connection lives longer than two hours, so the listening ends then", async () => {
      const { tenant_id } = await opened();
      await clock.advance(connectionSeconds * 1000);
      expect(await hears(tenant_id, "olga")).toBe(true);
      await clock.advance(connectionSeconds * 1000);
      expect(await hears(tenant_id, "olga")).toBe(false);
    });
  });
}
