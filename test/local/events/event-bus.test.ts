import {
  EventBridgeClient,
  ListRulesCommand,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from "@aws-sdk/client-eventbridge";
import { afterEach, describe, expect, test } from "vitest";
import { defineTrigger } from "../../../src/core/schedules/define-trigger.ts";
import type { EventFiring } from "../../../src/core/schedules/trigger.ts";
import { startEventBus } from "../../../src/local/events/event-bus.ts";
import echo from "../../../tasks/probe.echo.ts";
import { FakeClock } from "../fake-clock.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const order = defineTrigger({
  name: "order.echo",
  bus: "default",
  pattern: { source: ["shop"], detail: { total: [{ numeric: [">", 10] }] } },
  tenantId: "acme",
  type: echo,
  input: { value: "$.detail.total" },
});

async function setUp() {
  const delivered: EventFiring[] = [];
  const lines: string[] = [];
  const clock = new FakeClock();
  const server = await startEventBus({
    clock,
    deliver: (firing) => void delivered.push(firing),
    log: (line) => lines.push(line),
  });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new EventBridgeClient({ endpoint: server.url, region: "us-east-1", credentials, maxAttempts: 1 });
  cleanups.push(server.close, () => client.destroy());
  const put = (...Entries: PutEventsRequestEntry[]) => client.send(new PutEventsCommand({ Entries }));
  return { ...server, client, put, delivered, lines };
}

const entry = { Source: "shop", DetailType: "Order Placed", Detail: '{"total":12}' };

describe("PutEvents", () => {
  test("an event gets EventBridge's envelope", async () => {
    const { put, log } = await setUp();
    const { FailedEntryCount, Entries } = await put({
      ...entry,
      Time: new Date("2026-05-06T07:08:09.100Z"),
      Resources: ["arn:a"],
    });
    expect(FailedEntryCount).toBe(0);
    expect(log.newest()).toEqual([
      {
        version: "0",
        id: Entries?.[0]?.EventId,
        "detail-type": "Order Placed",
        source: "shop",
        account: "000000000000",
        time: "2026-05-06T07:08:09Z",
        region: "us-east-1",
        resources: ["arn:a"],
        detail: { total: 12 },
      },
    ]);
  });

  test("an event without a time has the present one, and no resources", async () => {
    const { put, log } = await setUp();
    await put(entry);
    expect(log.newest()).toMatchObject([{ time: "2027-01-01T00:00:00Z", resources: [] }]);
  });

  test("entries that are not valid are refused one by one, in their places", async () => {
    const { put, log } = await setUp();
    const { Source: _, ...sourceless } = entry;
    const { FailedEntryCount, Entries } = await put(
      entry,
      sourceless,
      { ...entry, DetailType: "" },
      { Source: "shop", DetailType: "Order Placed" },
      { ...entry, Detail: "text" },
      { ...entry, Detail: "[1]" },
      { ...entry, Source: "aws.s3" },
    );
    expect(FailedEntryCount).toBe(6);
    expect(Entries?.map(({ ErrorCode }) => ErrorCode)).toEqual([
      ...[undefined, "InvalidArgument", "InvalidArgument", "InvalidArgument"],
      ...["MalformedDetail", "MalformedDetail", "NotAuthorizedForSourceException"],
    ]);
    expect(log.newest()).toHaveLength(1);
  });

  test.each<[what: string, entries: PutEventsRequestEntry[], message: string]>([
    ["no entry", [], "Member must have length greater than or equal to 1"],
    ["eleven entries", new Array(11).fill(entry), "Member must have length less than or equal to 10"],
    ["256 KB", new Array(2).fill({ ...entry, Detail: `"${"x".repeat(131_072)}"` }), "Total size of the entries"],
    ["a detail-type of 129 characters", [{ ...entry, DetailType: "x".repeat(129) }], "entries.1.member.DetailType"],
  ])("a request with %s is refused", async (_, entries, message) => {
    const { put, log } = await setUp();
    await expect(put(...entries)).rejects.toMatchObject({
      name: "ValidationException",
      message: expect.stringContaining(message),
      $metadata: { httpStatusCode: 400 },
    });
    expect(log.newest()).toEqual([]);
  });

  test("other operations are refused, with what to do", async () => {
    const { client } = await setUp();
    await expect(client.send(new ListRulesCommand({}))).rejects.toThrow("The rules are in tasks/triggers.ts");
  });
});

describe("triggers on the bus", () => {
  test("matching events are delivered with the trigger's name, and each event has a line in the log", async () => {
    const { put, log, delivered, lines } = await setUp();
    log.use([order, { ...order, name: "second" }]);
    const { Entries } = await put(entry, { ...entry, Detail: '{"total":9}' });
    const [event] = log.newest().toReversed();
    expect(delivered).toEqual([
      { kind: "event", trigger: "order.echo", event },
      { kind: "event", trigger: "second", event },
    ]);
    expect(lines).toEqual([
      `event "Order Placed" of "shop" ${Entries?.[0]?.EventId}: order.echo, second`,
      `event "Order Placed" of "shop" ${Entries?.[1]?.EventId}: no trigger`,
    ]);
  });

  test("a trigger hears its own bus only, by name or ARN", async () => {
    const { put, log, delivered } = await setUp();
    const arn = "arn:aws:events:us-east-1:000000000000:event-bus/company";
    log.use([
      { ...order, name: "on-own", bus: "own" },
      { ...order, name: "on-company", bus: arn },
    ]);
    await put(entry, { ...entry, EventBusName: "offload" }, { ...entry, EventBusName: "company" });
    await put({ ...entry, EventBusName: arn });
    expect(delivered.map(({ trigger }) => trigger)).toEqual(["on-own", "on-company", "on-company"]);
  });

  test("an event that is put in by a test reaches the triggers of every bus, with its id", async () => {
    const { log, delivered } = await setUp();
    log.use([order, { ...order, name: "on-own", bus: "own" }]);
    const sent = { source: "shop", "detail-type": "Order Placed", detail: { total: 11 }, id: "e1" };
    expect(log.put(sent)).toBe("e1");
    expect(delivered).toMatchObject([
      { trigger: "order.echo", event: { id: "e1" } },
      { trigger: "on-own", event: { id: "e1" } },
    ]);
  });

  test("an event that cannot be delivered fails", async () => {
    const server = await startEventBus({
      deliver: () => {
        throw new Error("the disk is full");
      },
      log: () => {},
    });
    cleanups.push(server.close);
    server.log.use([order]);
    const credentials = { accessKeyId: "local", secretAccessKey: "local" };
    const client = new EventBridgeClient({ endpoint: server.url, region: "us-east-1", credentials, maxAttempts: 1 });
    const { Entries } = await client.send(new PutEventsCommand({ Entries: [entry] }));
    expect(Entries).toMatchObject([{ ErrorCode: "InternalFailure" }]);
    expect(server.log.newest()).toEqual([]);
    client.destroy();
  });

  test("the newest thousand events are kept, newest first", async () => {
    const { log } = await setUp();
    for (let number = 0; number < 1_005; number++) {
      log.put({ source: "shop", "detail-type": "x", detail: {}, id: String(number) });
    }
    expect(log.newest()).toHaveLength(1_000);
    expect([log.newest()[0]?.id, log.newest().at(-1)?.id]).toEqual(["1004", "5"]);
  });
});
