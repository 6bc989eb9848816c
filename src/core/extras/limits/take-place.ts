import type { Line } from "../../model/line.ts";
import type { HeldPlace, Lines } from "../../ports/flow.ts";
import type { TaskType } from "../../task/task.ts";
import type { TaskMessage } from "../../task/task-message.ts";
import { type Bucket, bucketCount, bucketOf, bucketsFor, type Sizes } from "./buckets.ts";
import { placesOf } from "./limit-lines.ts";
import type { LinePorts } from "./line-ports.ts";
import { keptAfterMs, keptUntilMs, placeStateOf, takenUntilMs } from "./place-end.ts";
import { hasPlace, keepSeen, sureWrite } from "./sure-write.ts";
import { isBehind } from "./take-start.ts";

/** A task's place in a line. */
export interface TakenPlace {
  line: Line;
  /** The bucket of the line's places that has it. */
  bucket: number;
  /** Epoch milliseconds. */
  untilMs: number;
  /** True when the task had the place before: another message of it may need it. */
  kept?: boolean;
  /** True for the turn of a line in strict order, which the task has until it is over. */
  turn?: boolean;
}

/**
 * A task whose place was passed on no longer than this ago keeps it without a write, in milliseconds: a place outlasts
 * the lease of its attempt by little.
 */
export const justNowMs = 1_000;

/**
 * Takes a place. A task that has a place keeps it: it was let go, or this is a second message of it.
 * @returns Undefined: there is no place.
 * @throws PortUnavailable
 */
export async function takePlace(
  ports: LinePorts,
  message: TaskMessage,
  line: Line,
  type: TaskType,
): Promise<TakenPlace | undefined> {
  const { clock, flow, lines } = ports;
  const { envelope, grant, place: passed } = message;
  const task = envelope.task_id;
  const now = clock.now();
  const untilMs = takenUntilMs(now, type);
  if (passed?.line === line.name && passed.untilMs > keptUntilMs(now - justNowMs, type))
    return { line, bucket: passed.bucket, untilMs: passed.untilMs, kept: true };
  const keepIn = async ({ name, index }: Bucket, seenMs?: number): Promise<TakenPlace | undefined> => {
    const kept = await keepSeen(lines, name, { task, untilMs: seenMs }, (endMs) => keptAfterMs(endMs, now, type));
    return kept === undefined ? undefined : { line, bucket: index, untilMs: kept, kept: true };
  };
  const sizes: Sizes = { limit: (await placesOf({ flow, lines }, type, line)) ?? 1, size: ports.bucketSize };
  const given = grant?.held ? bucketOf(line, grant.bucket ?? 0, sizes) : undefined;
  const held = given && (await keepIn(given));
  if (held !== undefined) return held;
  const free = !(await isBehind(ports, line, envelope));
  const asked = given === undefined ? await bucketsAsked(ports, line, task, sizes) : [given];
  const taken = free ? await takeOneOf(lines, asked, { task, untilMs }) : undefined;
  if (taken !== undefined) return { line, bucket: taken, untilMs };
  if (given && (await takeOver(lines, given, { task, untilMs }))) return { line, bucket: given.index, untilMs };
  const own = asked[0] as Bucket;
  // A look, which the tasks of a batch share: hardly any of them has a place, and a refused write costs more.
  const seenMs = (await lines.state(own.name)).places.get(task);
  return seenMs === undefined ? undefined : keepIn(own, seenMs);
}

/** Takes a place in the first of these buckets that has one. @returns The bucket's index. */
async function takeOneOf(
  lines: Lines,
  buckets: readonly Bucket[],
  { task, untilMs }: HeldPlace,
): Promise<number | undefined> {
  for (const { name, index, room } of buckets) {
    const taking = lines.takePlaces(name, [task], untilMs, room);
    if (await sureWrite(lines, name, taking, hasPlace([task], untilMs))) return index;
  }
  return undefined;
}

/**
 * The buckets that a task asks. A process asks others than the first one only when it has seen that this has no more
 * than its share: an earlier release puts all places of a line there.
 */
async function bucketsAsked(
  { flow, lines }: LinePorts,
  line: Line,
  task: string,
  sizes: Sizes,
): Promise<readonly Bucket[]> {
  const asked = bucketsFor(line, task, sizes);
  if (bucketCount(sizes) === 1 || flow.lines.isSpread(line.name)) return asked;
  const own = bucketOf(line, 0, sizes);
  if ((await lines.state(own.name)).places.size > own.room) return [own];
  flow.lines.noteSpread(line.name);
  return asked;
}

/** Tries to take over a place while others change the line. */
const mostTries = 3;

/**
 * Takes the place of a task that was let go and has not come yet: the last one, which comes latest. In a queue that is
 * behind for longer than a place is kept, each task would find its place given to another task that is on its way, and
 * none would ever start.
 * @throws PortUnavailable
 */
async function takeOver(lines: Lines, { name, room }: Bucket, to: HeldPlace): Promise<boolean> {
  const { places } = await lines.state(name);
  const onWay = [...places].filter(([, untilMs]) => placeStateOf(untilMs) === "onTheWay").sort(([, a], [, b]) => b - a);
  for (const [task, untilMs] of onWay.slice(0, mostTries)) {
    const passing = lines.passPlace(name, { task, untilMs }, to, room);
    if (await sureWrite(lines, name, passing, hasPlace([to.task], to.untilMs))) return true;
  }
  return false;
}
