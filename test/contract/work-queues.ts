import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import type { WorkQueues } from "../../src/core/ports/queues.ts";
import type { Delivery, Queues } from "../../src/core/ports/tasks.ts";
import { envelopeOf, newRecord } from "../support/records.ts";
import { about } from "./engine.ts";

/** An implementation of `WorkQueues`, and the ports that fill its queues. */
export interface WorkQueuesUnderTest {
  workQueues: WorkQueues;
  queues: Queues;
  now(): number;
  elapse(seconds: number): Promise<void>;
  /** Lets time run until a call that may wait for it has its answer. */
  whileTimeRuns<T>(call: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The promises of the queues of container workers, for every implementation. */
export function describeWorkQueues(name: string, make: () => Promise<WorkQueuesUnderTest>): void {
  describe(name, () => {
    let under: WorkQueuesUnderTest;
    const going = new AbortController().signal;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    const receive = (
      tier: Tier,
      more: { max?: number; waitSeconds?: number; hideSeconds?: number } = {},
      signal = going,
    ) => under.workQueues.receive(tier, { max: 10, waitSeconds: 1, hideSeconds: 60, ...more }, signal);
    const received = (...args: Parameters<typeof receive>) => under.whileTimeRuns(receive(...args));
    const send = async (tier: Tier, more: { runsOn?: "container"; solo?: boolean; redrives?: number } = {}) => {
      const envelope = envelopeOf(newRecord());
      const message = { tier, envelope, delaySeconds: 0, solo: false, redrives: 0, runsOn: "container" as const };
      await under.queues.send({ ...message, ...more });
      return JSON.stringify(envelope);
    };

    beforeEach(async () => {
      await under.elapse(50_000);
      for (const tier of tiers) {
        for (let left: Delivery[] = await received(tier); left.length > 0; left = await received(tier)) {
          for (const delivery of left) await under.workQueues.remove(delivery);
        }
      }
    });

    test("a message arrives with all that was sent", async () => {
      const sentAt = under.now();
      const body = await send("high", { solo: true, redrives: 2 });
      expect(await received("high")).toEqual([
        {
          tier: "high",
          runsOn: "container",
          messageId: expect.stringMatching(/\S/),
          receiptHandle: expect.stringMatching(/\S/),
          body,
          receiveCount: 1,
          solo: true,
          redrives: 2,
          tenantId: "acme",
          sentAt: about(sentAt),
        },
      ]);
    });

    test("a check of a line goes to the queue of worker functions, unless it is for containers", async () => {
      const check = { line: "places/0/concurrency/test.task/acme/", check_id: "id" };
      await under.queues.sendCheck({ tier: "high", check, delaySeconds: 0 });
      expect(await received("high")).toEqual([]);
      await under.queues.sendCheck({ tier: "high", runsOn: "container", check, delaySeconds: 0 });
      expect(await received("high")).toMatchObject([{ runsOn: "container", body: JSON.stringify(check) }]);
    });

    test("a receive takes at most the given number of messages", async () => {
      for (let count = 0; count < 4; count++) await send("normal");
      expect(await received("normal", { max: 3 })).toHaveLength(3);
      expect(await received("normal", { max: 3 })).toHaveLength(1);
    });

    test("a receive returns a message of no other tier", async () => {
      await send("low");
      expect(await received("normal")).toEqual([]);
      expect(await received("low")).toHaveLength(1);
    });

    test("a receive that waits returns a message that comes meanwhile", async () => {
      const waiting = receive("normal", { waitSeconds: 20 });
      await send("normal");
      expect(await under.whileTimeRuns(waiting)).toHaveLength(1);
    });

    test("a message is hidden for the given time", async () => {
      await send("normal");
      expect(await received("normal", { hideSeconds: 100 })).toHaveLength(1);
      await under.elapse(90);
      expect(await received("normal")).toEqual([]);
      await under.elapse(20);
      expect(await received("normal")).toMatchObject([{ receiveCount: 2 }]);
    });

    test("a message that was removed never arrives again", async () => {
      await send("normal");
      for (const delivery of await received("normal")) await under.workQueues.remove(delivery);
      await under.elapse(1_000);
      expect(await received("normal")).toEqual([]);
    });

    test("a receive that is aborted ends immediately, and no message is lost", async () => {
      const abort = new AbortController();
      const waiting = receive("normal", { waitSeconds: 20 }, abort.signal);
      setTimeout(() => abort.abort(), 50);
      expect(await waiting).toEqual([]);
      expect(await receive("normal", {}, abort.signal)).toEqual([]);
      await send("normal");
      // SQS may still answer the aborted request, also a while later: then the message comes back after its hold.
      const found: unknown[] = [];
      for (let hold = 0; hold < 3 && found.length === 0; hold++) {
        await under.elapse(61);
        found.push(...(await received("normal")));
      }
      expect(found).toHaveLength(1);
    });
  });
}
