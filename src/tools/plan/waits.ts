import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";

/** Reads of a task's record for each second of a wait. Each is consistent: one read unit for up to 4 KB. */
const readsPerSecond = 2;

/** Read units of the first look at the task, and of the places that the interval before has taken. */
const readsPerWait = 0.5 + 1;

/** Write units of a place: it is taken, and given back. */
const writesPerWait = 2;

/** Load of requests that wait for the end of a task. Each figure is 0 without them. */
export interface WaitLoad {
  requests: number;
  /** Time for which all of them wait. */
  seconds: number;
  tableReads: number;
  tableWrites: number;
}

export function waitLoad({ waits }: Scenario, { traffic }: Outcome): WaitLoad {
  const requests = traffic.submits.total * waits.perTask;
  const seconds = requests * waits.seconds;
  return {
    requests,
    seconds,
    tableReads: requests * readsPerWait + seconds * readsPerSecond,
    tableWrites: requests * writesPerWait,
  };
}
