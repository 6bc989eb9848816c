import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../core/ports/tasks.ts";

/*
 * `Date` as the code of task types sees it while a kit runs: its present time is the kit's, which passes in sleeps and
 * waits. All other code, such as the test itself, sees the time that it had before.
 */

const clocks = new AsyncLocalStorage<Pick<Clock, "now">>();

/** Runs `call`, and everything that it starts, at the time of a kit. */
export const onClock = <T>(clock: Pick<Clock, "now">, call: () => T): T => clocks.run(clock, call);

/** A `Date` whose present time is that of the kit for whose task the code runs. A test may have replaced `Date`. */
const datesOver = (plain: DateConstructor): DateConstructor =>
  new Proxy(plain, {
    construct: (target, given, newTarget) => {
      const clock = given.length === 0 ? clocks.getStore() : undefined;
      return Reflect.construct(target, clock === undefined ? given : [clock.now()], newTarget);
    },
    apply: (target, self, given) => {
      const clock = clocks.getStore();
      return clock === undefined ? Reflect.apply(target, self, given) : new target(clock.now()).toString();
    },
    get: (target, name, receiver) => {
      const clock = name === "now" ? clocks.getStore() : undefined;
      return clock === undefined ? Reflect.get(target, name, receiver) : () => clock.now();
    },
  });

let runs = 0;
let before: DateConstructor | undefined;
let put: DateConstructor | undefined;

/** Gives the code of task types the kits' time until `run` has ended. Several kits may run at the same time. */
export async function withKitDates<T>(run: () => Promise<T>): Promise<T> {
  if (runs === 0) {
    before = globalThis.Date;
    put = datesOver(before);
    globalThis.Date = put;
  }
  runs += 1;
  try {
    return await run();
  } finally {
    runs -= 1;
    // What a test has put in its place meanwhile stays.
    if (runs === 0 && globalThis.Date === put && before !== undefined) globalThis.Date = before;
  }
}
