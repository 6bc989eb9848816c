import type { TaskRecord } from "../../model/record.ts";
import type { Extra } from "../../ports/extra.ts";
import type { DispatchPorts } from "../../ports/steps.ts";

/** Sends a look at the line of a task that may be over: it has a turn that no process may give back. */
async function look(
  { queues, newId }: DispatchPorts,
  { strict_line: line, priority: tier }: TaskRecord,
): Promise<void> {
  if (line === undefined) return;
  await queues.sendCheck({ tier, check: { line, check_id: newId() }, delaySeconds: 0 });
}

/** The worker that completes a task passes its turn on. A parent is completed by its last child. */
async function ended(ports: DispatchPorts, record: TaskRecord): Promise<void> {
  if (record.status !== "completed" || record.family_state !== undefined) await look(ports, record);
}

/** The turn of a task in strict order, which it has until it is over. */
export const turn: Extra = { name: "turn", field: "strict_line", ended, discarded: look };
