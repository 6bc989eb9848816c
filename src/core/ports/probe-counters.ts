import type { Counters } from "./tasks.ts";

let ofThisProcess: Counters | undefined;

/** Sets the durable counters that `probe.once` and `probe.steps` add to. Each worker calls it at its start. */
export function setProbeCounters(counters: Counters): void {
  ofThisProcess = counters;
}

/**
 * The durable counters of this process, for `probe.once` and `probe.steps`.
 * @throws Error where no worker has set them
 */
export function probeCounters(): Counters {
  if (ofThisProcess === undefined)
    throw new Error("the probes have no counters: call setProbeCounters before they run");
  return ofThisProcess;
}
