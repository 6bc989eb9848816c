import { SqsQueues } from "../../src/aws/queues.ts";
import { SqsWorkQueues } from "../../src/aws/work-queues.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryQueues } from "../../src/memory/queues.ts";
import { MemoryWorkQueues } from "../../src/memory/work-queues.ts";
import { KeptLog } from "../support/kept.ts";
import { emulatedQueues, movedClock } from "./emulators.ts";
import { whileTimeRuns } from "./engine.ts";
import { describeWorkQueues } from "./work-queues.ts";

describeWorkQueues("the queues of container workers in memory", async () => {
  const clock = new FakeClock();
  const queues = new MemoryQueues(clock);
  return {
    queues,
    workQueues: new MemoryWorkQueues(queues, clock),
    now: () => clock.now(),
    elapse: (seconds) => clock.advance(seconds * 1000),
    whileTimeRuns: (call) => whileTimeRuns(clock, call),
    close: async () => {},
  };
});

describeWorkQueues("the queues of container workers in SQS", async () => {
  const clock = movedClock("SQS");
  const { client, queueUrls, containerQueueUrls, dlqUrls, close } = await emulatedQueues(clock);
  return {
    queues: new SqsQueues(client, queueUrls, dlqUrls, new KeptLog(), containerQueueUrls),
    workQueues: new SqsWorkQueues(client, containerQueueUrls),
    now: () => clock.now(),
    elapse: (seconds) => clock.advance(seconds * 1000),
    whileTimeRuns: (call) => whileTimeRuns(clock, call),
    close,
  };
});
