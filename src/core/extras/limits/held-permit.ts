import type { TaskKey } from "../../model/record.ts";
import type { WaitQueue } from "../../model/wait-queue.ts";
import type { Tier } from "../../model/words.ts";
import type { WaitingEntry } from "../../ports/flow.ts";
import type { TaskType } from "../../task/task.ts";
import type { AcquiredPermit } from "./acquire.ts";
import { isIdle } from "./admit-by-permits.ts";
import { handOver } from "./advance.ts";
import { permitsOf } from "./limit-lines.ts";
import { allShards, takenUntilMs } from "./place-book.ts";
import { bucketCount, bucketName, firstOfAny, firstOfShard, firstTasks, isSharded } from "./shards.ts";
import { keepsTurn } from "./strict-order.ts";
import { keepSeen, orWarn } from "./sure-write.ts";
import type { FlowPorts } from "./wait-queue-ports.ts";

/** The permit of a task while its message is worked on. Each renewal of the attempt's lease lets it end later. */
export interface HeldPermit extends AcquiredPermit {
  /** True when no attempt of the task follows. */
  over?: boolean;
  /** True for the turn of a task in strict order that goes on. */
  stays?: boolean;
  /** True for a turn: its line is read when it is passed on, and not before. */
  readsLate?: boolean;
  /** The renewal that runs. Absent: none ran yet. */
  renewal?: Promise<void>;
  /** The first tasks of the line, as they were read when the attempt ended. Absent: it runs. */
  next?: Promise<WaitingEntry[]>;
  /** Resolves when the permit was returned to its line. Absent: the task has it. */
  released?: Promise<void>;
}

/** Renews the permit of a running attempt as long as its lease. */
export function renew(ports: FlowPorts, permit: HeldPermit, task: TaskKey, type: TaskType): Promise<void> {
  permit.renewal = renewNow(ports, permit, task, type);
  return permit.renewal;
}

async function renewNow(ports: FlowPorts, permit: HeldPermit, task: TaskKey, type: TaskType): Promise<void> {
  const untilMs = takenUntilMs(ports.clock.now(), type);
  const held = { task: task.task_id, untilMs: permit.untilMs };
  const later = (seenMs: number) => (seenMs < untilMs ? untilMs : undefined);
  permit.untilMs = (await keepSeen(ports.lines, bucketName(permit.line, permit.bucket), held, later)) ?? permit.untilMs;
}

/** Starts to read the next tasks of the line. The answer is there when the attempt is settled. */
export function readNext(ports: FlowPorts, permit: HeldPermit): void {
  permit.next = nextOf(ports, permit);
  const note = (next: readonly WaitingEntry[]) => {
    if (next.length === 0) ports.flow.lines.noteJoined(permit.line.name, false);
  };
  // `release` waits for the answer, and hears of the error.
  permit.next.then(note, () => {});
}

async function nextOf(ports: FlowPorts, { line }: HeldPermit): Promise<WaitingEntry[]> {
  const { flow, lines, registry, puller, bucketSize: size } = ports;
  // The task itself is among them until it has left.
  await puller?.dequeued;
  const limit = (await permitsOf({ flow, lines }, registry.get(line.type ?? ""), line)) ?? 1;
  const sizes = { limit, size };
  const max = firstTasks(sizes);
  if (!(await isSharded(ports, line))) return lines.first(line.name, max);
  if (bucketCount(sizes) === 1) return lines.first(line.name, max, allShards);
  const state = await lines.state(line.name);
  if (isIdle(state)) return [];
  if (state.sharded === undefined) return lines.first(line.name, max);
  // Who finds none here gives the permit back, and looks at all shards.
  return firstOfAny(ports, line, firstOfShard);
}

/**
 * Returns a task's permit to its line, once, and lets the next task go. Never throws: a permit that is not given back
 * ends.
 * @param tier Tier in whose queue a check of the line waits.
 */
export function release(
  ports: FlowPorts,
  permit: HeldPermit,
  task: Pick<TaskKey, "task_id">,
  tier: Tier,
): Promise<void> {
  if (permit.stays) return Promise.resolve();
  const text = "could not give a place back; it is free again when it ends";
  permit.released ??= orWarn(ports.log, text, releaseNow(ports, permit, task, tier));
  return permit.released;
}

async function releaseNow(
  ports: FlowPorts,
  permit: HeldPermit,
  task: Pick<TaskKey, "task_id">,
  tier: Tier,
): Promise<void> {
  // A renewal that is under way changes the time at which the permit ends.
  await permit.renewal?.catch(() => {});
  if (permit.turn && !permit.over && (await keepsTurn(ports, permit.line, task.task_id))) return;
  const held = { task: task.task_id, untilMs: permit.untilMs, bucket: permit.bucket };
  // Without an answer about the next task the permit is given back all the same.
  const next = await (permit.readsLate ? nextInTurn(ports, permit.line, task) : permit.next)?.catch(() => []);
  const isBack = await handOver(ports, permit.line, held, { tier, next });
  if (!isBack && permit.over) await releaseKept(ports, permit, task, tier);
}

/** The first task of a line. Its last one may not have left it yet. */
async function nextInTurn(
  { lines, puller }: FlowPorts,
  line: WaitQueue,
  { task_id: own }: Pick<TaskKey, "task_id">,
): Promise<WaitingEntry[]> {
  await puller?.dequeued;
  const first = await lines.first(line.name, 2);
  return first.filter(({ taskId }) => taskId !== own).slice(0, 1);
}

/** A second message, which came during the attempt, has kept the permit until a later time. */
async function releaseKept(
  ports: FlowPorts,
  { line, bucket }: HeldPermit,
  { task_id: task }: Pick<TaskKey, "task_id">,
  tier: Tier,
): Promise<void> {
  const untilMs = (await ports.lines.state(bucketName(line, bucket))).permits.get(task);
  if (untilMs !== undefined) await handOver(ports, line, { task, untilMs, bucket }, { tier });
}
