import { PermanentError } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Ended } from "./attempt.ts";

/**
 * For this time a task waits for a worker that knows its type, in milliseconds: during a deployment, the API may know a
 * type before every worker does.
 */
export const graceMs = 90_000;

const shortestWaitMs = 2_000;
const longestWaitMs = 20_000;

/**
 * The end of an attempt whose worker does not know the task's type. A task that was accepted a short time ago is put
 * back, and that attempt is not counted; later, it fails.
 */
export function endOfUnknown({ clock }: { clock: Clock }, { type, created_at, run_at }: TaskRecord): Ended {
  const dueMs = Math.max(Date.parse(created_at), run_at === undefined ? 0 : Date.parse(run_at));
  const ageMs = clock.now() - dueMs;
  if (ageMs >= graceMs) {
    return { how: "threw", error: new PermanentError(`no task type is named ${JSON.stringify(type)}`) };
  }
  const waitMs = Math.min(longestWaitMs, Math.max(shortestWaitMs, ageMs / 2));
  return { how: "suspended", suspension: { dueAt: clock.now() + waitMs } };
}
