import type { TaskView } from "../../../src/core/model/task-view.ts";
import { api } from "../session.ts";

/** Tasks of the schedule's type that are read to find its runs: one answer of the list, so that no page costs more. */
export const runsRead = 100;

/** Runs that are shown. */
export const mostRuns = 14;

interface RunsRead {
  tasks: TaskView[];
  /** False: the type has older tasks, which may be runs, too. */
  complete: boolean;
}

/**
 * The newest tasks of a type. No index has the tasks of a schedule, and one would cost a write for each of them; the
 * list by type is there.
 */
export async function readRuns(type: string, signal: AbortSignal): Promise<RunsRead> {
  const answer = await api.get<{ tasks: TaskView[]; next_cursor: string | null }>(
    "/tasks",
    { type, limit: runsRead },
    { signal },
  );
  return { tasks: answer.tasks, complete: answer.next_cursor === null };
}

/** The schedule's last runs, newest first. */
export const lastRuns = (tasks: readonly TaskView[], scheduleId: string): TaskView[] =>
  tasks.filter(({ schedule_id }) => schedule_id === scheduleId).slice(0, mostRuns);
