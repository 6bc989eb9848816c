import { cpus } from "node:os";
import { processorUse } from "./processor-use.ts";

/** All processes of a pool stay busy for this time before another one starts, in milliseconds. */
export const growMs = 150;

/**
 * Another process starts after this time in any case, in milliseconds. On a machine whose processors are in use it
 * would slow down the processes that run.
 */
const growOnBusyMachineMs = 2_000;

/** A machine that was busy is so no more after this time, in milliseconds: a burst of short tasks has gaps. */
const calmMs = 300;

/** Share of the processors' time from which a machine is busy. */
const busyShare = 0.75;

/** The processors' times are read again after this time, in milliseconds: a read takes as long as a task. */
const readEachMs = 50;

let times: { at: number; of: ReturnType<typeof cpus> } | undefined;

/** The times of the processors, for all who wait for a process. */
function recentTimes(): ReturnType<typeof cpus> {
  const now = performance.now();
  if (times === undefined || now - times.at > readEachMs) times = { at: now, of: cpus() };
  return times.of;
}

/**
 * Returns a function that is called each 150 ms while all processes of a pool are busy, and tells if another one should
 * start: at once on a machine that is not busy, after 300 ms of calm on a busy machine, and after 2 s in any case.
 */
export function growth(use = processorUse(recentTimes)): () => boolean {
  let [waitedMs, calmForMs] = [0, calmMs - growMs];
  return () => {
    waitedMs += growMs;
    calmForMs = use() < busyShare ? calmForMs + growMs : 0;
    return calmForMs >= calmMs || waitedMs >= growOnBusyMachineMs;
  };
}
