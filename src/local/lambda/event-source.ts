import { setTimeout as sleep } from "node:timers/promises";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { workerBatchSize } from "../../settings/config.ts";
import { DiskFault } from "../disk/disk-faults.ts";
import { queueArn, region } from "../sqs/queue-message.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { Activity } from "../time/activity.ts";

type ReceivedMessage = ReturnType<QueueStore["receive"]>[number];

/** Wait after the first message, so that more messages can join its batch. Lambda's polling has the same effect. */
const gatherMs = 10;

/** Waits of that time while more messages come, at most. */
const maxWaits = 5;

/** Wait after the queue could not be written, in milliseconds. */
const faultWaitMs = 1_000;

/** The function that an event source invokes. */
export interface Target {
  /** Resolves when an invocation may start. */
  free(): Promise<void>;
  invoke(event: SQSEvent): Promise<SQSBatchResponse>;
}

export interface EventSourceOptions {
  store: QueueStore;
  queue: string;
  target: Target;
  /** Number of submits that are under way: their messages come soon. Default: none is known. */
  incoming?(): number;
  /** True when no message comes soon, as the server's clock is moved from one thing to the next. Default: false. */
  isAlone?(): boolean;
  /** Counts the invocations that run. Default: nobody asks. */
  activity?: Activity;
  /**
   * Called when an invocation failed, but not for a full disk. Its messages come back when their visibility timeouts
   * end.
   */
  onFailure(error: unknown): void;
}

/**
 * Starts an emulator of Lambda's event source for one queue. It receives a batch when the function is free, and deletes
 * the messages that the function did not report as failed. Returns a function that stops receiving and waits for
 * running batches.
 */
export function startEventSource(options: EventSourceOptions): () => Promise<void> {
  const { store, queue, target, activity = new Activity() } = options;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const turn = async () => {
    await store.whenAvailable(queue, stopping.signal);
    await target.free();
    if (stopping.signal.aborted) return;
    const incoming = options.incoming ?? (() => 0);
    if (!options.isAlone?.()) {
      await gather({ visible: () => store.counts(queue).visible, incoming }, () => sleep(gatherMs));
    }
    const messages = store.receive(queue, workerBatchSize);
    if (messages.length === 0) return;
    const one = activity.during(invoke(options, messages)).finally(() => running.delete(one));
    running.add(one);
  };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      await turn().catch((error: unknown) => {
        if (!(error instanceof DiskFault)) throw error;
        return sleep(faultWaitMs);
      });
    }
  };
  const looping = loop();
  return async () => {
    stopping.abort();
    await Promise.race([looping, Promise.all(running)]);
    await Promise.all(running);
  };
}

/**
 * Waits while more messages come. The first message of a burst would have a batch of its own otherwise, and the
 * function is busy with it for as long as its task runs.
 */
export async function gather(
  { visible, incoming }: { visible(): number; incoming(): number },
  wait: () => Promise<unknown>,
): Promise<void> {
  if (visible() >= workerBatchSize) return;
  let before = 1;
  for (let waits = 0; waits < maxWaits; waits++) {
    await wait();
    const now = visible();
    const more = now > before || (now > 0 && incoming() > 0);
    if (!more || now >= workerBatchSize) return;
    before = now;
  }
}

async function invoke(
  { store, queue, target, onFailure }: EventSourceOptions,
  messages: ReceivedMessage[],
): Promise<void> {
  try {
    const response = await target.invoke(eventOf(queue, messages));
    const failed = new Set(response.batchItemFailures.map((item) => item.itemIdentifier));
    for (const message of messages) if (!failed.has(message.messageId)) store.delete(queue, message.receiptHandle);
  } catch (error) {
    if (!(error instanceof DiskFault)) onFailure(error);
  }
}

/** A batch as Lambda passes it to a function. */
export const eventOf = (queue: string, messages: readonly ReceivedMessage[]): SQSEvent => ({
  Records: messages.map(
    (message) =>
      ({
        messageId: message.messageId,
        receiptHandle: message.receiptHandle,
        body: message.body,
        md5OfBody: message.bodyMd5,
        attributes: message.attributes,
        messageAttributes: Object.fromEntries(
          Object.entries(message.messageAttributes ?? {}).map(([name, { DataType, StringValue, BinaryValue }]) => [
            name,
            { dataType: DataType, stringValue: StringValue, binaryValue: BinaryValue },
          ]),
        ),
        eventSource: "aws:sqs",
        eventSourceARN: queueArn(queue),
        awsRegion: region,
      }) as unknown as SQSRecord,
  ),
});
