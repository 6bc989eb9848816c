import { fitsIn, longestTogetherMs, planBatch } from "./batch-plan.ts";
import { BatchVisibility } from "./batch-visibility.ts";
import { buryUnreadable } from "./bury.ts";
import { type TaskMessage, timeoutOf } from "./claim.ts";
import { parseEnvelope } from "./envelope.ts";
import { leaseSeconds } from "./lease.ts";
import type { Delivery } from "./ports.ts";
import { againWhenUnavailable, type Verdict } from "./verdict.ts";
import { begin, finish, holdMarginSeconds, type WorkPorts } from "./work-message.ts";

/** One invocation of a worker. */
interface Batch {
  ports: WorkPorts;
  visibility: BatchVisibility;
  /** Epoch milliseconds at which the worker is stopped. */
  deadlineMs: number;
}

type Answer = readonly [Delivery, Verdict];

/**
 * Works on a batch of one tier's messages. Returns a verdict for each, in their order; no message changes another's verdict.
 * Messages of tasks whose last attempt crashed run alone.
 * @param deadlineMs Epoch milliseconds at which this worker is stopped.
 */
export async function workBatch(
  ports: WorkPorts,
  deliveries: readonly Delivery[],
  deadlineMs: number,
): Promise<Verdict[]> {
  const visibility = new BatchVisibility(ports, deadlineMs);
  try {
    const verdicts = new Map(await workAll({ ports, visibility, deadlineMs }, deliveries));
    return deliveries.map((delivery) => verdicts.get(delivery) ?? "again");
  } finally {
    visibility.close();
  }
}

/** read → plan → hide → work together → work alone */
async function workAll(batch: Batch, deliveries: readonly Delivery[]): Promise<Answer[]> {
  const { messages, unreadable } = await readAll(batch, deliveries);
  const { together, alone, sentBack, late } = planBatch(messages, batch.ports.clock.now(), batch.deadlineMs);
  await hideAtStart(batch, together, alone, late);
  const sent = await Promise.all(sentBack.map((message) => sendBack(batch, message, message.delivery.solo)));
  const { answers, crashed } = await workTogether(batch, together);
  return [
    ...unreadable,
    ...late.map((message) => answer(batch, message, "again")),
    ...sent,
    ...answers,
    ...(await workAlone(batch, [...alone, ...crashed])),
  ];
}

/** A message that is done stays hidden until Lambda deletes it, which is when the whole batch has ended. */
function answer({ visibility }: Batch, { delivery }: { delivery: Delivery }, verdict: Verdict): Answer {
  if (verdict === "done") visibility.finished(delivery);
  return [delivery, verdict];
}

/** Parses each message. One that is not an envelope goes to the DLQ immediately, whole. */
async function readAll(batch: Batch, deliveries: readonly Delivery[]) {
  const { ports } = batch;
  const messages: TaskMessage[] = [];
  const unreadable: Answer[] = [];
  for (const delivery of deliveries) {
    const parsed = parseEnvelope(delivery.body);
    if (parsed.ok) {
      messages.push({ delivery, envelope: parsed.envelope, type: ports.registry.get(parsed.envelope.type) });
    } else {
      unreadable.push(answer(batch, { delivery }, await burySafely(ports, delivery, parsed.reason)));
    }
  }
  return { messages, unreadable };
}

/** A DLQ that refuses the message, for example because it is too long once wrapped, must not stop the other messages. */
const burySafely = (ports: WorkPorts, delivery: Delivery, reason: string): Promise<Verdict> =>
  buryUnreadable(ports, delivery, reason).catch((error: unknown) => {
    ports.log.error("could not send an unreadable message to the DLQ", {
      message_id: delivery.messageId,
      error: String(error),
    });
    return "again";
  });

/** Seconds for which a message is hidden when its attempt starts. */
const holdSeconds = (message: TaskMessage): number => leaseSeconds(timeoutOf(message)) + holdMarginSeconds;

/** Messages that wait for the rest of the batch stay hidden meanwhile; late ones become visible immediately. */
async function hideAtStart(
  { visibility }: Batch,
  together: readonly TaskMessage[],
  alone: readonly TaskMessage[],
  late: readonly TaskMessage[],
): Promise<void> {
  const waitSeconds = Math.ceil(longestTogetherMs(together) / 1000);
  await visibility.hide([
    ...together.map((message) => ({ delivery: message.delivery, seconds: holdSeconds(message) })),
    ...alone.map((message) => ({ delivery: message.delivery, seconds: waitSeconds + holdSeconds(message) })),
    ...late.map(({ delivery }) => ({ delivery, seconds: 0 })),
  ]);
}

/**
 * Claims every task before any handler runs: a handler that kills this process must cost the other tasks no attempt more.
 * @returns Also the messages whose tasks crashed before, which must run alone.
 */
async function workTogether(batch: Batch, messages: readonly TaskMessage[]) {
  const { ports, visibility } = batch;
  const begun = await Promise.all(messages.map((message) => begin(ports, visibility, message, "together")));
  const crashed = begun.filter((one) => one.as === "crashed");
  await hideUntilDeadline(batch, crashed);
  const started = begun.filter((one) => one.as !== "crashed");
  const answers = await Promise.all(
    started.map(async (one) => answer(batch, one, await finish(ports, visibility, one))),
  );
  return { answers, crashed };
}

const hideUntilDeadline = ({ ports, visibility, deadlineMs }: Batch, messages: readonly TaskMessage[]) => {
  const seconds = Math.max(0, Math.ceil((deadlineMs - ports.clock.now()) / 1000));
  return visibility.hide(messages.map(({ delivery }) => ({ delivery, seconds })));
};

async function workAlone(batch: Batch, messages: readonly TaskMessage[]): Promise<Answer[]> {
  const { ports, visibility, deadlineMs } = batch;
  const answers: Answer[] = [];
  for (const message of messages) {
    if (!fitsIn(message, ports.clock.now(), deadlineMs)) {
      answers.push(await sendBack(batch, message, true));
      continue;
    }
    await visibility.hide([{ delivery: message.delivery, seconds: holdSeconds(message) }]);
    const begun = await begin(ports, visibility, message, "alone");
    answers.push(answer(batch, message, await finish(ports, visibility, begun)));
  }
  return answers;
}

/**
 * Sends a message that did not fit in this batch to its tier again. The new message has no receives: after too many of them, redrive
 * would make a dead letter of a task that nothing is wrong with.
 */
async function sendBack(batch: Batch, message: TaskMessage, solo: boolean): Promise<Answer> {
  const { delivery, envelope } = message;
  const { tier, redrives } = delivery;
  const sent = batch.ports.queues.send({ tier, envelope, delaySeconds: 0, solo, redrives });
  return answer(batch, message, await sent.then((): Verdict => "done", againWhenUnavailable));
}
