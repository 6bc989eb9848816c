import { within } from "../../../util/within.ts";
import { leaseSeconds } from "../../model/change.ts";
import { messageText, type Ticket } from "../../model/envelope.ts";
import { usualMessage } from "../../model/usual-message.ts";
import type { WaitingTask } from "../../ports/flow.ts";
import type { Verdict, Visibility } from "../../ports/queues.ts";
import type { Clock, Delivery } from "../../ports/tasks.ts";
import { Puller, type TaskMessage, timeoutOf } from "../../task/puller.ts";
import { BatchVisibility, fitsIn, planBatch, waitsMs } from "./batch-plan.ts";
import { holdMarginSeconds, sentAgain } from "./run-claimed.ts";
import { type Begun, begin, finish, leaveInQueue, readMessage, type WorkPorts } from "./work-message.ts";

/** An answer is given this many seconds before the worker is stopped. */
const answerSeconds = 5;

/** The process of a worker, which may work on a further batch while this one only goes on with tasks of lines. */
export interface SharedProcess {
  /** Called when each message has its verdict. */
  onDecided(): void;
  /** True while another batch goes on in the process: a task that must run alone is sent again. */
  isShared(): boolean;
}

/** One invocation of a worker. */
interface Batch {
  ports: WorkPorts;
  /** Absent: the process has one batch at a time. */
  process?: SharedProcess | undefined;
  /** Number of its messages. */
  count: number;
  visibility: BatchVisibility;
  /** Epoch milliseconds at which the worker is stopped. */
  deadlineMs: number;
  /** The verdicts that are known. A message without one is delivered again. */
  verdicts: Map<Delivery, Verdict>;
}

/**
 * Works on a batch of one tier's messages. Returns a verdict for each, in their order; no message changes another's
 * verdict. Messages of tasks whose last attempt crashed run alone. A message whose attempt could not be settled before
 * the worker is stopped is delivered again.
 * @param deadlineMs Epoch milliseconds at which this worker is stopped.
 */
export async function workBatch(
  ports: WorkPorts,
  deliveries: readonly Delivery[],
  deadlineMs: number,
  process?: SharedProcess,
): Promise<Verdict[]> {
  const visibility = new BatchVisibility(ports, deadlineMs);
  const batch: Batch = { ports, process, count: deliveries.length, deadlineMs, visibility, verdicts: new Map() };
  try {
    const leftMs = deadlineMs - answerSeconds * 1000 - ports.clock.now();
    await within(ports.clock, leftMs, workAll(batch, deliveries), () => {});
    return deliveries.map((delivery) => batch.verdicts.get(delivery) ?? "again");
  } finally {
    batch.visibility.close();
  }
}

/** read → plan → hide → work together → work alone */
async function workAll(batch: Batch, deliveries: readonly Delivery[]): Promise<void> {
  const { messages, taking } = await readAll(batch, deliveries);
  const { together, alone, sentBack, late } = planBatch(messages, batch.ports.clock.now(), batch.deadlineMs);
  await hideAtStart(batch, together, alone, late);
  await Promise.all(sentBack.map((message) => sendBack(batch, message, message.delivery.solo)));
  const [crashed] = await Promise.all([workTogether(batch, together), ...taking.map(runPulled)]);
  await workAlone(batch, [...alone, ...crashed]);
}

/** A message that is done stays hidden until Lambda deletes it, which is when the whole batch has ended. */
function decide({ visibility, verdicts, process, count }: Batch, delivery: Delivery, verdict: Verdict): void {
  if (verdict === "done") visibility.finished(delivery);
  verdicts.set(delivery, verdict);
  if (verdicts.size === count) process?.onDecided();
}

interface Read {
  messages: TaskMessage[];
  /** The ports of each check that took a task of its line, or waits for one. */
  taking: PullingPorts[];
}

/** Parses each message. */
async function readAll(batch: Batch, deliveries: readonly Delivery[]): Promise<Read> {
  const read = deliveries.map(async (delivery) => {
    const ports = portsFor(batch, delivery);
    const message = await readMessage(ports, delivery);
    if (typeof message === "object") return { message, ports };
    decide(batch, delivery, message);
    return { ports };
  });
  const all = await Promise.all(read);
  return {
    messages: all.flatMap(({ message = [] }) => message),
    taking: all.map(({ ports }) => ports).filter(({ puller }) => !puller.isFree || puller.succeeded !== undefined),
  };
}

