import type { EventBridgeClient, PutEventsCommand, PutEventsCommandOutput } from "@aws-sdk/client-eventbridge";
import { describe, expect, test } from "vitest";
import { EventBridgeBus } from "../../src/aws/event-bus.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import type { OutgoingEvent } from "../../src/core/ports/notify.ts";

type Result = { EventId: string } | { ErrorCode: string; ErrorMessage: string };

const settings = { eventBus: "orders", eventSource: "offload.Offload-prod" };

/** A bus of EventBridge whose answers a test gives: for each request a function of its entries, or an error. */
function setUp(...answers: (((numbers: number[]) => (Result | undefined)[]) | Error)[]) {
  const requests: PutEventsCommand["input"][] = [];
  const client = {
    send: async ({ input }: PutEventsCommand) => {
      requests.push(input);
      const answer = answers.shift() ?? ((numbers: number[]) => numbers.map(() => ({ EventId: "id" })));
      if (answer instanceof Error) throw answer;
      const numbers = (input.Entries ?? []).map(
        ({ Detail }) => (JSON.parse(Detail ?? "") as { number: number }).number,
      );
      return { Entries: answer(numbers) } as PutEventsCommandOutput;
    },
  };
  const bus = new EventBridgeBus(client as unknown as EventBridgeClient, settings);
  const numbersOf = () =>
    requests.map(({ Entries = [] }) => Entries.map(({ Detail }) => JSON.parse(Detail ?? "").number as number));
  return { bus, requests, numbersOf };
}

const event = (number: number, more: Partial<OutgoingEvent> = {}): OutgoingEvent => ({
  detailType: "Task Completed",
  detail: { number },
  time: "2027-01-01T02:00:00.500Z",
  ...more,
});
const events = (count: number) => Array.from({ length: count }, (_, number) => event(number));

const failing =
  (code: string, ...failed: number[]) =>
  (numbers: number[]): Result[] =>
    numbers.map((number) =>
      failed.includes(number) ? { ErrorCode: code, ErrorMessage: "no" } : { EventId: String(number) },
    );

describe("events on the bus", () => {
  test("an event has the bus, the source of the deployment, and its own fields", async () => {
    const { bus, requests } = setUp();
    expect(await bus.put([event(1)])).toEqual([undefined]);
    expect(requests).toEqual([
      {
        Entries: [
          {
            EventBusName: "orders",
            Source: "offload.Offload-prod",
            DetailType: "Task Completed",
            Detail: '{"number":1}',
            Time: new Date("2027-01-01T02:00:00.500Z"),
          },
        ],
      },
    ]);
  });

  test("a W3C trace is in the detail; an X-Ray header is the entry's own", async () => {
    const { bus, requests } = setUp();
    const w3c = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const xRay = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    await bus.put([event(1, { traceparent: w3c }), event(2, { traceparent: xRay })]);
    const [first, second] = requests[0]?.Entries ?? [];
    expect([first?.Detail, first?.TraceHeader]).toEqual([`{"number":1,"traceparent":"${w3c}"}`, undefined]);
    expect([second?.Detail, second?.TraceHeader]).toEqual(['{"number":2}', xRay]);
  });

  test("no events need no request", async () => {
    const { bus, requests } = setUp();
    expect(await bus.put([])).toEqual([]);
    expect(requests).toEqual([]);
  });

  test("a request has at most ten events", async () => {
    const { bus, numbersOf } = setUp();
    expect(await bus.put(events(23))).toEqual(new Array(23).fill(undefined));
    expect(numbersOf().map((numbers) => numbers.length)).toEqual([10, 10, 3]);
    expect(numbersOf().flat()).toEqual(events(23).map((_, number) => number));
  });

  test("a request has less than 256 KB, counted as EventBridge counts", async () => {
    const { bus, numbersOf } = setUp();
    const large = (number: number) => event(number, { detail: { number, text: "ü".repeat(50_000) } });
    await bus.put([large(0), large(1), large(2), large(3)]);
    expect(numbersOf()).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test("an event that is too large fails alone", async () => {
    const { bus, numbersOf } = setUp();
    const errors = await bus.put([event(0), event(1, { detail: { number: 1, text: "x".repeat(262_144) } }), event(2)]);
    expect(errors).toMatchObject([undefined, { name: "EventTooLarge" }, undefined]);
    expect(numbersOf()).toEqual([[0, 2]]);
  });
});

describe("events that the bus did not take", () => {
  test.each(["ThrottlingException", "InternalFailure"])("only they are put again after %s", async (code) => {
    const { bus, numbersOf } = setUp(failing(code, 1, 3), failing(code, 3));
    expect(await bus.put(events(5))).toEqual(new Array(5).fill(undefined));
    expect(numbersOf()).toEqual([[0, 1, 2, 3, 4], [1, 3], [3]]);
  });

  test("after three requests the event has an error, after which a later call can succeed", async () => {
    const code = "ThrottlingException";
    const { bus, numbersOf } = setUp(failing(code, 1), failing(code, 1), failing(code, 1));
    const errors = await bus.put(events(3));
    expect(errors.map((error) => error instanceof PortUnavailable)).toEqual([false, true, false]);
    expect(numbersOf()).toEqual([[0, 1, 2], [1], [1]]);
  });

  test("an event that EventBridge refuses for good is not put again", async () => {
    const { bus, numbersOf } = setUp(failing("MalformedDetail", 1));
    const errors = await bus.put(events(2));
    expect(errors).toMatchObject([
      undefined,
      { name: "MalformedDetail", message: "EventBridge refused the event: no" },
    ]);
    expect(errors[1]).not.toBeInstanceOf(PortUnavailable);
    expect(numbersOf()).toEqual([[0, 1]]);
  });

  test("an answer without the event says nothing about it, so it is put again", async () => {
    const { bus, numbersOf } = setUp(() => [{ EventId: "a" }]);
    expect(await bus.put(events(2))).toEqual([undefined, undefined]);
    expect(numbersOf()).toEqual([[0, 1], [1]]);
  });

  test("a request that fails fails its events, and no others", async () => {
    const down = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const { bus, numbersOf } = setUp(down);
    const errors = await bus.put(events(12));
    expect(errors.slice(0, 10).every((error) => error instanceof PortUnavailable)).toBe(true);
    expect(errors.slice(10)).toEqual([undefined, undefined]);
    expect(numbersOf().map((numbers) => numbers.length)).toEqual([10, 2]);
  });

  test("a missing permission is an error of its own", async () => {
    const { bus } = setUp(Object.assign(new Error("no"), { name: "AccessDeniedException" }));
    expect(await bus.put(events(1))).toMatchObject([{ name: "AccessDeniedException" }]);
  });
});

test("a bus cannot be made while events are off", () => {
  const make = () => new EventBridgeBus({} as EventBridgeClient, { eventBus: undefined, eventSource: undefined });
  expect(make).toThrow("OFFLOAD_EVENT_BUS");
});
