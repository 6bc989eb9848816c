import type { Line } from "../../model/line.ts";
import { allShards } from "../../model/line-shards.ts";
import type { TaskKey } from "../../model/record.ts";
import type { Tier } from "../../model/tier.ts";
import type { WaitingEntry } from "../../ports/flow.ts";
import type { TaskType } from "../../task/task.ts";
import { isIdle } from "./admit-by-permits.ts";
import { handOver } from "./advance.ts";
import { placesOf } from "./limit-lines.ts";
import type { FlowPorts } from "./line-ports.ts";
import { takenUntilMs } from "./place-book.ts";
import { bucketCount, bucketName, firstOfAny, firstOfShard, firstTasks, isSharded } from "./shards.ts";
import { keepsTurn } from "./strict-order.ts";
import { keepSeen, orWarn } from "./sure-write.ts";
import type { TakenPlace } from "./take.ts";

/** The place of a task while its message is worked on. Each renewal of the attempt's lease lets it end later. */
export interface Place extends TakenPlace {
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
  /** Resolves when the place was returned to its line. Absent: the task has it. */
  left?: Promise<void>;
}

/** Keeps the place of a running attempt as long as its lease. */
export function keepPlace(ports: FlowPorts, place: Place, task: TaskKey, type: TaskType): Promise<void> {
  place.renewal = renewPlace(ports, place, task, type);
  return place.renewal;
}

async function renewPlace(ports: FlowPorts, place: Place, task: TaskKey, type: TaskType): Promise<void> {
  const untilMs = takenUntilMs(ports.clock.now(), type);
  const held = { task: task.task_id, untilMs: place.untilMs };
  const later = (seenMs: number) => (seenMs < untilMs ? untilMs : undefined);
  place.untilMs = (await keepSeen(ports.lines, bucketName(place.line, place.bucket), held, later)) ?? place.untilMs;
}

/** Starts to read the next tasks of the line. The answer is there when the attempt is settled. */
export function readNext(ports: FlowPorts, place: Place): void {
  place.next = nextOf(ports, place);
  const note = (next: readonly WaitingEntry[]) => {
    if (next.length === 0) ports.flow.lines.noteJoined(place.line.name, false);
  };
  // `leave` waits for the answer, and hears of the error.
  place.next.then(note, () => {});
}

async function nextOf(ports: FlowPorts, { line }: Place): Promise<WaitingEntry[]> {
  const { flow, lines, registry, puller, bucketSize: size } = ports;
  // The task itself is among them until it has left.
  await puller?.left;
  const limit = (await placesOf({ flow, lines }, registry.get(line.type ?? ""), line)) ?? 1;
  const sizes = { limit, size };
  const max = firstTasks(sizes);
  if (!(await isSharded(ports, line))) return lines.first(line.name, max);
  if (bucketCount(sizes) === 1) return lines.first(line.name, max, allShards);
  const state = await lines.state(line.name);
  if (isIdle(state)) return [];
  if (state.sharded === undefined) return lines.first(line.name, max);
  // Who finds none here gives the place back, and looks at all shards.
  return firstOfAny(ports, line, firstOfShard);
}

/**
 * Returns a task's place to its line, once, and lets the next task go. Never throws: a place that is not given back
 * ends.
 * @param tier Tier in whose queue a check of the line waits.
 */
export function leave(ports: FlowPorts, place: Place, task: Pick<TaskKey, "task_id">, tier: Tier): Promise<void> {
  if (place.stays) return Promise.resolve();
  const text = "could not give a place back; it is free again when it ends";
  place.left ??= orWarn(ports.log, text, leaveNow(ports, place, task, tier));
  return place.left;
}

async function leaveNow(ports: FlowPorts, place: Place, task: Pick<TaskKey, "task_id">, tier: Tier): Promise<void> {
  // A renewal that is under way changes the time at which the place ends.
  await place.renewal?.catch(() => {});
  if (place.turn && !place.over && (await keepsTurn(ports, place.line, task.task_id))) return;
  const held = { task: task.task_id, untilMs: place.untilMs, bucket: place.bucket };
  // Without an answer about the next task the place is given back all the same.
  const next = await (place.readsLate ? nextInTurn(ports, place.line, task) : place.next)?.catch(() => []);
  const isBack = await handOver(ports, place.line, held, { tier, next });
  if (!isBack && place.over) await leaveKept(ports, place, task, tier);
}

/** The first task of a line. Its last one may not have left it yet. */
async function nextInTurn(
  { lines, puller }: FlowPorts,
  line: Line,
  { task_id: own }: Pick<TaskKey, "task_id">,
): Promise<WaitingEntry[]> {
  await puller?.left;
  const first = await lines.first(line.name, 2);
  return first.filter(({ taskId }) => taskId !== own).slice(0, 1);
}

/** A second message, which came during the attempt, has kept the place until a later time. */
async function leaveKept(
  ports: FlowPorts,
  { line, bucket }: Place,
  { task_id: task }: Pick<TaskKey, "task_id">,
  tier: Tier,
): Promise<void> {
  const untilMs = (await ports.lines.state(bucketName(line, bucket))).places.get(task);
  if (untilMs !== undefined) await handOver(ports, line, { task, untilMs, bucket }, { tier });
}
