import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { DynamoConnections } from "../../src/aws/connections.ts";
import { DynamoListeners } from "../../src/aws/listeners.ts";
import type { Connection } from "../../src/core/ports/notify.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryConnections } from "../../src/memory/push.ts";
import { describeConnections } from "./connections.ts";
import { emulatedTable } from "./emulators.ts";

describeConnections("connections in memory", async (clock) => {
  const connections = new MemoryConnections(clock);
  return { connections, listeners: connections, close: async () => {} };
});

describeConnections("connections in DynamoDB", async (clock) => {
  const { dynamoTable, close } = await emulatedTable();
  const listeners = new DynamoListeners(dynamoTable, clock);
  return { connections: new DynamoConnections(dynamoTable), listeners, close };
});

describe("connections in DynamoDB, beyond the contract", () => {
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeAll(async () => {
    emulated = await emulatedTable();
  });
  afterAll(() => emulated.close());

  const clock = new FakeClock();
  const connectionOf = (tenant_id: string): Connection => ({
    connection_id: randomUUID(),
    channel_id: "channel",
    tenant_id,
    principal: "olga",
    scope: "own",
    connected_at: new Date(clock.now()).toISOString(),
  });

  test("a connection that is announced during a look that finds none stays announced, also in the same second", async () => {
    const { documents, dynamoTable } = emulated;
    const connections = new DynamoConnections(dynamoTable);
    const first = connectionOf("acme");
    await connections.add(first);
    await connections.announce(first);
    await connections.remove(first);
    const second = connectionOf("acme");
    const send = documents.send.bind(documents);
    const sent = vi.spyOn(documents, "send").mockImplementation((async (command: { constructor: { name: string } }) => {
      const answer = await send(command as never);
      if (command.constructor.name !== "QueryCommand") return answer;
      sent.mockRestore();
      await connections.add(second);
      await connections.announce(second);
      return answer;
    }) as never);
    expect(await connections.hearing("acme", "olga")).toEqual([]);
    expect(await new DynamoListeners(dynamoTable, clock).hears("acme", "olga", true)).toBe(true);
    expect(await connections.hearing("acme", "olga")).toEqual([second]);
  });

  test("calls of the same tick share one request, and later ones use its answers for two seconds", async () => {
    const { documents, dynamoTable } = emulated;
    const listeners = new DynamoListeners(dynamoTable, clock);
    const connection = connectionOf("globex");
    await new DynamoConnections(dynamoTable).announce(connection);
    const sent = vi.spyOn(documents, "send");
    const names = ["olga", "otto", "anna", "olga"];
    const many = (fresh: boolean) => Promise.all(names.map((name) => listeners.hears("globex", name, fresh)));
    expect(await many(true)).toEqual([true, false, false, true]);
    expect(sent).toHaveBeenCalledTimes(1);
    expect(await many(false)).toEqual([true, false, false, true]);
    await clock.advance(1_999);
    await many(false);
    expect(sent).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    await many(false);
    expect(sent).toHaveBeenCalledTimes(2);
    await many(true);
    expect(sent).toHaveBeenCalledTimes(3);
    sent.mockRestore();
  });

  test("more marks than a request can have are read in several requests", async () => {
    const { dynamoTable } = emulated;
    const listeners = new DynamoListeners(dynamoTable, clock);
    await new DynamoConnections(dynamoTable).announce({ ...connectionOf("large"), principal: "p-119" });
    const names = Array.from({ length: 120 }, (_, index) => `p-${index}`);
    const heard = await Promise.all(names.map((name) => listeners.hears("large", name, true)));
    expect(heard.indexOf(true)).toBe(119);
    expect(heard.filter(Boolean)).toHaveLength(1);
  });
});
