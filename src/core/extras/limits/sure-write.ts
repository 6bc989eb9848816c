import { PortUnavailable } from "../../model/errors.ts";
import type { TaskPermit, WaitQueueState, WaitQueues } from "../../ports/flow.ts";
import type { Log } from "../../ports/tasks.ts";

/**
 * A write of a bucket's permits. After an error, the answer alone may be lost, and a look at the bucket tells if the
 * write was made: otherwise its permit would be nobody's until it ends. Costs a read after an error.
 * @returns The answer, or the bucket's state that shows the write.
 * @throws PortUnavailable: the write was not made, or nobody knows
 */
export async function sureWrite<Answer>(
  lines: Pick<WaitQueues, "state">,
  bucket: string,
  write: Promise<Answer>,
  isMade: (state: WaitQueueState) => boolean,
): Promise<Answer | WaitQueueState> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    const state = await lines.state(bucket);
    if (isMade(state)) return state;
    throw error;
  }
}

/** Tries to keep a permit while others change its end. */
const maxKeeps = 3;

/**
 * Keeps a task's permit. The write requires the end that was seen: after its process stood still, it may arrive when an
 * attempt of another message runs with the permit.
 * @param endAfter The next end of the permit. Undefined: the permit needs no other.
 * @returns Epoch milliseconds: the end that the permit got. Undefined: this call has not changed the permit.
 * @throws PortUnavailable
 */
export async function keepSeen(
  lines: Pick<WaitQueues, "state" | "renewPermit">,
  bucket: string,
  { task, untilMs: known, turn }: Pick<TaskPermit, "task" | "turn"> & { untilMs?: number | undefined },
  endAfter: (seenMs: number) => number | undefined,
): Promise<number | undefined> {
  const look = async () => (await lines.state(bucket)).permits.get(task);
  let seenMs = known ?? (await look());
  for (let tries = 0; tries < maxKeeps && seenMs !== undefined; tries++) {
    const untilMs = endAfter(seenMs);
    if (untilMs === undefined) return undefined;
    if (await lines.renewPermit(bucket, { task, untilMs: seenMs, turn }, untilMs)) return untilMs;
    seenMs = await look();
    // The answer of the write's first try was lost.
    if (seenMs === untilMs) return untilMs;
  }
  return undefined;
}

/** The answer of a line. Undefined: the line does not answer. */
export const answerOf = <Answer>(call: Promise<Answer>): Promise<Answer | undefined> =>
  call.catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
    return undefined;
  });

/** Waits for a call whose failure is made good later: that a port does not answer is only logged. */
export async function orWarn(log: Log, text: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    log.warn(text, { error: String(error) });
  }
}

/** True when a task has a permit that ends at this time: the call that chose the time has given it. */
export const hasPermit =
  (tasks: readonly string[], untilMs: number) =>
  ({ permits }: WaitQueueState): boolean =>
    tasks.every((task) => permits.get(task) === untilMs);
