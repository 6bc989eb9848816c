import type { Changed } from "../../model/change.ts";
import { type Classified, classify } from "../../model/classify.ts";
import type { Envelope } from "../../model/envelope.ts";
import { ChangedMeanwhile, ChildrenFailed, PortUnavailable } from "../../model/errors.ts";
import {
  type Counts,
  countsOf,
  countsText,
  endedOf,
  endText,
  type FamilyNode,
  familyPurgeAt,
  isFull,
  neededOf,
} from "../../model/family-node.ts";
import { iso, type TaskKey, type TaskRecord } from "../../model/record.ts";
import type { EndPorts } from "../../ports/extra.ts";
import { dispatch, oneOffName } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { reportChanged } from "../send/report.ts";
import { reportClosed } from "../send/report-family.ts";
import { retention, sameRetention } from "../send/retention.ts";
import { isChildOf } from "./child-results.ts";
import { failForGood } from "./dead-letter.ts";

/** Number of tries to close a family whose parent changes at the same time. */
const maxTries = 5;

/**
 * Counts the end of a child, and closes its family when it was the last. Each step is one idempotent write, so every
 * redelivery of the child's message repeats them.
 * @returns The parent's record, if the parent has ended with its family; then its own end is to be followed up.
 */
export async function countEnd(ports: EndPorts, child: TaskRecord): Promise<TaskRecord | undefined> {
  const { status, tenant_id, parent_id, family_leaf: leaf, family_place: place } = child;
  if (leaf === undefined || place === undefined || parent_id === undefined) return undefined;
  if (status === "pending" || status === "processing") return undefined;
  const parent = { tenant_id, task_id: parent_id };
  const node = await ports.families.end(parent, leaf, place, endText(status, child), familyPurgeAt(ports.clock.now()));
  const ended = await passUp(ports, parent, leaf, node);
  // The end of a child that was retried may take the place of a failure.
  if (node.stops === true && ended === undefined && (status !== "completed" || child.round > 1)) {
    await (await import("./stop-family.ts")).stopAfterEnd(ports, parent, child, node);
  }
  // The attempt that is woken finds the end in the leaf.
  if (child.family_awaited === true) await wakeParent(ports, child);
  return ended;
}

/**
 * Passes a full node's counts to the node above, as long as that makes the next one full; a full root closes the
 * family.
 */
export async function passUp(
  ports: EndPorts,
  parent: TaskKey,
  name: string,
  node: FamilyNode,
): Promise<TaskRecord | undefined> {
  let at = { name, node };
  while (isFull(at.node)) {
    const { up } = at.node;
    if (up === undefined) return close(ports, parent, at.name, countsOf(at.node));
    const purgeAt = familyPurgeAt(ports.clock.now());
    at = { name: up.node, node: await ports.families.end(parent, up.node, up.place, countsText(at.node), purgeAt) };
  }
  return undefined;
}

/** True for a waiting parent whose children have all ended. */
export async function isFamilyFull({ families }: EndPorts, parent: TaskRecord): Promise<boolean> {
  if (parent.family_state !== "waiting" || parent.family_root === undefined) return false;
  const root = await families.read(parent, parent.family_root);
  return root !== undefined && isFull(root);
}

/**
 * Closes the family of a waiting parent if its root is full, and stops it if its threshold cannot be reached any more.
 * For what a death left between two steps.
 */
export async function closeIfFull(ports: EndPorts, parent: TaskRecord): Promise<TaskRecord | undefined> {
  if (parent.family_state !== "waiting" || parent.family_root === undefined) return undefined;
  const root = await ports.families.read(parent, parent.family_root);
  const ended = root && (await passUp(ports, parent, parent.family_root, root));
  if (ended === undefined && parent.family_stop === "armed") {
    await (await import("./stop-family.ts")).stopIfLost(ports, parent);
  }
  return ended;
}

/** True for a parent that waits for this family. */
const waitsFor = (record: TaskRecord | undefined, root: string): boolean =>
  record?.status === "processing" && record.family_state === "waiting" && record.family_root === root;

/**
 * Ends the wait of a parent whose children have all ended: exactly one caller succeeds. It fails, is completed with the
 * counts, or gets the attempt that aggregates the results. The root may be that of an earlier attempt, which died
 * before its parent waited: then nothing happens.
 */
async function close(ports: EndPorts, key: TaskKey, root: string, counts: Counts): Promise<TaskRecord | undefined> {
  let parent = await presentRecord(ports, key, root);
  for (let tries = 0; tries < maxTries && parent !== undefined && waitsFor(parent, root); tries++) {
    const changed = await endWait(ports, parent, root, counts);
    if (changed.done) reportClosed(ports, changed.record);
    if (changed.done && changed.record.status !== "pending")
      reportChanged(ports, changed.record, outcomeOf(changed.record));
    parent = changed.record;
  }
  if (waitsFor(parent, root)) throw new ChangedMeanwhile("the parent of a family");
  return parent?.family_root === root ? afterWait(ports, parent) : undefined;
}