/** Seconds for which a message is hidden when its attempt starts. */
const holdSeconds = (message: TaskMessage): number => leaseSeconds(timeoutOf(message)) + holdMarginSeconds;

/** Messages that wait for the rest of the batch stay hidden meanwhile; late ones become visible immediately. */
async function hideAtStart(
  { visibility }: Batch,
  together: readonly TaskMessage[],
  alone: readonly TaskMessage[],
  late: readonly TaskMessage[],
): Promise<void> {
  const waits = waitsMs(together, alone);
  await visibility.hide([
    ...together.map((message) => ({ delivery: message.delivery, seconds: holdSeconds(message) })),
    ...alone.map((message, index) => ({
      delivery: message.delivery,
      seconds: Math.ceil((waits[index] ?? 0) / 1000) + holdSeconds(message),
    })),
    ...late.map(({ delivery }) => ({ delivery, seconds: 0 })),
  ]);
}

/**
 * Claims every task before any handler runs: a handler that kills this process must cost the other tasks no attempt
 * more.
 * @returns The messages whose tasks crashed before, which must run alone.
 */
async function workTogether(batch: Batch, messages: readonly TaskMessage[]): Promise<TaskMessage[]> {
  const { visibility } = batch;
  const begun = await Promise.all(
    messages.map(async (message) => {
      const ports = portsFor(batch, message.delivery);
      return { ports, one: await begin(ports, visibility, message, "together") };
    }),
  );
  const crashed = begun.map(({ one }) => one).filter((one) => one.as === "crashed");
  // No handler waits for it: the leases of the claimed tasks run.
  const hidden = crashed.length > 0 ? hideUntilDeadline(batch, crashed) : undefined;
  await Promise.all(
    begun.map(({ ports, one }) => (one.as === "crashed" ? undefined : finishAndPull(batch, ports, one))),
  );
  await hidden;
  return crashed;
}

/** The ports of one message's work, which may go on with the tasks of its line. */
const portsFor = ({ ports, deadlineMs }: Batch, delivery: Delivery): PullingPorts => ({
  ...ports,
  puller: pullerFor(ports, delivery, deadlineMs),
});

async function finishAndPull(batch: Batch, ports: PullingPorts, begun: Begun): Promise<void> {
  decide(batch, begun.delivery, await finish(ports, batch.visibility, begun));
  await runPulled(ports);
}

const hideUntilDeadline = ({ ports, visibility, deadlineMs }: Batch, messages: readonly TaskMessage[]) => {
  const seconds = Math.max(0, Math.ceil((deadlineMs - ports.clock.now()) / 1000));
  return visibility.hide(messages.map(({ delivery }) => ({ delivery, seconds })));
};

async function workAlone(batch: Batch, messages: readonly TaskMessage[]): Promise<void> {
  const { ports, visibility, deadlineMs } = batch;
  for (const message of messages) {
    if (ports.isStopping?.() || batch.process?.isShared() || !fitsIn(message, ports.clock.now(), deadlineMs)) {
      await sendBack(batch, message, true);
      continue;
    }
    await visibility.hide([{ delivery: message.delivery, seconds: holdSeconds(message) }]);
    const begun = await begin(ports, visibility, message, "alone");
    decide(batch, message.delivery, await finish(ports, visibility, begun));
  }
}

/**
 * Sends a message that did not fit in this batch to its tier again. The new message has no receives: after too many of
 * them, redrive would make a dead letter of a task that nothing is wrong with.
 */
async function sendBack(batch: Batch, message: TaskMessage, solo: boolean): Promise<void> {
  const sent = batch.ports.queues.send(sentAgain(message, { solo }));
  const verdict = sent.then(
    (): Verdict => "done",
    (error: unknown) => leaveInQueue(batch.ports.log, error),
  );
  decide(batch, message.delivery, await verdict);
}

/** The next task of a line comes by no message that could be hidden. */
const noMessage: Visibility = { renew: () => Promise.resolve() };

/** The ports of a worker that goes on with the tasks of lines. */
interface PullingPorts extends WorkPorts {
  puller: Puller;
}

