import type { Line } from "../../model/line.ts";
import type { Breaker, LineState, Pause } from "../../ports/flow.ts";
import type { LimitedType } from "../../task/type-limits.ts";
import { letGoByPlaces } from "./let-go-places.ts";
import { letGoByRate } from "./let-go-starts.ts";
import { paceOf, placesOf } from "./limit-lines.ts";
import { type Known, type LinePorts, leastOftenMs, mostLetGo, nothing, type Rest, soonMs } from "./line-ports.ts";
import { tasksNow } from "./opened.ts";
import { stands } from "./plan-check.ts";
import { sendAll } from "./send-all.ts";
import { shardsIn } from "./shards.ts";
import { takeTry } from "./try-breaker.ts";

/**
 * Lets the tasks of a line go that may: sends their messages, in order of submission. Repeatable at each step; of two
 * calls at the same time, one lets a task go.
 * @throws PortUnavailable
 */
export async function letGo(ports: LinePorts, line: Line, known: Known): Promise<Rest> {
  const type = line.type === undefined ? undefined : ports.registry.get(line.type);
  if (line.kind === "pause") return letGoUnlessPaused(ports, line, known);
  if (line.kind === "breaker") return letOneTry(ports, line, type, known);
  if (line.kind === "concurrency") {
    const limit = await placesOf(ports.flow, type);
    // The type was removed, or no longer has the limit.
    return limit === undefined ? letAllGo(ports, line, known) : letGoByPlaces(ports, line, limit, known);
  }
  const pace = await paceOf(ports.flow, type);
  return pace === undefined ? letAllGo(ports, line, known) : letGoByRate(ports, line, pace.intervalMs, known);
}

/**
 * An operator's act ends the pause. Until then its line is looked at now and then, so that nobody forgets it; of a type
 * that was paused by itself as often as an open breaker, for its alarm.
 */
async function letGoUnlessPaused(ports: LinePorts, line: Line, known: Known): Promise<Rest> {
  const pause = (await ports.flowSettings.find(line.name)) as Pause | undefined;
  if (pause === undefined) return letAllGo(ports, line, known);
  const isByItself = pause.reason !== undefined;
  const nextMs = ports.clock.now() + (isByItself ? leastOftenMs : longestDelayMs);
  return { nextMs, empty: false, pausedMs: Date.parse(pause.since), open: isByItself };
}

/**
 * Lets the tasks go that nothing stops any more. Only checks of the line do so: a worker that has just put a task into
 * it, as it did not know yet, sends this one alone.
 */
async function letAllGo(ports: LinePorts, line: Line, { added, checkId }: Known): Promise<Rest> {
  const { clock, flow, lines } = ports;
  const now = clock.now();
  const soon: Rest = { nextMs: now + soonMs, empty: false };
  if (added !== undefined) {
    flow.forget();
    await sendAll(ports, line, [added]);
    return soon;
  }
  const state = await lines.state(line.name);
  // Tasks that joined together have planned a check each: one of them lets the tasks go.
  if (checkId !== undefined && !(await isNoted(ports, line, state, checkId))) return soon;
  const shards = shardsIn(ports, line, state, {});
  const most = tasksNow(line, state, now);
  // The next check continues where the processor is slower: no check takes as long as its message is hidden.
  for (let sent = 0; sent < most && clock.now() < now + soonMs; ) {
    const count = Math.min(most - sent, mostLetGo);
    const tasks = await lines.first(line.name, count, shards);
    await sendAll(ports, line, tasks);
    if (tasks.length < count) return nothing;
    sent += count;
  }
  return soon;
}

/**
 * True for the noted check of a line. Another one takes its part if that is lost or comes later: of several at the same
 * time, one does.
 */
async function isNoted(ports: LinePorts, line: Line, state: LineState, checkId: string): Promise<boolean> {
  const { check: planned, sharded } = state;
  if (planned?.id === checkId) return true;
  const now = ports.clock.now();
  if (stands(ports, planned) && planned.atMs <= now + soonMs) return false;
  return ports.lines.planCheck(line.name, { id: checkId, atMs: now, ...(sharded && { sharded }) }, planned);
}

/** The longest delay of a message, in milliseconds. */
export const longestDelayMs = 900_000;

/** After the cool-down one task tries. Its end closes the breaker, or opens it again. */
async function letOneTry(ports: LinePorts, line: Line, type: LimitedType | undefined, known: Known): Promise<Rest> {
  const breaker = (await ports.flowSettings.find(line.name)) as Breaker | undefined;
  if (breaker?.openUntilMs === undefined || type?.breaker === undefined) return letAllGo(ports, line, known);
  const now = ports.clock.now();
  if (now < breaker.openUntilMs) return { nextMs: breaker.openUntilMs, empty: false, open: true };
  const [task] = await ports.lines.first(line.name, 1);
  if (task === undefined) return nothing;
  const tryUntilMs = await takeTry(ports, line, { ...type, breaker: type.breaker }, breaker.openUntilMs);
  // Another call lets one try.
  if (tryUntilMs === undefined) return { nextMs: now + soonMs, empty: false, open: true };
  await sendAll(ports, line, [task], { tryUntilMs });
  return { nextMs: tryUntilMs, empty: false, open: true };
}
