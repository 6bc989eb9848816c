import { prices } from "../../plan/figures.ts";
import type { Check } from "./check.ts";

/** Bounds of a run. */
export const mostTasks = 2_000;
export const mostMinutes = 25;
export const mostMinutesLong = 150;

/** Longest pause between two polls of a task, in milliseconds. */
export const pollEveryMs = 2_000;

/** Tasks that are submitted at once start soon, and are polled for so long. */
const soonSeconds = 60;

const gbOfFunction = 0.5;

/** A request: API Gateway, its function for some milliseconds, and a read of the table. */
const dollarsPerRequest =
  (prices.httpApiRequests.value + prices.lambdaRequests.value + prices.tableReads.value) / 1e6 +
  0.03 * gbOfFunction * prices.lambdaGbSeconds.value;

/** A task: its writes, its messages, a schedule, and its worker for a second, which is more than the probes need. */
const dollarsPerTask =
  (8 * prices.tableWrites.value + 6 * prices.queueRequests.value + prices.schedules.value) / 1e6 +
  gbOfFunction * prices.lambdaGbSeconds.value +
  dollarsPerRequest;

/** The highest price of checks. */
export interface Estimate {
  readonly tasks: number;
  readonly dollars: number;
}

export function estimateOf(checks: readonly Pick<Check, "most">[]): Estimate {
  const estimate = { tasks: 0, dollars: 0 };
  for (const { most } of checks) {
    const polledSeconds = most.tasks > 1 ? Math.min(most.seconds, soonSeconds) : most.seconds;
    const polls = (most.tasks * polledSeconds * 1000) / pollEveryMs;
    estimate.tasks += most.tasks;
    estimate.dollars += (most.dollars ?? 0) + priceOf({ tasks: most.tasks, polls });
  }
  return estimate;
}

/** Price of tasks and of polls, in US dollars. */
export const priceOf = ({ tasks, polls }: { tasks: number; polls: number }): number =>
  tasks * dollarsPerTask + polls * dollarsPerRequest;

/** A price in words, rounded up to a cent. */
export const inDollars = (dollars: number): string => `$${(Math.ceil(dollars * 100) / 100).toFixed(2)}`;
