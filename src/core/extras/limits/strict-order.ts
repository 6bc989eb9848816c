import { isKept, iso, statusAt, type TaskRecord } from "../../model/record.ts";
import type { WaitQueue } from "../../model/wait-queue.ts";
import { isTerminal } from "../../model/words.ts";
import type { WaitQueueState } from "../../ports/flow.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { TaskType } from "../../task/task.ts";
import { type StrictOption, strictOf } from "../../task/type-limits.ts";
import { type AcquiredPermit, justNowMs } from "./acquire.ts";
import { keptAfterMs, keptUntilMs, permitStateOf, takenUntilMs } from "./place-book.ts";
import { hasPermit, keepSeen, sureWrite } from "./sure-write.ts";
import { maxIntervalMs, type WaitQueuePorts } from "./wait-queue-ports.ts";

/*
 * Strict order: a line has one permit, its turn. A task has the turn from its first start until it has ended for good,
 * not for the time of an attempt. The record of the task alone tells if it has: no time at which a permit ends does. So
 * the turn stays through retries, sleeps, waits, children, pauses and the deaths of workers, and a turn that nobody
 * gave back is given back by the next look at its line.
 */

type TurnPorts = Pick<WaitQueuePorts, "records" | "lines" | "clock" | "registry">;

/**
 * True for a task that is not over, so that it keeps its turn. False for each task of a line without strict order.
 * @param isPast True for a permit that has passed its end.
 * @throws PortUnavailable
 */
export async function keepsTurn(ports: TurnPorts, line: WaitQueue, taskId: string, isPast = true): Promise<boolean> {
  const strict = strictOf(ports.registry.get(line.type ?? ""));
  if (strict === undefined) return false;
  const [, , tenant_id = ""] = line.name.split("/");
  const record = await ports.records.get({ tenant_id, task_id: taskId }, "consistently");
  const now = ports.clock.now();
  if (record === undefined || !isKept(record, now) || !isOfLine(record, line)) return false;
  const status = statusAt(record, iso(now));
  if (isTerminal(status)) return isHeld(strict, record);
  if (record.status !== "pending") return true;
  // Its entry is in the line until its message is sent. A caller that died in between has given it no turn. Until the
  // permit ends, its caller may be at work.
  if (record.line === line.name) return !isPast || (await ports.lines.find(line.name, waitOf(record))) === undefined;
  // A task that has not started, and whose start was moved, has its turn when its time comes.
  return record.attempts_total > 0 || record.due_at <= iso(now);
}

/** False for another task: an idempotency key may have made the same id anew. */
const isOfLine = ({ type, strict_line }: TaskRecord, { name, type: ofLine }: WaitQueue): boolean =>
  type === ofLine && (strict_line === undefined || strict_line === name);

const waitOf = ({ created_at: createdAt, task_id: taskId }: TaskRecord) => ({ createdAt, taskId });

/** True for a dead letter behind which the tasks of its key wait. */
const isHeld = ({ onDeadLetter }: StrictOption, { status, dead_letter_at }: TaskRecord): boolean =>
  onDeadLetter === "hold" && status === "failed" && dead_letter_at !== undefined;

/**
 * The permits of a line in strict order whose tasks may have them no more, and those that stay. A look that was asked
 * for reads the record of each task, as it may have ended in a process that has no turn to give back. Others read it
 * when the permit has passed its end.
 * @throws PortUnavailable
 */
export async function turnsOf(
  ports: TurnPorts,
  line: WaitQueue,
  { permits }: WaitQueueState,
  isAsked: boolean,
): Promise<{ over: [string, number][]; stay: Map<string, number> }> {
  const now = ports.clock.now();
  const over: [string, number][] = [];
  const stay = new Map<string, number>();
  for (const [task, untilMs] of permits) {
    const isPast = untilMs <= now;
    const isDoubted = isPast || (isAsked && permitStateOf(untilMs) !== "onTheWay");
    if (isDoubted && !(await keepsTurn(ports, line, task, isPast))) over.push([task, untilMs]);
    else stay.set(task, isPast ? takenUntilMs(now + maxIntervalMs, { timeoutSeconds: 1 }) : untilMs);
  }
  return { over, stay };
}

/**
 * Takes the turn of a line, which a task has already after its first start, or after it was admitted. A task behind
 * another one gets none.
 * @returns Undefined: another task has the turn, or is before this one.
 * @throws PortUnavailable
 */
export async function takeTurn(
  { lines, clock }: WaitQueuePorts,
  message: TaskMessage,
  line: WaitQueue,
  type: TaskType,
): Promise<AcquiredPermit | undefined> {
  const { passed, envelope } = message;
  if (passed?.line === line.name && passed.untilMs > keptUntilMs(clock.now() - justNowMs, type))
    return { line, bucket: 0, untilMs: passed.untilMs, kept: true, turn: true };
  const { task_id: task, enqueued_at } = envelope;
  const { permits } = await lines.state(line.name);
  const now = clock.now();
  const seenMs = permits.get(task);
  if (seenMs !== undefined) {
    const held = { task, untilMs: seenMs, turn: true } as const;
    const untilMs = await keepSeen(lines, line.name, held, (endMs) => keptAfterMs(endMs, now, type));
    return untilMs === undefined ? undefined : { line, bucket: 0, untilMs, kept: true, turn: true };
  }
  if (permits.size > 0) return undefined;
  const [first] = await lines.first(line.name, 1);
  // Tasks of one instant are in the order of their ids, which only the line knows.
  if (first !== undefined && first.taskId !== task && first.createdAt <= enqueued_at) return undefined;
  const untilMs = takenUntilMs(now, type);
  const taking = lines.acquirePermits(line.name, [task], untilMs, 1, true);
  const isTaken = await sureWrite(lines, line.name, taking, hasPermit([task], untilMs));
  return isTaken ? { line, bucket: 0, untilMs, turn: true } : undefined;
}
