import { systemClock as functionsClock } from "../../aws/process.ts";
import { systemClock } from "./clock.ts";
import { MovableClock } from "./movable-clock.ts";

/*
 * The time of a local server, in each of its processes: the machine's, and what the server's clock was moved by. Each
 * process has one, as it has one server. What is stored, and what waits, goes by it. Timers of code that runs, such as
 * an attempt's time-out, go by the machine's time.
 */

/** Variable of a process that a server starts: what its clock is ahead of the machine's, in milliseconds. */
export const movedVariable = "OFFLOAD_MOVED_MS";

/** Variable of a process in which handlers run: `1` where their `Date` has the server's time. */
export const moveDateVariable = "OFFLOAD_MOVE_DATE";

/** The global one may be replaced by the moved one. */
const MachineDate = Date;

const clock = new MovableClock(0, () => MachineDate.now());

/** Time by which the clock is ahead of the machine's, in milliseconds. */
export const movedMs = (): number => clock.movedMs;

/** The server's time, in epoch milliseconds. */
export const serverNow = clock.now;

/** Makes the server's time that of this process's emulators and functions. */
export function useMovedTime(aheadMs = 0): void {
  clock.moveTo(aheadMs);
  Object.assign(systemClock, { now: clock.now, after: clock.after });
  Object.assign(functionsClock, { now: clock.now });
}

/** Moves this process's clock, and calls what became due. */
export const moveTo = (aheadMs: number): void => clock.moveTo(aheadMs);

/** Sets this process's clock back to the machine's. */
export const resetTime = (): void => clock.reset();

/** Makes `Date` tell the server's time, to code that asks it what time it is. */
export function moveDate(): void {
  globalThis.Date = new Proxy(MachineDate, {
    apply: () => new MachineDate(clock.now()).toString(),
    // biome-ignore lint/suspicious/noExplicitAny: the constructor's overloads are passed on as they came
    construct: (target, given: any[], as) => Reflect.construct(target, given.length === 0 ? [clock.now()] : given, as),
    get: (target, name, of) => (name === "now" ? clock.now : Reflect.get(target, name, of)),
  });
}
