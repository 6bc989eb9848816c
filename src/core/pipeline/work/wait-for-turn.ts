import { cancelBefore, supersede } from "../../control/supersede.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/status.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import type { Verdict } from "../../model/verdict.ts";
import type { SettlePorts } from "../../ports/extra.ts";
import type { TaskMessage } from "../../task/puller.ts";
import { followUp } from "../end/follow-up.ts";
import { firstLookSeconds } from "../end/turn.ts";
import { dispatch, longestDelaySeconds } from "../send/dispatch.ts";
import { newestKept } from "../send/kept-input.ts";

/**
 * Looks at a task that waits for the end of those that had its unique key. Its submit may have died before it cancelled
 * them, or may have left that to this call, also if the task was cancelled since: they were to end. The end of the last
 * one may not have been told. The message is sent anew, later each time: many receives
 * would bring it to redrive.
 * @throws PortUnavailable
 */
export async function lookAtTurn(
  ports: SettlePorts,
  { envelope, delivery }: TaskMessage,
  record: TaskRecord,
): Promise<Verdict> {
  const newest = await newestKept(ports, record, envelope);
  const certain = await keepFromWithdrawal(ports, record);
  if (certain?.created_at !== record.created_at) return "done";
  const current = isWaiting(certain) ? await supersede(ports, certain, newest, asLook) : certain;
  if (!isWaiting(current)) {
    // Who ended it may have died before anybody was notified.
    if (isTerminal(current.status)) await followUp(ports, current, envelope);
    if (current.status === "cancelled") await cancelBefore(ports, current, asLook);
    return "done";
  }
  const nowMs = ports.clock.now();
  const ageSeconds = Math.floor((nowMs - Date.parse(record.created_at)) / 1000);
  const waitSeconds = Math.min(longestDelaySeconds, Math.max(firstLookSeconds, ageSeconds));
  await dispatch(ports, { ...current, due_at: iso(nowMs + waitSeconds * 1000) }, newest, delivery.redrives);
  return "done";
}

const asLook = { followsUp: true };

const isWaiting = (record: TaskRecord): boolean => record.status === "pending" && waitsForTurn(record);

/**
 * Makes it certain that the task runs, before another one is cancelled for it: its submit may think that its message
 * was not sent, and withdraw it.
 * @returns The record after it, which may not wait any more. Undefined: it is withdrawn.
 */
async function keepFromWithdrawal(ports: SettlePorts, record: TaskRecord): Promise<TaskRecord | undefined> {
  const { created_at, due_at, sender } = record;
  if (sender === undefined) return record;
  const changed = await ports.records.change(record, {
    when: {
      ...{ status: { is: "pending" }, attempts_total: { is: 0 }, created_at: { is: created_at } },
      ...{ due_at: { is: due_at }, purge_at: { above: Math.floor(ports.clock.now() / 1000) } },
    },
    set: {},
    remove: ["sender"],
  });
  return changed.record;
}
