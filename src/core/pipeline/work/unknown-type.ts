import { PermanentError, WrittenLater } from "../../model/errors.ts";
import { isOwnName } from "../../model/internal-names.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Clock, Log, Outgoing } from "../../ports/tasks.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { Ended } from "./attempt.ts";

/**
 * For this time a task waits for a worker that knows its type, in milliseconds: during a deployment, the API may know a
 * type before every worker does.
 */
export const graceMs = 90_000;

/** For this time an operation that a later release knows waits for it, in milliseconds. */
const rolledBackMs = 14 * 86_400_000;

const shortestWaitMs = 2_000;
const longestWaitMs = 20_000;

/**
 * The end of an attempt whose worker does not know the task's type. A task that was accepted a short time ago is put
 * back, and that attempt is not counted; later, it fails. The task's log and its status say why it waits.
 */
export function endOfUnknown({ clock, log }: { clock: Clock; log: Log }, record: TaskRecord): Ended {
  const { type, created_at, run_at, task_id, tenant_id } = record;
  const nowMs = clock.now();
  const runMs = run_at === undefined ? 0 : Date.parse(run_at);
  // A start that is to come was brought forward: its time says nothing about how long the type has been unknown.
  const ageMs = nowMs - Math.max(Date.parse(created_at), runMs <= nowMs ? runMs : 0);
  if (isOwnName(type) && ageMs < rolledBackMs) return { how: "threw", error: new WrittenLater("an own task type") };
  if (ageMs >= graceMs) {
    return { how: "threw", error: new PermanentError(`no task type is named ${JSON.stringify(type)}`) };
  }
  const waitMs = Math.min(longestWaitMs, Math.max(shortestWaitMs, ageMs / 2));
  const waits = "no worker knows the task's type yet; the task waits, and fails if the type was removed";
  log.warn(waits, { task_id, tenant_id, type, wait_seconds: Math.ceil(waitMs / 1000) });
  const fault = { error: waits, error_type: "UnknownTaskType", error_kind: "unavailable" } as const;
  return { how: "suspended", suspension: { dueAt: nowMs + waitMs, fault } };
}

/**
 * The message that is sent in place of a received one. It has no receives: after too many of them, redrive would make a
 * dead letter of it.
 */
export const sentAgain = (
  { delivery, envelope, ticket }: Pick<TaskMessage, "delivery" | "envelope" | "ticket">,
  { delaySeconds = 0, solo = delivery.solo }: { delaySeconds?: number; solo?: boolean } = {},
): Outgoing => {
  const { tier, runsOn, redrives } = delivery;
  return { tier, runsOn, envelope, delaySeconds, solo, redrives, ...(ticket && { ticket }) };
};