/**
 * Pulls the tasks that a worker of a message can run after it: those of the same queue, of types that it has.
 * @param deadlineMs Epoch milliseconds at which the worker is stopped: a task that might end after it goes by message.
 */
export function pullerFor(ports: WorkPorts, delivery: Delivery, deadlineMs = Number.POSITIVE_INFINITY): Puller {
  const { clock, isStopping, shareMs } = ports;
  const { tier, runsOn, sentAt, ticket: given } = delivery;
  const cameMs = clock.now();
  const messageFor = (task: WaitingTask, ticket: Ticket) => {
    const now = clock.now();
    if (isStopping?.() || !puller.mayPull(now) || task.tier !== tier || task.runsOn !== runsOn) return undefined;
    const message = messageOf(ports, task, ticket);
    return message?.type !== undefined && fitsIn(message, now, deadlineMs) ? message : undefined;
  };
  const behindMs = cameMs - Math.max(sentAt, given?.slotMs ?? 0);
  const puller = new Puller(messageFor, { behindMs, cameMs, shareMs });
  return puller;
}

/**
 * Runs the task that a line let go to this worker, and then the next ones, until the line is empty, its tasks go by
 * message, or the time is over. If the process dies, the backup message of the task that ran comes. Never throws: no
 * error of a line reaches the messages of the batch.
 */
export async function runPulled(ports: PullingPorts): Promise<void> {
  const { puller } = ports;
  try {
    await puller.succeeded;
    for (let message = puller.pulled(); message !== undefined; message = puller.pulled()) {
      const begun = await begin(ports, noMessage, message, "together");
      if ((await finish(ports, noMessage, begun)) === "again") await sendAgain(ports, begun);
    }
    await puller.dequeued;
  } catch (error) {
    ports.log.error("a worker could not go on with the tasks of a line", { error: String(error) });
  }
}

/**
 * Sends the message that a queue would deliver again. A task whose last attempt crashed runs alone. If this fails, the
 * backup message comes later.
 */
const sendAgain = ({ queues, log }: WorkPorts, begun: Begun): Promise<void> =>
  queues
    .send(sentAgain(begun, { solo: begun.as === "crashed" }))
    .catch((error: unknown) => log.warn("could not send a task's message again", { error: String(error) }));

/**
 * The message of a task that a line admitted, as if it had passed through the queue. Undefined: it is no envelope of
 * the usual form, and goes through the queue.
 */
function messageOf(ports: WorkPorts, task: WaitingTask, ticket: Ticket): TaskMessage | undefined {
  const { id, tier, runsOn } = task;
  const body = messageText(task.envelope);
  const read = usualMessage(body);
  if (read === undefined || "check" in read || !read.ok) return undefined;
  const { envelope } = read;
  const delivery: Delivery = {
    tier,
    ...(runsOn === undefined ? {} : { runsOn }),
    messageId: id,
    receiptHandle: "",
    body,
    receiveCount: 1,
    solo: false,
    redrives: 0,
    sentAt: ports.clock.now(),
  };
  return { delivery, envelope, type: ports.registry.get(envelope.type), ticket };
}

/**
 * Ends the running attempts of a process that has to end, without counting them: other workers start their tasks again.
 */
export class Drain {
  readonly #clock: Clock;
  readonly #attempts = new Set<{ call: (() => void) | undefined }>();
  #over = false;
  #cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls back when the attempts are to be given back, now if that time has come. Returns a function that ends this.
   */
  readonly onStopping = (call: () => void): (() => void) => {
    const attempt: { call: (() => void) | undefined } = { call };
    if (this.#over) call();
    else this.#attempts.add(attempt);
    return () => {
      // A table that a Set has outgrown goes on to hold what was in it, until V8's next large collection.
      attempt.call = undefined;
      this.#attempts.delete(attempt);
    };
  };

  /** True when what still ran is given back. */
  readonly isStopping = (): boolean => this.#over;

  /** Waits for the given seconds, then gives back what still runs. */
  begin(seconds: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(seconds * 1000, () => this.now());
  }

  /** Ends the drain: the attempts that still run are given back. */
  now(): void {
    this.#over = true;
    for (const { call } of [...this.#attempts]) call?.();
  }

  /** Ends the wait: nothing runs any more. */
  end(): void {
    this.#cancel();
  }
}
