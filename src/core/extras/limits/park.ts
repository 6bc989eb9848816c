import { entryMarginSeconds, isOfTier, type Line, longestLineSeconds, type PauseTarget } from "../../model/line.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { WaitingFor } from "../../model/suspension.ts";
import type { WaitingTask } from "../../ports/flow.ts";
import { dispatch } from "../../send/dispatch.ts";
import * as extras from "../../send/extras.ts";
import { newestKept } from "../../send/newest-envelope.ts";
import { reportParked } from "../../send/report.ts";
import { canStart, type TaskMessage } from "../../task/task-message.ts";
import { advance } from "./advance.ts";
import type { Stopped } from "./enter.ts";
import { leave } from "./held-place.ts";
import type { FlowPorts } from "./line-ports.ts";
import { join, shardFor } from "./shards.ts";

/**
 * Puts a task that could start now into a line, which has its message then. The record first: a task that has ended is
 * not put into one.
 * @returns Undefined when it waits; otherwise the record of a task that cannot start anyway.
 * @throws PortUnavailable
 */
export async function park(
  ports: FlowPorts,
  message: TaskMessage,
  { line, slotMs, place }: Stopped,
): Promise<{ unfit: TaskRecord | undefined } | undefined> {
  const { delivery, envelope, grant } = message;
  const now = ports.clock.now();
  const changed = await ports.records.change(envelope, {
    when: canStart(message, now),
    set: {
      line: line.name,
      waiting_for: waitingIn(line),
      updated_at: iso(now),
      purge_at: Math.ceil(now / 1000) + longestLineSeconds,
    },
  });
  if (!changed.done) return { unfit: changed.record };
  const { record } = changed;
  // The line keeps the message for longer than a part with a new input.
  const newest = await newestKept(ports, record, envelope);
  // A task that has not waited for a time before has no message beside its record.
  const isNew = record.attempts_total === 0 && record.round === 1 && record.run_at === undefined;
  const stored = isNew && message.type?.keepInput !== true ? null : undefined;
  // After the change: the record as it was is not at hand, and a message whose process dies here comes again.
  await extras.keepAll(ports, { ...record, purge_at: 0 }, record.purge_at, stored);
  const { tier, runsOn } = delivery;
  const entry = {
    id: ports.newId(),
    tier,
    runsOn,
    envelope: newest,
    createdAt: record.created_at,
    taskId: record.task_id,
    tenantId: record.tenant_id,
    sinceMs: now,
    ...(await shardFor(ports, line, record.task_id)),
    ...(slotMs !== undefined && { slotMs }),
    ...(grant?.tryUntilMs !== undefined && { tryUntilMs: grant.tryUntilMs }),
  };
  const waiting = await join(ports, line, entry, record.purge_at + entryMarginSeconds);
  ports.flow.lines.noteJoined(line.name, true);
  if (isOfTier(line)) await followMove(ports, line, record, waiting);
  // Its line may not let it go for days, and somebody waits for its end: a message comes at the time of its expiry.
  const { start_by: due_at, family_leaf, callback } = record;
  const isAwaited = family_leaf !== undefined || callback !== undefined;
  if (due_at !== undefined && isAwaited) await dispatch(ports, { ...record, due_at }, newest);
  reportParked(ports, record);
  ports.taker?.limitBehind(now - Date.parse(record.due_at));
  // The line may have become free before the task was in it.
  await advance(ports, line, { tier, added: waiting });
  if (place !== undefined) await leave(ports, place, envelope, tier);
  return undefined;
}

/**
 * Sends a task on that was moved out of a paused tier before it was in the line: the call that moved it found no
 * message there.
 */
async function followMove(ports: FlowPorts, line: Line, record: TaskRecord, waiting: WaitingTask): Promise<void> {
  const present = await ports.records.get(record, "consistently");
  if (present === undefined || present.priority === record.priority || present.line !== line.name) return;
  await dispatch(ports, present, waiting.envelope);
  await ports.lines.remove(line.name, waiting);
}

function waitingIn({ name, kind }: Line): WaitingFor {
  return kind === "pause" ? { kind, of: name.split("/")[1] as PauseTarget["scope"] } : { kind };
}
