import type { TaskRecord } from "../../src/core/model/record.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { oneOffName } from "../../src/core/pipeline/send/dispatch.ts";
import type { World } from "./world.ts";

/** The longest wait in which a task has a message, in milliseconds. */
const longestDelayMs = 900_000;

/** A task whose input is in its record has a message in its new tier when the client hears that it was moved, unless it has started meanwhile. */
export function judgeMove({ table, time, queues, witness, core }: World, moved: TaskRecord, tier: Tier): void {
  if (moved.priority !== tier) witness.violated(`moved to ${tier}, and it is in ${moved.priority}`, moved.task_id);
  const present = table.read(moved);
  if (present === undefined || (moved.kept_input ?? moved.shown_input) === undefined) return;
  const sameWait = present.attempts_total === moved.attempts_total && present.due_at === moved.due_at;
  const waits = core.record.statusAt(present, core.record.iso(time.now)) !== "expired" && present.status === "pending";
  const isNear = Date.parse(moved.due_at) - time.now <= longestDelayMs;
  // A line has the message of a task that waits in it.
  if (!sameWait || !waits || !isNear || present.priority !== tier || present.line !== undefined) return;
  if (!queues.hasMessage(tier, moved.task_id))
    witness.violated(`moved to ${tier} without a message there`, moved.task_id);
}

/** A look at a moved task comes this long after its move, in milliseconds. */
const laterMs = 5_000;

/** A task that was moved out of a paused tier has a message or a one-off: it does not wait for the end of the pause. */
export function judgeLeft({ table, time, queues, schedules, witness }: World, moved: TaskRecord): void {
  const { line, task_id } = moved;
  if (!line?.startsWith("pause/tier/") || line.endsWith(`/${moved.priority}`)) return;
  time.after(laterMs, () => {
    const present = table.read(moved);
    const sameWait = present?.line === line && present.attempts_total === moved.attempts_total;
    if (!sameWait || present.status !== "pending" || present.priority !== moved.priority) return;
    if (present.start_by !== undefined && Date.parse(present.start_by) <= time.now) return;
    const oneOff = oneOffName(task_id, present.attempts_total, Date.parse(present.due_at));
    if (!schedules.has(oneOff) && !tiers.some((tier) => queues.hasMessage(tier, task_id)))
      witness.violated("moved out of a paused tier, and it still waits there", task_id);
  });
}
