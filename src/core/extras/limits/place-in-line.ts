import { PortUnavailable } from "../../model/errors.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import { isSuspended } from "../../model/suspension.ts";
import type { TaskView } from "../../model/task-view.ts";
import type { CountedTokens, WaitingKey } from "../../ports/flow.ts";
import type { Log } from "../../ports/tasks.ts";

/** Finds places in lines. */
export interface LinePlaces {
  /**
   * The place of a task, from 1. Null: beyond the last place that is counted.
   * @throws PortUnavailable
   */
  placeOf(line: string, task: WaitingKey): Promise<number | null>;
  /**
   * The task that has the turn of a line in strict order. Undefined: none has.
   * @throws PortUnavailable
   */
  holderOf(line: string): Promise<string | undefined>;
  /**
   * The starts that a list of rates counts. Undefined: none was given.
   * @throws PortUnavailable
   */
  startsOf(line: string): Promise<CountedTokens | undefined>;
}

/**
 * Adds the place in line to the view of a task that waits in one. A line that cannot be read leaves the place unknown.
 * @param forOperator True: the view of a task in strict order names the task that has the turn, which may be another
 * submitter's.
 */
export async function withPlace(
  { lines, log }: { lines: LinePlaces; log: Log },
  record: TaskRecord,
  view: TaskView,
  forOperator: boolean,
): Promise<TaskView> {
  const { waiting_for: wait } = view;
  const { line, created_at: createdAt, task_id: taskId } = record;
  if (line === undefined || wait === null || isSuspended(wait)) return view;
  // Null: beyond the last place that is counted, or unknown.
  const known = <Found>(found: Promise<Found>) =>
    found.catch((error: unknown) => {
      if (!(error instanceof PortUnavailable)) throw error;
      log.warn("could not read a task's place in line; the answer has none", { error: String(error) });
      return null;
    });
  const place = await known(lines.placeOf(line, { createdAt, taskId }));
  if (wait.kind === "rate" && wait.rates !== undefined) {
    const { free_ms, free_by } = (await known(lines.startsOf(line))) ?? {};
    const next = free_ms !== undefined && { per_seconds: free_by, next_start_at: iso(free_ms) };
    return { ...view, waiting_for: { ...wait, place, ...next } };
  }
  if (wait.kind !== "concurrency" || wait.order === undefined || !forOperator)
    return { ...view, waiting_for: { ...wait, place } };
  return { ...view, waiting_for: { ...wait, place, held_by: (await known(lines.holderOf(line))) ?? null } };
}
