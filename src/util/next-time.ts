/** The parts of a task's status that say for what it waits. */
interface Waiting {
  status: string;
  waiting_for: object | null;
  next_attempt_at?: string | null;
  run_at?: string | null;
}

/** A queue's delay is in whole seconds: a message comes up to a second after its time. */
const queueSecondMs = 1000;

/** The time for which a task waits: a delay, a retry, a sleep, or the end of a wait. Undefined: it waits for none. */
export function nextTimeOf({ status, waiting_for: waitingFor, next_attempt_at, run_at }: Waiting): string | undefined {
  if (status !== "pending" && status !== "scheduled") return undefined;
  const { until }: { until?: string | null } = waitingFor ?? {};
  return until ?? next_attempt_at ?? run_at ?? undefined;
}

/** The time at which a task that waits for a time has gone on, at the latest. */
export const hasGoneOnAt = (nextTime: string): string => new Date(Date.parse(nextTime) + queueSecondMs).toISOString();
