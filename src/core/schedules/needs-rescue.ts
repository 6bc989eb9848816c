import { isKept, iso, type TaskRecord } from "../model/record.ts";

/**
 * A task is left alone for this time after the moment at which something should have gone on with it, in milliseconds:
 * longer than SQS hides a message whose worker has died.
 */
export const marginMs = 2 * 3_600_000;

/**
 * A message is in SQS for at most 14 days; a day more for those that are received then. After that a task's message is
 * certainly gone.
 */
export const certainlyGoneMs = 15 * 86_400_000;

/**
 * A task's entry in a line, and its record, are kept for 60 days from the beginning of its wait. They are kept anew
 * when this time is left of them, in seconds, whatever has changed the task in between.
 */
const leftInLineSeconds = 20 * 86_400;

/**
 * The step that goes on with an open task which nothing seems to wake. `send`: its message is sent again. `expire`: it
 * ends, as it did not start in time. `close`: its family is looked at. `wait`: it waits in a line for so long that its
 * entry must be kept anew. `look`: it waits in a line, which is looked at. `follow`: a rescue ended it, and may have
 * died before it did what follows. `none`: something will wake it.
 */
export type Need = "none" | "send" | "expire" | "close" | "wait" | "look" | "follow";

/** The step that an open task needs, and since when, in epoch milliseconds, it has waited for it. */
export function needOf(record: TaskRecord, nowMs: number): { need: Need; sinceMs: number } {
  const { need, sinceMs } = dueOf(record, nowMs);
  if (!isKept(record, nowMs)) return { need: "none", sinceMs };
  // Also for a task that a client changes again and again, which is never late.
  if (need === "look" && record.purge_at - leftInLineSeconds <= nowMs / 1000) return { need: "wait", sinceMs };
  return { need: sinceMs + marginMs <= nowMs ? need : "none", sinceMs };
}

/** The step that becomes due, and when. */
function dueOf(record: TaskRecord, nowMs: number): { need: Need; sinceMs: number } {
  const { status, line, family_state, start_by = "9999", rescued_at } = record;
  const updatedMs = Date.parse(record.updated_at);
  if (status === "pending") {
    if (start_by <= iso(nowMs)) return { need: "expire", sinceMs: Date.parse(start_by) };
    if (line !== undefined) return { need: "look", sinceMs: updatedMs };
    return { need: "send", sinceMs: Math.max(Date.parse(record.due_at), updatedMs) };
  }
  if (status !== "processing") return { need: rescued_at === undefined ? "none" : "follow", sinceMs: updatedMs };
  if (family_state === "waiting") return { need: "close", sinceMs: updatedMs };
  return { need: "send", sinceMs: record.lease_until === undefined ? updatedMs : Date.parse(record.lease_until) };
}
