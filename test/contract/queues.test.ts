import { DeleteMessageCommand } from "@aws-sdk/client-sqs";
import { SqsDeadLetterQueues } from "../../src/aws/dead-letter-queues.ts";
import { deliveryOf } from "../../src/aws/deliveries.ts";
import { GatheredQueues } from "../../src/aws/gathered-queues.ts";
import { SqsQueueDepths } from "../../src/aws/queue-depths.ts";
import { SqsQueues } from "../../src/aws/queues.ts";
import type { Tier } from "../../src/core/model/words.ts";
import type { DeadLetterQueues } from "../../src/core/ports/queues.ts";
import type { MainQueue } from "../../src/core/ports/tasks.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryQueues } from "../../src/memory/queues.ts";
import { KeptLog } from "../support/kept.ts";
import { emulatedQueues, movedClock, receiveRecords } from "./emulators.ts";
import { whileTimeRuns } from "./engine.ts";
import { describeQueues, type QueuesUnderTest } from "./queues.ts";

describeQueues("queues in memory", async () => {
  const clock = new FakeClock();
  const queues = new MemoryQueues(clock);
  return {
    queues,
    letters: queues,
    depths: queues,
    take: async (tier, visibilitySeconds, runsOn) => queues.take(tier, 10, visibilitySeconds, runsOn),
    acknowledge: async ({ receiptHandle }) => queues.acknowledge(receiptHandle),
    now: () => clock.now(),
    elapse: (seconds) => clock.advance(seconds * 1000),
    close: async () => {},
  };
});

/** @param gathered True: messages go to SQS in batches. */
const inSqs = (gathered: boolean) => async (): Promise<QueuesUnderTest> => {
  const clock = movedClock("SQS");
  const { client, eventSource, queueUrls, containerQueueUrls, dlqUrls, close } = await emulatedQueues(clock);
  const queues = new SqsQueues(client, queueUrls, dlqUrls, new KeptLog(), containerQueueUrls);
  const letters = new SqsDeadLetterQueues(client, dlqUrls, new KeptLog());
  // An empty DLQ is waited for; time has to pass for that to end.
  const impatient: DeadLetterQueues = {
    receive: (tier, seconds) => whileTimeRuns(clock, letters.receive(tier, seconds)),
    delete: (tier, held) => letters.delete(tier, held),
    release: (tier, held) => letters.release(tier, held),
  };
  const urlOf = ({ tier, runsOn }: MainQueue) => (runsOn === undefined ? queueUrls : containerQueueUrls)[tier];
  const take = async (tier: Tier, visibilitySeconds: number, runsOn?: "container") => {
    const queue = { tier, runsOn };
    return (await receiveRecords(eventSource, urlOf(queue), visibilitySeconds)).map((one) => deliveryOf(one, queue));
  };
  return {
    queues: gathered ? new GatheredQueues(queues) : queues,
    letters: impatient,
    depths: new SqsQueueDepths(client, queueUrls, dlqUrls, containerQueueUrls),
    take,
    acknowledge: async (delivery) => {
      const { receiptHandle: ReceiptHandle } = delivery;
      await eventSource.send(new DeleteMessageCommand({ QueueUrl: urlOf(delivery), ReceiptHandle }));
    },
    now: () => clock.now(),
    elapse: (seconds) => clock.advance(seconds * 1000),
    close,
  };
};

describeQueues("queues in SQS", inSqs(false));
describeQueues("queues in SQS, with gathered messages", inSqs(true));
