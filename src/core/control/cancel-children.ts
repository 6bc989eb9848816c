import { inLanes } from "../../util/in-lanes.ts";
import { Problem } from "../model/problem.ts";
import type { TaskKey, TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/status.ts";
import { childPages, type FamilyReadPorts } from "../pipeline/end/child-results.ts";
import { followUp } from "../pipeline/end/follow-up.ts";
import { isLost } from "../pipeline/end/stop-family.ts";
import { type CancelHow, type ControlPorts, cancel } from "./control.ts";

/** Children that are cancelled at the same time. */
const lanes = 25;

/**
 * Cancels the open children of a cancelled parent, or of a parent whose threshold cannot be reached any more. Children
 * whose type is not cancellable go on. Returns the number of cancelled children.
 */
export async function cancelChildren(
  ports: ControlPorts & FamilyReadPorts,
  { now, ...key }: TaskKey & CancelHow,
): Promise<number> {
  const parent = await ports.records.get(key, "consistently");
  if (parent === undefined) return 0;
  const waits = await isLost(ports, parent);
  if (!waits && parent.status !== "cancelled") return 0;
  let count = 0;
  for await (const { children } of childPages(ports, parent)) {
    const open = children.filter((child) => !isTerminal(child.status));
    const cancelled = await inLanes(open, lanes, (child) => cancelOne(ports, child, { now }));
    count += cancelled.filter(Boolean).length;
    // The parent waits for the ends that a dead run of this has not counted.
    const ended = waits ? children.filter(({ status }) => status === "cancelled") : [];
    await inLanes(ended, lanes, (child) => followUp(ports, child));
  }
  return count;
}

/** False for a child that cannot be cancelled, or has ended at the same time. */
async function cancelOne(ports: ControlPorts, child: TaskRecord, how: CancelHow): Promise<boolean> {
  try {
    await cancel(ports, child, how);
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === "conflict") return false;
    throw error;
  }
}
