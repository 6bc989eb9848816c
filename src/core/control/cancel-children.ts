import { inLanes } from "../../util/in-lanes.ts";
import { childPages, type FamilyReadPorts } from "../end/child-results.ts";
import { Problem } from "../model/problem.ts";
import type { TaskKey, TaskRecord } from "../model/record.ts";
import { isTerminal } from "../model/status.ts";
import { type CancelHow, type ControlPorts, cancel } from "./control.ts";

/** Children that are cancelled at the same time. */
const lanes = 25;

/**
 * Cancels the open children of a cancelled parent. Children whose type is not cancellable go on. Returns the number of
 * cancelled children.
 */
export async function cancelChildren(
  ports: ControlPorts & FamilyReadPorts,
  { now, ...key }: TaskKey & CancelHow,
): Promise<number> {
  const parent = await ports.records.get(key);
  if (parent?.status !== "cancelled") return 0;
  let count = 0;
  for await (const { children } of childPages(ports, parent)) {
    const open = children.filter((child) => !isTerminal(child.status));
    const cancelled = await inLanes(open, lanes, (child) => cancelOne(ports, child, { now }));
    count += cancelled.filter(Boolean).length;
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
