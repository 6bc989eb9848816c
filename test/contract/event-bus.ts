import { afterEach, describe, expect, test } from "vitest";
import type { EventBus, OutgoingEvent } from "../../src/core/ports/notify.ts";

/** A bus, and the events that it has. */
export interface BusUnderTest {
  bus: EventBus;
  /** Oldest first. */
  events(): { detailType: unknown; detail: unknown; time: string }[];
  close(): Promise<void>;
}

/** Promises of an event bus. */
export function eventBusContract(open: () => Promise<BusUnderTest>): void {
  describe("an event bus", () => {
    let under: BusUnderTest | undefined;
    afterEach(() => under?.close());

    const event = (number: number): OutgoingEvent => ({
      detailType: number % 2 === 0 ? "Task Completed" : "Task Failed",
      detail: { id: `msg_${number}`, text: "ü\n\u2028", nested: { list: [1, null, true] } },
      time: "2027-01-01T02:00:00.000Z",
    });

    test("has the events that are put, in their order", async () => {
      under = await open();
      const sent = Array.from({ length: 25 }, (_, number) => event(number));
      expect(await under.bus.put(sent)).toEqual(sent.map(() => undefined));
      expect(under.events()).toEqual(
        sent.map(({ detailType, detail }) => ({ detailType, detail, time: expect.anything() })),
      );
      expect(Date.parse(under.events()[0]?.time ?? "")).toBe(Date.parse("2027-01-01T02:00:00Z"));
    });

    test("has nothing when nothing is put", async () => {
      under = await open();
      expect(await under.bus.put([])).toEqual([]);
      expect(under.events()).toEqual([]);
    });
  });
}
