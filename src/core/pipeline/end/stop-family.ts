import { type FamilyNode, failuresIn, failuresText, familyPurgeAt, neededOf } from "../../model/family-node.ts";
import type { TaskKey, TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import { reportStopped } from "../send/report-family.ts";
import { familyOf, isChildOf } from "./child-results.ts";
import { requestCancelChildren } from "./request-own-task.ts";

/**
 * Name of the node that counts the children that have ended without success in the parent's round. It has a place for
 * each leaf.
 */
const failuresNode = (parent: TaskRecord): string => `${familyOf(parent).life}.f${parent.round}`;

/** Number of a leaf in its family. */
const numberOf = (leaf: string): number => Number(leaf.slice(leaf.lastIndexOf(".") + 1));

/** Notes how many children of a leaf have ended without success. Of two notes the one of the later end stays. */
export async function noteFailures(
  { families, clock }: Pick<EndPorts, "families" | "clock">,
  parent: TaskRecord,
  leaf: string,
  node: FamilyNode,
): Promise<void> {
  const text = failuresText(node, parent.round);
  if (text === undefined) return;
  await families.end(parent, failuresNode(parent), numberOf(leaf), text, familyPurgeAt(clock.now()));
}

/**
 * Counts the end of a child, and stops its family if the threshold cannot be reached any more. A parent that does not
 * wait yet is read again after the note: either its wait sees the note, or this sees the wait. Repeatable.
 */
export async function stopAfterEnd(ports: EndPorts, key: TaskKey, child: TaskRecord, node: FamilyNode): Promise<void> {
  const parent = await ports.records.get(key, "consistently");
  if (parent?.status !== "processing" || !isChildOf(child, parent)) return;
  if ((child.family_round ?? 1) !== parent.round) return;
  // The others are being cancelled: none of their ends is noted.
  if (parent.family_stop === "requested") return;
  await noteFailures(ports, parent, child.family_leaf ?? "", node);
  const present = isArmed(parent) ? parent : await ports.records.get(key, "consistently");
  if (present !== undefined) await stopIfLost(ports, present);
}

const isArmed = ({ status, family_state, family_stop }: TaskRecord): boolean =>
  status === "processing" && family_state === "waiting" && family_stop === "armed";

/** Requests the cancel of the open children if too many others have failed. Repeatable until that is noted. */
export async function stopIfLost(ports: EndPorts, parent: TaskRecord): Promise<void> {
  if (!isArmed(parent) || !(await isLost(ports, parent))) return;
  await requestCancelChildren(ports, parent, "stop");
  const waits = { status: { is: "processing" }, family_state: { is: "waiting" }, round: { is: parent.round } } as const;
  const noted = await ports.records.change(parent, {
    when: { ...waits, family_stop: { is: "armed" } },
    set: { family_stop: "requested" },
  });
  if (noted.done) reportStopped(ports, noted.record);
}

/** True for a waiting parent whose threshold the children that are left cannot reach. */
export async function isLost({ families }: Pick<EndPorts, "families">, parent: TaskRecord): Promise<boolean> {
  const { status, family_state, family_stop, family_total: total = 0 } = parent;
  if (status !== "processing" || family_state !== "waiting" || family_stop === undefined) return false;
  const node = await families.read(parent, failuresNode(parent));
  return node !== undefined && total - failuresIn(node) < neededOf(parent, total);
}
