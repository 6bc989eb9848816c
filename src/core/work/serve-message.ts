import { leaseSeconds } from "../model/lease.ts";
import type { WorkQueues } from "../ports/serve.ts";
import type { Delivery } from "../ports/tasks.ts";
import { within } from "../ports/within.ts";
import { Taker } from "../task/taker.ts";
import { timeoutOf } from "../task/task-message.ts";
import { hideSeconds } from "./batch-visibility.ts";
import { HeldMessage } from "./held-message.ts";
import { readMessage } from "./read-message.ts";
import { holdMarginSeconds } from "./run-claimed.ts";
import { runTaken, takerFor } from "./run-taken.ts";
import { begin, finish, type WorkPorts } from "./work-message.ts";

export interface ServePorts extends WorkPorts {
  workQueues: WorkQueues;
}

/**
 * Works on one message: claim → run → settle → delete. Never throws.
 * @param how `together`: other attempts run in this process.
 * @returns `alone`: the task's last attempt crashed, so it must run where no other attempt does. The message is still
 * held.
 */
export async function serveMessage(
  ports: ServePorts,
  delivery: Delivery,
  how: "together" | "alone",
): Promise<"ended" | "alone"> {
  if (delivery.solo && how === "together") return "alone";
  const held = new HeldMessage(ports, delivery);
  // A process that runs one task alone takes no others.
  const taker = how === "alone" ? new Taker(() => undefined) : takerFor(ports, delivery);
  const working = { ...ports, taker };
  const message = await readMessage(working, delivery);
  if (message === "again") return "ended";
  if (message === "done") {
    await Promise.all([held.remove(), runTaken(working)]);
    return "ended";
  }
  const hidden = hideAtStart(ports, held, delivery, leaseSeconds(timeoutOf(message)) + holdMarginSeconds);
  const begun = await begin(working, held, message, how);
  if (begun.as === "crashed") {
    await hidden;
    return "alone";
  }
  const verdict = await finish(working, held, begun);
  await hidden;
  await Promise.all([verdict === "done" && held.remove(), runTaken(working)]);
  return "ended";
}

/**
 * Work does not wait for a queue that does not answer: then the message comes back after its first hold, and finds the
 * lease.
 */
const hideAtStart = (ports: ServePorts, held: HeldMessage, delivery: Delivery, seconds: number): Promise<void> =>
  within(
    ports.clock,
    hideSeconds * 1000,
    held.renew(delivery, seconds).catch((error: unknown) => {
      ports.log.warn("could not change the visibility of messages", { error: String(error) });
    }),
    () => {},
  );
