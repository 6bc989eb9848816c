import { threadWatchdog } from "../../aws/watchdog.ts";
import type { Watchdog } from "../../core/ports/tasks.ts";
import { movedMs } from "../time/moved-time.ts";

/** Kills this process by the machine's time, in which a blocked event loop stands still. */
export function watchdogOfMachine(): Watchdog {
  const { guard } = threadWatchdog();
  return { guard: (untilMs, attempt) => guard(untilMs - movedMs(), attempt) };
}
