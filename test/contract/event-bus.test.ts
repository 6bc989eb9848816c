import { describe } from "vitest";
import { EventBridgeBus, eventBusClient } from "../../src/aws/event-bus.ts";
import { startEventBus } from "../../src/local/events/event-bus.ts";
import { MemoryEventBus } from "../../src/memory/events.ts";
import { pointTo } from "./emulators.ts";
import { eventBusContract } from "./event-bus.ts";

describe("in memory", () =>
  eventBusContract(async () => {
    const bus = new MemoryEventBus();
    return {
      bus,
      events: () => bus.events.map(({ detailType, detail, time }) => ({ detailType, detail, time })),
      close: async () => {},
    };
  }));

describe("in EventBridge", () =>
  eventBusContract(async () => {
    const server = await startEventBus({ deliver: () => {}, log: () => {} });
    pointTo("EVENTBRIDGE", server.url);
    const client = eventBusClient();
    const bus = new EventBridgeBus(client, { eventBus: "offload", eventSource: "offload.contract" });
    const events = () =>
      server.log
        .newest()
        .toReversed()
        .map((event) => ({ detailType: event["detail-type"], detail: event.detail, time: String(event.time) }));
    const close = async () => {
      client.destroy();
      await server.close();
    };
    return { bus, events, close };
  }));
