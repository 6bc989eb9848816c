import { PortUnavailable } from "../../model/errors.ts";
import type { LineState, Lines } from "../../ports/flow.ts";
import type { Log } from "../../ports/tasks.ts";

/**
 * A write of a bucket's places. After an error, the answer alone may be lost, and a look at the bucket tells if the
 * write was made: otherwise its place would be nobody's until it ends. Costs a read after an error.
 * @returns The answer, or the bucket's state that shows the write.
 * @throws PortUnavailable: the write was not made, or nobody knows
 */
export async function sureWrite<Answer>(
  lines: Pick<Lines, "state">,
  bucket: string,
  write: Promise<Answer>,
  isMade: (state: LineState) => boolean,
): Promise<Answer | LineState> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    const state = await lines.state(bucket);
    if (isMade(state)) return state;
    throw error;
  }
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

/** True when a task has a place that ends at this time: the call that chose the time has given it. */
export const hasPlace =
  (tasks: readonly string[], untilMs: number) =>
  ({ places }: LineState): boolean =>
    tasks.every((task) => places.get(task) === untilMs);
