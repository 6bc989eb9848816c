import type { Line } from "../../model/line.ts";
import { numberOf } from "../../model/line-shards.ts";
import type { WaitingEntry, WaitingTask } from "../../ports/flow.ts";
import { bucketCount, type Sizes } from "./buckets.ts";
import type { LinePorts } from "./line-ports.ts";
import { withEnvelopes } from "./send-all.ts";

/**
 * Nobody else lets a reserved task go for this time, in milliseconds: its message is sent by then, or its sender died.
 */
const reservedMs = 15_000;

type OwnPorts = Pick<LinePorts, "lines" | "clock" | "flow" | "newId">;

/**
 * The tasks of a line that this call lets go, up to a number: the first tasks that no other call of this process lets
 * go. In a line with several buckets a process reserves its tasks, at random.
 */
async function ownTasks(
  ports: OwnPorts,
  line: Line,
  first: readonly WaitingEntry[],
  { most, sizes }: { most: number; sizes: Sizes },
): Promise<WaitingEntry[]> {
  if (bucketCount(sizes) > 1) return reserved(ports, line, first, most);
  const own: WaitingEntry[] = [];
  for (const task of first) if (own.length < most && ports.flow.going.add(task, ports.clock.now())) own.push(task);
  return own;
}

/**
 * Reserves tasks among the first of a line, which nobody else lets go at this moment. At random, the first ones more
 * likely, so that none is passed over for long.
 */
export async function reserved(
  { lines, clock, flow, newId }: OwnPorts,
  line: Line,
  first: readonly WaitingEntry[],
  most: number,
): Promise<WaitingEntry[]> {
  const salt = newId();
  const own: WaitingEntry[] = [];
  const inOrder = first.map((task, position) => ({ task, at: (position + 4) * chanceOf(salt, task) }));
  for (const { task } of inOrder.sort((a, b) => a.at - b.at)) {
    if (own.length >= most) break;
    const now = clock.now();
    if (!flow.going.add(task, now)) continue;
    if (await lines.reserve(line.name, task, now, now + reservedMs)) own.push(task);
    else flow.going.delete(task);
  }
  return own;
}

/**
 * Leaves tasks to others that this call could not let go.
 * @returns True when another call of this process has passed one of them over: nobody else looks at it now.
 */
export async function leaveToOthers(
  { lines, flow }: OwnPorts,
  line: Line,
  tasks: readonly WaitingEntry[],
  sizes: Sizes,
): Promise<boolean> {
  let isPassedOver = false;
  for (const task of tasks) {
    if (flow.going.delete(task)) isPassedOver = true;
    if (bucketCount(sizes) > 1) await lines.release(line.name, task);
  }
  return isPassedOver;
}

/**
 * Tasks that this call lets go, with their messages. Where the line does not answer they are left to others, who would
 * pass them over.
 * @throws PortUnavailable
 */
export async function ownMessages(
  ports: LinePorts,
  line: Line,
  first: readonly WaitingEntry[],
  wanted: { most: number; sizes: Sizes },
): Promise<readonly WaitingTask[]> {
  const own = await ownTasks(ports, line, first, wanted);
  try {
    return await withEnvelopes(ports, line, own);
  } catch (error) {
    await leaveToOthers(ports, line, own, wanted.sizes);
    throw error;
  }
}

/** From 0 to 1. */
const chanceOf = (salt: string, { taskId }: WaitingEntry): number => numberOf(`${salt} ${taskId}`) / 2 ** 32;
