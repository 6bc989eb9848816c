import { messageText } from "../../model/envelope.ts";
import type { Grant } from "../../model/grant.ts";
import { parseEnvelope } from "../../model/read-envelope.ts";
import type { WaitingTask } from "../../ports/flow.ts";
import type { Visibility } from "../../ports/queues.ts";
import type { Delivery } from "../../ports/tasks.ts";
import { Puller, type TaskMessage } from "../../task/puller.ts";
import { fitsIn } from "./batch-plan.ts";
import { sentAgain } from "./unknown-type.ts";
import { type Begun, begin, finish, type WorkPorts } from "./work-message.ts";

/** The next task of a line comes by no message that could be hidden. */
const noMessage: Visibility = { renew: () => Promise.resolve() };

/** The ports of a worker that goes on with the tasks of lines. */
export interface PullingPorts extends WorkPorts {
  puller: Puller;
}

/**
 * Pulls the tasks that a worker of a message can run after it: those of the same queue, of types that it has.
 * @param deadlineMs Epoch milliseconds at which the worker is stopped: a task that might end after it goes by message.
 */
export function pullerFor(ports: WorkPorts, delivery: Delivery, deadlineMs = Number.POSITIVE_INFINITY): Puller {
  const { clock, isStopping, shareMs } = ports;
  const { tier, runsOn, sentAt, grant: given } = delivery;
  const cameMs = clock.now();
  const messageFor = (task: WaitingTask, grant: Grant) => {
    const now = clock.now();
    if (isStopping?.() || !puller.mayPull(now) || task.tier !== tier || task.runsOn !== runsOn) return undefined;
    const message = messageOf(ports, task, grant);
    return message?.type !== undefined && fitsIn(message, now, deadlineMs) ? message : undefined;
  };
  const behindMs = cameMs - Math.max(sentAt, given?.slotMs ?? 0);
  const puller = new Puller(messageFor, { behindMs, cameMs, shareMs });
  return puller;
}

/**
 * Runs the task that a line let go to this worker, and then the next ones, until the line is empty, its tasks go by
 * message, or the time is over. If the process dies, the spare message of the task that ran comes. Never throws: no
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
    await puller.left;
  } catch (error) {
    ports.log.error("a worker could not go on with the tasks of a line", { error: String(error) });
  }
}

/**
 * Sends the message that a queue would deliver again. A task whose last attempt crashed runs alone. If this fails, the
 * spare message comes later.
 */
const sendAgain = ({ queues, log }: WorkPorts, begun: Begun): Promise<void> =>
  queues
    .send(sentAgain(begun, { solo: begun.as === "crashed" }))
    .catch((error: unknown) => log.warn("could not send a task's message again", { error: String(error) }));

/**
 * The message of a task that a line let go, as if it had passed through the queue. Undefined: it is not an envelope.
 */
function messageOf(ports: WorkPorts, task: WaitingTask, grant: Grant): TaskMessage | undefined {
  const { id, tier, runsOn } = task;
  const body = messageText(task.envelope);
  const parsed = parseEnvelope(body);
  if (!parsed.ok) return undefined;
  const { envelope } = parsed;
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
  return { delivery, envelope, type: ports.registry.get(envelope.type), grant };
}
