import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { DeadLetterMessage } from "../../src/core/model/envelope.ts";
import { parseDeadLetter, parseEnvelope } from "../../src/core/model/read-envelope.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import type { DeadLetterQueues, ReceivedDeadLetter } from "../../src/core/ports/queues.ts";
import type { Delivery, Outgoing, QueueDepths, Queues } from "../../src/core/ports/tasks.ts";
import { envelopeOf, newRecord } from "../support/records.ts";
import { about } from "./engine.ts";

/** Characters that SQS refuses in a body, or that are easily damaged on the way. */
const hostileText = "\ufffe \uffff \0 \u0001 \u001f \u007f \ud800 \udc00 \u{1fffe} \u2028 \ufeff 🧾 \t\r\n \\ufffe";

/** The characters outside of SQS's documented set. */
const refusedBySqs = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/** What a test needs of an implementation of the queues: the ports, and what the event source does. */
export interface QueuesUnderTest {
  queues: Queues;
  letters: DeadLetterQueues;
  depths: QueueDepths;
  /** Hands out up to 10 visible messages of a tier's queue, hidden for so many seconds. Default: the queue for worker functions. */
  take(tier: Tier, visibilitySeconds: number, runsOn?: "container"): Promise<Delivery[]>;
  /** Deletes a message that was taken. */
  acknowledge(delivery: Delivery): Promise<void>;
  now(): number;
  elapse(seconds: number): Promise<void>;
  close(): Promise<void>;
}

const message = (tier: Tier, more: Partial<Outgoing> = {}): Outgoing => ({
  tier,
  envelope: envelopeOf(newRecord(), { a: ["ä", null, 1.5] }),
  delaySeconds: 0,
  solo: false,
  redrives: 0,
  ...more,
});

const letter = (tier: Tier): DeadLetterMessage => ({
  original_message: envelopeOf(newRecord()),
  failure_reason: "nö",
  failure_type: "Error",
  failure_kind: "permanent",
  attempt_count: 3,
  first_failed_at: "2027-01-01T00:00:00.000Z",
  last_failed_at: "2027-01-02T00:00:00.000Z",
  original_queue: tier,
});

