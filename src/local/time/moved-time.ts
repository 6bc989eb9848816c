import { setTimeout as sleep } from "node:timers/promises";
import { systemClock as functionsClock } from "../../aws/process.ts";
import { systemClock } from "./clock.ts";
import { MovableClock } from "./movable-clock.ts";

/**
 * Time moves in steps, in which whatever became due can read and write. A step is this long at least, and there are at
 * most so many.
 */
const leastStepMs = 1_000;
const mostSteps = 100;

/** Pause after each step, in milliseconds. */
const pauseMs = 10;

/** Variable of a worker process: the time that its server had added when it started the process, in milliseconds. */
export const movedVariable = "OFFLOAD_MOVED_MS";

/** The clock that tests move. A process has one, as it has one server. Undefined: time is the machine's. */
let clock: MovableClock | undefined;
const listeners = new Set<(movedMs: number) => void>();

/** Time that was added to the machine's, in milliseconds. Undefined: this process has no clock that tests move. */
export const movedMs = (): number | undefined => clock?.movedMs;

/** Lets tests move the time of this process, of its emulators and of its functions. */
export function useMovableClock(startMs = 0): void {
  clock = new MovableClock(startMs);
  const { now, after } = clock;
  Object.assign(systemClock, { now, after });
  Object.assign(functionsClock, { now, after });
}

/** Calls back with the whole time that was added, after each step. Returns a function that ends this. */
export function onMoved(callback: (movedMs: number) => void): () => void {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

/** Adds time to a process's clock up to the given sum, as its server did. */
export function followTime(movedMs: number): void {
  clock?.moveTo(movedMs);
}

/**
 * Lets time pass for this process and those that follow it: what was due within it happens. Returns the new time, in
 * epoch milliseconds.
 */
export async function passTime(ms: number): Promise<number> {
  if (clock === undefined) throw new Error("this server has no clock that tests move");
  const untilMs = clock.movedMs + ms;
  const stepMs = Math.max(leastStepMs, ms / mostSteps);
  while (clock.movedMs < untilMs) {
    clock.moveTo(Math.min(untilMs, clock.movedMs + stepMs));
    for (const listener of listeners) listener(clock.movedMs);
    await sleep(pauseMs);
  }
  return clock.now();
}
