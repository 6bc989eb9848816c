import type { Envelope } from "../../model/envelope.ts";
import { ChangedMeanwhile, PortUnavailable } from "../../model/errors.ts";
import { iso, type TaskKey, type TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import { dispatch, oneOffName } from "../send/dispatch.ts";
import { isChildOf } from "./child-results.ts";

/** Number of tries while the parent changes at the same time. */
const mostTries = 5;

/**
 * Lets a parent go on that waits for the end of this child. A parent with an attempt gets a note: the attempt looks at
 * its children again before it waits. Of many children that end at once, the first end does it for all. Repeatable.
 * @throws PortUnavailable, ChangedMeanwhile
 */
export async function wakeParent(ports: EndPorts, child: TaskRecord): Promise<void> {
  const { tenant_id, parent_id: task_id, status } = child;
  if (task_id === undefined || status === "pending" || status === "processing") return;
  const key = { tenant_id, task_id };
  for (let tries = 0; tries < mostTries; tries++) {
    const parent = await ports.records.get(key, "consistently");
    if (parent === undefined || !isChildOf(child, parent)) return;
    if (await isTold(ports, parent, child)) return;
  }
  throw new ChangedMeanwhile("the parent of a child");
}

/** Returns false when the parent has changed at the same time. */
async function isTold(ports: EndPorts, parent: TaskRecord, child: TaskKey): Promise<boolean> {
  const { status, attempts_total, due_at, woken_by, waiting_for } = parent;
  const now = iso(ports.clock.now());
  const by = `${attempts_total} ${child.task_id}`;
  const wasToldBefore = woken_by?.startsWith(`${attempts_total} `) === true;
  if (status === "processing") {
    if (wasToldBefore) return true;
    const when = { status: { is: status }, attempts_total: { is: attempts_total } } as const;
    return (await ports.records.change(parent, { when, set: { woken_by: by }, add: { signals: 1 } })).done;
  }
  if (status !== "pending") return true;
  if (waiting_for === undefined || !("children" in waiting_for)) {
    // An earlier call of this child may have died before it sent the message.
    if (woken_by === by && due_at <= now) await send(ports, parent);
    return true;
  }
  const changed = await ports.records.change(parent, {
    when: { status: { is: status }, attempts_total: { is: attempts_total }, due_at: { is: due_at } },
    set: { updated_at: now, due_at: now, woken_by: by },
    remove: ["waiting_for"],
  });
  if (!changed.done) return false;
  await send(ports, changed.record);
  // A one-off that stays fires for a task that does not wait, and fire skips that.
  await ports.oneOffs.delete(oneOffName(parent.task_id, attempts_total, Date.parse(due_at))).catch(unlessUnavailable);
  return true;
}

/** Sends the message of the task that is due. Without it the task has not waited for a child. */
async function send(ports: EndPorts, parent: TaskRecord): Promise<void> {
  const envelope = (await ports.records.loadPart(parent, "envelope")) as Envelope | undefined;
  if (envelope !== undefined) await dispatch(ports, parent, envelope);
}

function unlessUnavailable(error: unknown): void {
  if (!(error instanceof PortUnavailable)) throw error;
}
