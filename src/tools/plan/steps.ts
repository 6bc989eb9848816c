import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import { writeUnits } from "./write-units.ts";

/**
 * Requests to SQS of a sleep: the send of its message, and receive, hold and delete of an invocation that it has for
 * itself.
 */
const requestsPerSleep = 4;

/** Load of steps and sleeps beside that of their tasks. Each figure is 0 without them. */
export interface StepLoad {
  /** Attempts that go on after a sleep. Each has an invocation and a message. */
  resumed: number;
  writes: number;
  reads: number;
  queueRequests: number;
  /** Worker time to store steps and to go on after sleeps. */
  seconds: number;
}

export function stepLoad(scenario: Scenario, { traffic }: Outcome): StepLoad {
  const { steps, overhead } = scenario;
  const stored = traffic.created.total * steps.perTask;
  const resumed = traffic.created.total * steps.sleeps;
  const units = Math.max(1, Math.ceil(overhead.stepBytes / 1024));
  // The entry of a sleep, and the end and the next claim of its attempt.
  const writesPerSleep = 1 + writeUnits(scenario).attemptWrites;
  // A sleep reads all entries: on average those of half of the steps. Four KB are a unit.
  const readsPerSleep = Math.max(1, Math.ceil(((steps.perTask + steps.sleeps) * overhead.stepBytes) / 2 / 4096));
  return {
    resumed,
    writes: stored * units + resumed * writesPerSleep,
    reads: resumed * readsPerSleep,
    queueRequests: resumed * requestsPerSleep,
    seconds: (stored * overhead.stepMs + resumed * overhead.batchMs) / 1000,
  };
}