/** The promises of the queues, for every implementation. Its tests share queues and time, so they run one by one. */
export function describeQueues(name: string, make: () => Promise<QueuesUnderTest>): void {
  describe(name, () => {
    let under: QueuesUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());
    beforeEach(async () => {
      await under.elapse(50_000);
      for (const tier of tiers) await empty(tier);
    });

    const empty = async (tier: Tier) => {
      while ((await under.depths.ofTier(tier)).visible > 0) {
        for (const runsOn of [undefined, "container"] as const) {
          for (const delivery of await under.take(tier, 60, runsOn)) await under.acknowledge(delivery);
        }
      }
      await under.letters.delete(tier, await allLetters(tier));
    };
    const bodies = async (tier: Tier, seconds = 60) => (await under.take(tier, seconds)).map(({ body }) => body);
    const takeOne = async (tier: Tier, seconds = 60): Promise<Delivery> => {
      const [delivery, ...more] = await under.take(tier, seconds);
      if (delivery === undefined || more.length > 0) throw new Error("there is not exactly one message");
      return delivery;
    };
    /** Every visible letter of a DLQ, held. */
    const allLetters = async (tier: Tier, seconds = 60): Promise<ReceivedDeadLetter[]> => {
      const held: ReceivedDeadLetter[] = [];
      while ((await under.depths.ofDlq(tier)).visible > 0) {
        const some = await under.letters.receive(tier, seconds);
        expect(some.length).toBeLessThanOrEqual(10);
        held.push(...some);
      }
      return held;
    };
    const reasons = async (tier: Tier) =>
      (await allLetters(tier)).map(({ body }) => parseDeadLetter(body)?.failure_reason).sort();

    describe("a message", () => {
      test("a message arrives with all that was sent", async () => {
        const sent = message("high", { solo: true, redrives: 2 });
        const sentAt = under.now();
        await under.queues.send(sent);
        expect(await takeOne("high")).toEqual({
          tier: "high",
          messageId: expect.stringMatching(/\S/),
          receiptHandle: expect.stringMatching(/\S/),
          body: JSON.stringify(sent.envelope),
          receiveCount: 1,
          solo: true,
          redrives: 2,
          tenantId: "acme",
          sentAt: about(sentAt),
        });
      });

      test("a message is plain by default", async () => {
        await under.queues.send(message("low"));
        expect(await takeOne("low")).toMatchObject({ solo: false, redrives: 0 });
      });

      test.each(tiers)("a message of %s is in no other tier", async (tier) => {
        await under.queues.send(message(tier));
        for (const other of tiers) expect(await bodies(other)).toHaveLength(other === tier ? 1 : 0);
      });

      test.each(tiers)("a message for container workers is in the queue of %s that only they read", async (tier) => {
        const sent = message(tier, { runsOn: "container", redrives: 1 });
        await under.queues.send(sent);
        for (const other of tiers) expect(await bodies(other)).toEqual([]);
        const taken = await under.take(tier, 60, "container");
        expect(taken).toMatchObject([{ tier, runsOn: "container", redrives: 1, body: JSON.stringify(sent.envelope) }]);
        for (const other of tiers) expect(await under.take(other, 60, "container")).toEqual([]);
      });

      test("a message for worker functions is in no queue for container workers", async () => {
        await under.queues.send(message("high"));
        expect(await under.take("high", 60, "container")).toEqual([]);
        expect(await takeOne("high")).not.toHaveProperty("runsOn");
      });

      test("messages for both kinds of workers that are sent at the same time each go to their queue", async () => {
        const both = [message("low"), message("low", { runsOn: "container" })];
        await Promise.all(both.map((one) => under.queues.send(one)));
        expect(await bodies("low")).toEqual([JSON.stringify(both[0]?.envelope)]);
        const taken = await under.take("low", 60, "container");
        expect(taken.map(({ body }) => body)).toEqual([JSON.stringify(both[1]?.envelope)]);
      });

      test.each([1, 30, 900])("a message with a delay of %i s arrives then, and not before", async (delaySeconds) => {
        await under.queues.send(message("normal", { delaySeconds }));
        await under.elapse(delaySeconds - 1);
        expect(await bodies("normal")).toEqual([]);
        await under.elapse(1);
        expect(await bodies("normal")).toHaveLength(1);
      });

      test("a message of 48 KiB arrives whole", async () => {
        const envelope = envelopeOf(newRecord(), { text: "x".repeat(48_000) });
        await under.queues.send(message("normal", { envelope }));
        expect(await bodies("normal")).toEqual([JSON.stringify(envelope)]);
      });

      test("a message keeps every character, and its text has only characters that SQS takes", async () => {
        const envelope = envelopeOf(newRecord(), { [hostileText]: [hostileText] });
        for (const delaySeconds of [0, 900]) await under.queues.send(message("normal", { envelope, delaySeconds }));
        await under.elapse(900);
        const texts = await bodies("normal");
        expect(texts).toHaveLength(2);
        for (const text of texts) {
          expect(text).not.toMatch(refusedBySqs);
          expect(parseEnvelope(text)).toEqual({ ok: true, envelope });
        }
      });

      test("a message is hidden while a worker has it, and counts its receives", async () => {
        await under.queues.send(message("normal"));
        expect(await takeOne("normal", 30)).toMatchObject({ receiveCount: 1 });
        await under.elapse(29);
        expect(await bodies("normal")).toEqual([]);
        await under.elapse(1);
        expect(await takeOne("normal")).toMatchObject({ receiveCount: 2 });
      });

      test("a message never arrives again once it is acknowledged", async () => {
        await under.queues.send(message("normal"));
        await under.acknowledge(await takeOne("normal", 1));
        await under.elapse(1_000);
        expect(await bodies("normal")).toEqual([]);
      });

      test("the same message can be sent twice", async () => {
        const sent = message("normal");
        await under.queues.send(sent);
        await under.queues.send(sent);
        expect(await bodies("normal")).toHaveLength(2);
      });
    });

    describe("holding", () => {
      const hold = (deliveries: readonly Delivery[], seconds: number) =>
        under.queues.hold(
          "normal",
          deliveries.map(({ receiptHandle }) => ({ receiptHandle, seconds })),
        );

      test.each([
        ["longer", 10, 600],
        ["shorter", 600, 10],
      ])("a hold hides a message %s than it was, counted from now", async (_, before, after) => {
        await under.queues.send(message("normal"));
        const delivery = await takeOne("normal", before);
        await under.elapse(5);
        await hold([delivery], after);
        await under.elapse(after - 1);
        expect(await bodies("normal")).toEqual([]);
        await under.elapse(1);
        expect(await bodies("normal")).toHaveLength(1);
      });

      test("a hold of 0 s makes a message visible immediately", async () => {
        await under.queues.send(message("normal"));
        await hold([await takeOne("normal", 600)], 0);
        expect(await bodies("normal")).toHaveLength(1);
      });

      test("a hold takes ten messages, each with its own time", async () => {
        for (let count = 0; count < 10; count++) await under.queues.send(message("normal"));
        const taken = await under.take("normal", 5);
        expect(taken).toHaveLength(10);
        await under.queues.hold(
          "normal",
          taken.map(({ receiptHandle }, index) => ({ receiptHandle, seconds: 10 * (index + 1) })),
        );
        await under.elapse(10);
        expect(await bodies("normal", 1_000)).toHaveLength(1);
        await under.elapse(50);
        expect(await bodies("normal", 1_000)).toHaveLength(5);
        await under.elapse(40);
        expect(await bodies("normal", 1_000)).toHaveLength(4);
      });

      test("a hold of no messages changes nothing", async () => {
        await under.queues.send(message("normal"));
        await takeOne("normal", 30);
        await under.queues.hold("normal", []);
        await under.elapse(29);
        expect(await bodies("normal")).toEqual([]);
        await under.elapse(1);
        expect(await bodies("normal")).toHaveLength(1);
      });

      test("a hold hides a message of a queue for container workers", async () => {
        await under.queues.send(message("normal", { runsOn: "container" }));
        const [taken] = await under.take("normal", 5, "container");
        await under.queues.hold("normal", [{ receiptHandle: taken?.receiptHandle ?? "", seconds: 100 }], "container");
        await under.elapse(99);
        expect(await under.take("normal", 5, "container")).toEqual([]);
        await under.elapse(1);
        expect(await under.take("normal", 5, "container")).toHaveLength(1);
      });

      test("a hold keeps all messages hidden that still exist, although one is gone", async () => {
        for (let count = 0; count < 3; count++) await under.queues.send(message("normal"));
        const taken = await under.take("normal", 10);
        await under.acknowledge(taken[1] as Delivery);
        await hold(taken, 600);
        await under.elapse(599);
        expect(await bodies("normal")).toEqual([]);
        await under.elapse(1);
        expect(await bodies("normal")).toHaveLength(2);
      });
    });

    describe("a DLQ", () => {
      test.each(tiers)("the DLQ of %s keeps its own letters, and no other DLQ does", async (tier) => {
        const deadLettered = letter(tier);
        await under.queues.deadLetter(tier, deadLettered, "acme");
        for (const other of tiers) {
          const found = (await allLetters(other)).map(({ body }) => parseDeadLetter(body));
          expect(found).toEqual(other === tier ? [deadLettered] : []);
        }
        expect(await bodies(tier)).toEqual([]);
      });

      test("a DLQ takes a letter without a tenant, and text that is not an envelope", async () => {
        const unreadable = { ...letter("normal"), original_message: '{"half' };
        await under.queues.deadLetter("normal", unreadable, undefined);
        expect((await allLetters("normal")).map(({ body }) => parseDeadLetter(body))).toEqual([unreadable]);
      });

      test("a DLQ keeps every character of its letters, and their text has only characters that SQS takes", async () => {
        const failed = { ...letter("normal"), original_message: envelopeOf(newRecord(), hostileText) };
        const deadLettered = [
          { ...failed, failure_reason: hostileText },
          { ...letter("normal"), original_message: `{"${hostileText}`, failure_reason: "unreadable" },
        ];
        for (const one of deadLettered) await under.queues.deadLetter("normal", one, "acme");
        const texts = (await allLetters("normal")).map(({ body }) => body);
        for (const text of texts) expect(text).not.toMatch(refusedBySqs);
        const found = texts.map((text) => parseDeadLetter(text));
        expect(found).toHaveLength(2);
        expect(found).toEqual(expect.arrayContaining(deadLettered));
      });

      test("an empty DLQ has no letters to receive", async () => {
        expect(await under.letters.receive("normal", 60)).toEqual([]);
      });

      test("a DLQ hides what its reader holds, for the reader's time", async () => {
        await under.queues.deadLetter("normal", letter("normal"), "acme");
        expect(await allLetters("normal", 100)).toHaveLength(1);
        await under.elapse(90);
        expect(await allLetters("normal", 100)).toEqual([]);
        await under.elapse(10);
        expect(await allLetters("normal", 100)).toHaveLength(1);
      });

      test("a DLQ shows a released letter immediately", async () => {
        await under.queues.deadLetter("normal", letter("normal"), "acme");
        await under.letters.release("normal", await allLetters("normal", 3_000));
        expect(await allLetters("normal")).toHaveLength(1);
      });

      test("a letter has its own message id, the same each time that it is received", async () => {
        for (let count = 0; count < 2; count++) await under.queues.deadLetter("normal", letter("normal"), "acme");
        const idsOf = (held: readonly ReceivedDeadLetter[]) => held.map(({ messageId }) => messageId).sort();
        const held = await allLetters("normal", 3_000);
        await under.letters.release("normal", held);
        expect(idsOf(await allLetters("normal"))).toEqual(idsOf(held));
        expect(new Set(idsOf(held)).size).toBe(2);
      });

      test("a DLQ deletes what its reader deletes, and nothing else", async () => {
        for (const failure_reason of ["a", "b"])
          await under.queues.deadLetter("normal", { ...letter("normal"), failure_reason }, "acme");
        const held = await allLetters("normal");
        await under.letters.delete(
          "normal",
          held.filter(({ body }) => parseDeadLetter(body)?.failure_reason === "a"),
        );
        await under.elapse(1_000);
        expect(await reasons("normal")).toEqual(["b"]);
      });

      test("a DLQ receives, releases and deletes more letters than fit into one request", async () => {
        const names = Array.from({ length: 23 }, (_, index) => `reason ${String(index).padStart(2, "0")}`);
        for (const failure_reason of names)
          await under.queues.deadLetter("normal", { ...letter("normal"), failure_reason }, "acme");
        const held = await allLetters("normal", 3_000);
        expect(held).toHaveLength(23);
        await under.letters.release("normal", held);
        expect(await reasons("normal")).toEqual(names);
        await under.elapse(60);
        await under.letters.delete("normal", await allLetters("normal"));
        await under.elapse(60);
        expect(await allLetters("normal")).toEqual([]);
      });

      test("a delete or release of no letters changes nothing", async () => {
        await under.queues.deadLetter("normal", letter("normal"), "acme");
        expect(await allLetters("normal", 100)).toHaveLength(1);
        await under.letters.delete("normal", []);
        await under.letters.release("normal", []);
        expect(await allLetters("normal", 100)).toEqual([]);
        await under.elapse(100);
        expect(await allLetters("normal", 100)).toHaveLength(1);
      });
    });

    describe("depths", () => {
      test("the depth of a tier counts what is visible, what is in flight and what is delayed", async () => {
        expect(await under.depths.ofTier("high")).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
        for (let count = 0; count < 12; count++) await under.queues.send(message("high"));
        for (let count = 0; count < 3; count++) await under.queues.send(message("high", { delaySeconds: 60 }));
        const taken = await under.take("high", 30);
        expect(taken).toHaveLength(10);
        expect(await under.depths.ofTier("high")).toEqual({ visible: 2, inFlight: 10, delayed: 3 });
        await under.acknowledge(taken[0] as Delivery);
        await under.elapse(60);
        expect(await under.depths.ofTier("high")).toEqual({ visible: 14, inFlight: 0, delayed: 0 });
        expect(await under.depths.ofTier("low")).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
      });

      test("the depth of a tier includes its messages for container workers", async () => {
        await under.queues.send(message("high"));
        for (let count = 0; count < 2; count++) await under.queues.send(message("high", { runsOn: "container" }));
        await under.queues.send(message("high", { runsOn: "container", delaySeconds: 60 }));
        expect(await under.depths.ofTier("high")).toEqual({ visible: 3, inFlight: 0, delayed: 1 });
        await under.take("high", 30, "container");
        expect(await under.depths.ofTier("high")).toEqual({ visible: 1, inFlight: 2, delayed: 1 });
      });

      test("the depth of a DLQ counts the dead letters", async () => {
        await under.queues.deadLetter("high", letter("high"), "acme");
        await under.queues.deadLetter("high", letter("high"), "globex");
        expect(await under.depths.ofDlq("high")).toEqual({ visible: 2, inFlight: 0, delayed: 0 });
        expect(await under.depths.ofDlq("low")).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
      });
    });
  });
}