/** Sends the message of the attempt that aggregates, or returns the parent if it has ended. */
async function afterWait(ports: EndPorts, parent: TaskRecord): Promise<TaskRecord | undefined> {
  if (isClosing(parent)) await dispatch(ports, parent, await envelopeOf(ports, parent));
  return parent.finished_at === undefined ? undefined : parent;
}

const outcomeOf = (record: TaskRecord) => (record.status === "failed" ? "failed" : "completed");

/** True when the attempt that aggregates has not started: its message may not have been sent. */
const isClosing = (record: TaskRecord): boolean =>
  record.status === "pending" && record.family_state === "closing" && record.attempts === record.closing_from;

/**
 * The record, consistent where that matters: a stale one may not show yet that the parent waits. A parent that waits
 * later finds its root full itself.
 */
async function presentRecord(ports: EndPorts, key: TaskKey, root: string): Promise<TaskRecord | undefined> {
  const record = await ports.records.get(key);
  // With this root the record shows the wait, or what came after it.
  if (record === undefined || record.family_root === root) return record;
  return ports.records.get(key, "consistently");
}

async function endWait(ports: EndPorts, parent: TaskRecord, root: string, counts: Counts): Promise<Changed> {
  const now = ports.clock.now();
  const when = {
    status: { is: "processing" },
    family_state: { is: "waiting" },
    family_root: { is: root },
    ...sameRetention(parent),
  } as const;
  const total = endedOf(counts);
  if (counts.completed < neededOf(parent, total)) {
    const failure = failureOf(parent, counts, now);
    return failForGood(ports, parent, await envelopeOf(ports, parent), failure, {
      when,
      set: { family_counts: counts },
    });
  }
  const common = { updated_at: iso(now), family_counts: counts, family_total: total } as const;
  if (parent.family_aggregates !== true) {
    const kept = retention(ports, parent);
    await extras.keepEnded(ports, parent, kept.purge_at);
    return ports.records.change(parent, {
      when,
      set: {
        ...common,
        status: "completed",
        finished_at: iso(now),
        ...kept,
        ...(parent.family_aggregated !== true && { result: { total, ...counts } }),
      },
      remove: ["error", "error_type", "error_kind", "needs_review"],
    });
  }
  return ports.records.change(parent, {
    when,
    set: { ...common, status: "pending", family_state: "closing", closing_from: parent.attempts, due_at: iso(now) },
    remove: ["error", "error_type", "error_kind", "needs_review"],
  });
}

function failureOf(parent: TaskRecord, counts: Counts, nowMs: number): Classified {
  const total = endedOf(counts);
  const { completed, failed, cancelled, expired } = counts;
  const message =
    `${completed} of ${total} children completed, expected at least ${neededOf(parent, total)}: ` +
    `${failed} failed, ${cancelled} cancelled, ${expired} expired`;
  return classify(new ChildrenFailed(message), [], nowMs);
}

/** @throws ChangedMeanwhile when the parent's part is gone; settling stores it before the parent waits */
async function envelopeOf(ports: EndPorts, parent: TaskRecord): Promise<Envelope> {
  const envelope = (await ports.records.loadPart(parent, "envelope")) as Envelope | undefined;
  if (envelope === undefined) throw new ChangedMeanwhile("the message of a family's parent");
  return envelope;
}

/** Number of tries while the parent changes at the same time. */
const maxWakes = 5;

/**
 * Lets a parent go on that waits for the end of this child. A parent with an attempt gets a note: the attempt looks at
 * its children again before it waits. Of many children that end at once, the first end does it for all. Repeatable.
 * @throws PortUnavailable, ChangedMeanwhile
 */
export async function wakeParent(ports: EndPorts, child: TaskRecord): Promise<void> {
  const { tenant_id, parent_id: task_id, status } = child;
  if (task_id === undefined || status === "pending" || status === "processing") return;
  const key = { tenant_id, task_id };
  for (let tries = 0; tries < maxWakes; tries++) {
    const parent = await ports.records.get(key, "consistently");
    if (parent === undefined || !isChildOf(child, parent)) return;
    if (await isNotified(ports, parent, child)) return;
  }
  throw new ChangedMeanwhile("the parent of a child");
}

/** Returns false when the parent has changed at the same time. */
async function isNotified(ports: EndPorts, parent: TaskRecord, child: TaskKey): Promise<boolean> {
  const { status, attempts_total, due_at, woken_by, waiting_for } = parent;
  const now = iso(ports.clock.now());
  const by = `${attempts_total} ${child.task_id}`;
  const wasNotifiedBefore = woken_by?.startsWith(`${attempts_total} `) === true;
  if (status === "processing") {
    if (wasNotifiedBefore) return true;
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
