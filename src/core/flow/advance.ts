import { PortUnavailable } from "../model/errors.ts";
import { heldIn } from "../model/grant.ts";
import { inLanes } from "../model/in-lanes.ts";
import type { Line } from "../model/line.ts";
import type { Tier } from "../model/tier.ts";
import type { HeldPlace, PlannedCheck, WaitingEntry } from "../ports/flow.ts";
import { bucketName, bucketOf, leaveToOthers, ownTasks } from "./buckets.ts";
import { letGo, longestDelayMs } from "./let-go.ts";
import { placesOf } from "./limit-lines.ts";
import { type Known, type LinePorts, type Rest, soonMs } from "./line-ports.ts";
import { onTheWayUntilMs } from "./place-end.ts";
import { sendAll } from "./send-all.ts";
import { watchLine } from "./watch-line.ts";

/** A planned look at a line counts as lost this long after its time, in milliseconds. */
const lostMs = 15_000;

/**
 * A line that a pause does not stop is looked at this often at least, in milliseconds: alarms count periods of five
 * minutes.
 */
const leastOftenMs = 240_000;

/** Further checks that are sent at the same time. */
const lanes = 10;

/** A call that goes on with a line. */
export interface Advance extends Known {
  /** Tier in whose queue the next check waits. */
  tier: Tier;
}

/**
 * Goes on with a line, and makes sure that a message checks it again while tasks wait. That message is sent before the
 * line notes it, so that no death leaves a line without one. Of several messages only the noted one is followed by
 * another, so that they do not multiply.
 * @throws PortUnavailable
 */
export async function advance(ports: LinePorts, line: Line, { tier, checkId, ...known }: Advance): Promise<void> {
  const { lines, clock } = ports;
  let rest = await letGo(ports, line, { ...known, checkId });
  if (rest.empty && checkId !== undefined) {
    // A submit that adds a task after this finds no plan, and a task that was added before is seen now.
    await lines.endChecks(line.name, checkId);
    rest = await letGo(ports, line);
  }
  if (rest.nextMs === undefined) return;
  const { changed } = known;
  const seen = rest.state ?? (changed?.index === 0 ? changed.state : undefined);
  const { check: planned } = seen ?? (await lines.state(line.name));
  const now = clock.now();
  if (checkId !== undefined && planned?.id === checkId) watchLine(ports, line, rest);
  const latestMs = now + (line.kind === "pause" ? longestDelayMs : leastOftenMs);
  const atMs = Math.min(Math.max(rest.nextMs, now + soonMs), latestMs);
  if (planned?.id !== checkId && stands(ports, planned) && planned.atMs <= atMs + soonMs) return;
  const id = ports.newId();
  await sendCheck(ports, line, { tier, atMs, id });
  if (await lines.planCheck(line.name, { id, atMs }, planned)) await sendFurther(ports, line, tier, rest);
}

/** True when a look at a line is planned and not lost. In a tier that is behind, it comes later by that time. */
const stands = ({ clock, taker }: LinePorts, planned: PlannedCheck | undefined): planned is PlannedCheck =>
  planned !== undefined && planned.atMs > clock.now() - lostMs - (taker?.behindMs ?? 0);

/** Sends what lets a line keep its pace in a tier that is behind. Without it, the noted check goes on with the line. */
async function sendFurther(ports: LinePorts, line: Line, tier: Tier, { furtherMs = [] }: Rest): Promise<void> {
  try {
    await inLanes(furtherMs, lanes, (atMs) => sendCheck(ports, line, { tier, atMs, id: ports.newId() }));
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    ports.log.warn("could not send further checks of a line", { error: String(error) });
  }
}

/** Sends a message that looks at a line again. */
export const sendCheck = (
  { queues, clock }: Pick<LinePorts, "queues" | "clock">,
  line: Line,
  { tier, atMs, id }: { tier: Tier; atMs: number; id: string },
): Promise<void> =>
  queues.sendCheck({
    tier,
    check: { line: line.name, check_id: id },
    delaySeconds: Math.max(0, Math.ceil((atMs - clock.now()) / 1000)),
  });

/** A task's place, in a bucket of its line. */
export interface BucketPlace extends HeldPlace {
  /** The bucket's index. */
  bucket: number;
}

/**
 * Passes a task's place to the next task by one write, and sends its message; gives it back when there is none.
 * @param tier Tier in whose queue a check of the line waits.
 * @param next The line's first tasks. Absent: they were not read.
 * @returns False when the task has no such place.
 * @throws PortUnavailable
 */
export async function handOver(
  ports: LinePorts,
  line: Line,
  place: BucketPlace,
  { tier, next = [] }: { tier: Tier; next?: readonly WaitingEntry[] | undefined },
): Promise<boolean> {
  const type = line.type === undefined ? undefined : ports.registry.get(line.type);
  const limit = await placesOf(ports.flow, type);
  if (limit === undefined) return giveBack(ports, line, place, tier);
  const sizes = { limit, size: ports.bucketSize };
  const { index, name, room } = bucketOf(line, place.bucket, sizes);
  const [own] = room === 0 ? [] : await ownTasks(ports, line, next, { most: 1, salt: place.task, sizes });
  if (own === undefined) return giveBack(ports, line, place, tier);
  const to = { task: own.taskId, untilMs: onTheWayUntilMs(ports.clock.now()) };
  const state = await ports.lines.passPlace(name, place, to, room);
  // Another call has just let this task go, or the limit is lower now.
  if (state === undefined) {
    await leaveToOthers(ports, line, [own], sizes);
    return giveBack(ports, line, place, tier);
  }
  await sendAll(ports, line, [own], heldIn(index));
  // The line's own state alone tells of its check.
  const isChecked = index > 0 || stands(ports, state.check);
  if (state.places.size < room || !isChecked) await advance(ports, line, { tier, changed: { index, state } });
  return true;
}

async function giveBack(ports: LinePorts, line: Line, place: BucketPlace, tier: Tier): Promise<boolean> {
  const { bucket: index, task, untilMs } = place;
  const state = await ports.lines.dropPlace(bucketName(line, index), task, untilMs);
  if (state !== undefined) await advance(ports, line, { tier, changed: { index, state } });
  return state !== undefined;
}
