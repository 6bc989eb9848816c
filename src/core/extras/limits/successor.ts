import type { LineCheck } from "../../model/envelope.ts";
import { type Line, lineOf } from "../../model/line.ts";
import type { LineState, Successor } from "../../ports/flow.ts";
import type { Delivery } from "../../ports/tasks.ts";
import { advance } from "./advance.ts";
import { bucketName, bucketOf } from "./buckets.ts";
import { leave, readNext } from "./held-place.ts";
import { placesOf } from "./limit-lines.ts";
import type { FlowPorts, LinePorts } from "./line-ports.ts";
import { answerOf } from "./sure-write.ts";

/*
 * In a tier that is behind, a line would wait for a message that passes the queue after each worker's share. So the
 * message is sent early, and the worker goes on until a successor has received it. The successor notes in the line's
 * state that a place is waited for, and gets the next place that is passed on. The successor has it under its own id,
 * as a task would, and hands the place over as if a task had ended. After a successor's death the place ends.
 */

/** A successor waits at most this long for a place, in milliseconds: tasks that take longer go by message. */
const longestWaitMs = 30_000;

/** A successor looks for its place this often, in milliseconds. */
const lookEachMs = 250;

/**
 * A place that is free in this many looks in a row shows that no task waits. In a single look it may be the place of a
 * worker that has chosen the same task as its neighbour.
 */
const mostFree = 3;

/** A successor, in a bucket of a line's places. */
interface Coming {
  line: Line;
  bucket: number;
  id: string;
}

const checkPattern = /^places\/(\d{1,6})\/(.+)$/s;

/** Reads the check that a worker sends for its successor. Undefined: it is another one. */
export function successorIn({ line: name, check_id: id }: LineCheck): Coming | undefined {
  const [, bucket, ofLine = ""] = checkPattern.exec(name) ?? [];
  const line = lineOf(ofLine);
  return bucket === undefined || line === undefined ? undefined : { line, bucket: Number(bucket), id };
}

/**
 * Waits for a place, and takes the next task of the line with it.
 * @throws PortUnavailable
 */
export async function succeed(ports: FlowPorts, delivery: Delivery, coming: Coming): Promise<void> {
  const untilMs = await placeFor(ports, delivery, coming);
  if (untilMs === undefined) return;
  const { line, bucket, id } = coming;
  const place = { line, bucket, untilMs };
  readNext(ports, place);
  await leave(ports, place, { task_id: id }, delivery.tier);
}

/** @returns Epoch milliseconds: the end of the place that the successor has got. Undefined: it has none. */
async function placeFor(ports: FlowPorts, { tier }: Delivery, coming: Coming): Promise<number | undefined> {
  const { clock, lines, taker, isStopping } = ports;
  const { line, bucket: index, id } = coming;
  const name = bucketName(line, index);
  const waitsUntilMs = clock.now() + longestWaitMs;
  const room = await roomIn(ports, line, index);
  for (let free = 0; ; ) {
    const state = await answerOf(lines.state(name));
    if (state?.places.has(id)) return state.places.get(id);
    const isFree = state !== undefined && state.places.size < room;
    if (isFree) await advance(ports, line, { tier, changed: { index, state } });
    free = isFree ? free + 1 : 0;
    const isOver = !taker?.isFree || free === mostFree || clock.now() >= waitsUntilMs || isStopping?.();
    // The place may have come since the look.
    if (isOver && (await isDone(ports, name, state, id))) return undefined;
    if (!isOver) await waitOn(ports, name, state, { id, untilMs: waitsUntilMs });
  }
}

/** Notes that a successor waits, unless another one does, until its next look. */
async function waitOn({ clock, lines }: LinePorts, name: string, state: LineState | undefined, own: Successor) {
  const now = clock.now();
  if (state !== undefined && (state.successor?.untilMs ?? 0) <= now) await answerOf(lines.awaitPlace(name, own, now));
  await new Promise<void>((resolve) => clock.after(lookEachMs, resolve));
}

const isDone = async ({ lines }: LinePorts, name: string, state: LineState | undefined, id: string): Promise<boolean> =>
  state?.successor?.id !== id || (await lines.endWait(name, id));

async function roomIn({ flow, registry, bucketSize: size }: LinePorts, line: Line, index: number): Promise<number> {
  const limit = await placesOf(flow, registry.get(line.type ?? ""));
  return limit === undefined ? 0 : bucketOf(line, index, { limit, size }).room;
}
