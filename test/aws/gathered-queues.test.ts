import { expect, test } from "vitest";
import { GatheredQueues } from "../../src/aws/gathered-queues.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";
import type { Tier } from "../../src/core/model/words.ts";
import type { Outgoing } from "../../src/core/ports/tasks.ts";
import { envelopeOf, newRecord } from "../support/records.ts";

const message = (tier: Tier, value: number): Outgoing => ({
  tier,
  envelope: envelopeOf(newRecord(), value),
  delaySeconds: 0,
  solo: false,
  redrives: 0,
});

/** Queues that keep the calls of `sendMany`. `answer` is the outcome of a call. */
function gathered(answer: (inputs: unknown[]) => (Error | undefined)[] | Error = () => []) {
  const calls: { tier: Tier; inputs: unknown[] }[] = [];
  const queues = new GatheredQueues({
    hold: async () => {},
    deadLetter: async () => {},
    sendCheck: async () => {},
    async sendMany({ tier }, messages) {
      const inputs = messages.map(({ envelope }) => envelope.input);
      calls.push({ tier, inputs });
      const outcome = answer(inputs);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  });
  return { queues, calls };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

test("messages that are sent together go in calls of up to ten, in their order", async () => {
  const { queues, calls } = gathered();
  await Promise.all(upTo(25).map((value) => queues.send(message("normal", value))));
  expect(calls.map(({ inputs }) => inputs)).toEqual([upTo(10), upTo(10).map((n) => n + 10), [20, 21, 22, 23, 24]]);
});

test("each tier has calls of its own, and a lone message does not wait for a tenth", async () => {
  const { queues, calls } = gathered();
  await Promise.all([queues.send(message("low", 1)), queues.send(message("high", 2))]);
  await queues.send(message("low", 3));
  expect(calls).toEqual([
    { tier: "low", inputs: [1] },
    { tier: "high", inputs: [2] },
    { tier: "low", inputs: [3] },
  ]);
});

test("a message that SQS refused fails alone", async () => {
  const { queues } = gathered((inputs) =>
    inputs.map((value) => (value === 1 ? new PortUnavailable("the queue") : undefined)),
  );
  const outcomes = await Promise.allSettled(upTo(3).map((value) => queues.send(message("normal", value))));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("a call that failed fails all its messages", async () => {
  const { queues } = gathered(() => new PortUnavailable("the queue"));
  const outcomes = await Promise.allSettled(upTo(3).map((value) => queues.send(message("normal", value))));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
});
