import type { Envelope } from "../../model/envelope.ts";
import type { TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/words.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import { keptEnvelope, newestKept } from "../send/kept-input.ts";

/**
 * Stores the message of a child that was cancelled or has expired, as that of a dead letter is stored: a later round of
 * its parent starts it again, perhaps without its spawn. A child whose parent runs in no later round, or whose record
 * has the input, needs none.
 * @param envelope Undefined: the caller has no message of the child.
 */
export async function keepForNextRound(
  { records }: DispatchPorts,
  child: TaskRecord,
  envelope: Envelope | undefined,
): Promise<void> {
  const { tenant_id, parent_id } = child;
  if (envelope === undefined || parent_id === undefined || !needsMessage(child)) return;
  if (!mayRunAgain(await records.get({ tenant_id, task_id: parent_id }))) return;
  await records.savePart(child, "envelope", await newestKept({ records }, child, envelope), child.purge_at);
}

/** The message of a child whose record is about to lose the input. Undefined: it is no child, or has none. */
export const childEnvelope = (ports: DispatchPorts, record: TaskRecord): Envelope | undefined =>
  record.family_leaf === undefined ? undefined : keptEnvelope(ports, record);

/** True for a child that starts again only if its message is stored. */
export const needsMessage = ({ status, family_leaf, shown_input }: TaskRecord): boolean =>
  family_leaf !== undefined && shown_input === undefined && (status === "cancelled" || status === "expired");

/** False for a parent that has ended for good. A parent that was cancelled as a child starts again with its own one. */
const mayRunAgain = (parent: TaskRecord | undefined): boolean =>
  parent !== undefined &&
  (!isTerminal(parent.status) ||
    parent.status === "failed" ||
    (parent.status !== "completed" && parent.family_leaf !== undefined));
