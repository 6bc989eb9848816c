import { defaultWaitsSeconds } from "../../core/task/retry.ts";
import { type CostLine, costOf, frontLines, noticeLines, objectStorage, pricesOf, tasksOf } from "./cost.ts";
import { hoursPerMonth, limits, type Prices, secondsPerMonth } from "./figures.ts";
import { tierDurations } from "./model.ts";
import { objectLoad } from "./objects.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import { writeUnits } from "./write-units.ts";

/** Another AWS service for the same tasks, with its cost. */
export interface Alternative {
  name: string;
  perMonth: number;
  perMillionTasks: number;
  /** Missing features and differences. */
  remarks: string[];
}

/** Totals of the simulated tasks, which all services have in common. */
interface Work {
  tasks: number;
  attempts: number;
  /** Retries that follow a failed attempt. */
  retries: number;
  /** Worker time with one invocation for each attempt. */
  seconds: number;
  /** Arrivals per second: the highest second, and the average of the busiest minute. */
  peakStarts: number;
  sustainedStarts: number;
}

/**
 * State transitions of a Standard workflow of one task: to each state and to the end. A state is a step or a sleep; a
 * task without steps is one. Each retry adds one.
 */
const standardTransitions = (scenario: Scenario): number => statesOf(scenario) + 1;

/** Charged memory of an Express execution of this size, in GB: the minimum. */
const expressGb = 64 / 1024;

/** Operations of a durable execution: one for the execution, one for each step and each wait. Each retry adds one. */
const durableOperations = (scenario: Scenario): number => statesOf(scenario) + 1;

const statesOf = ({ steps }: Scenario): number => Math.max(1, steps.perTask) + steps.sleeps;

/**
 * Costs of the same tasks on Step Functions and on Lambda durable functions, behind the same API. These services
 * replace the queue, the record and the retries. They run each attempt in its own invocation.
 */
export function alternatives(scenario: Scenario, outcome: Outcome): Alternative[] {
  const months = (scenario.hours * 3_600) / secondsPerMonth;
  const work = workOf(scenario, outcome);
  const price = pricesOf(scenario);
  const front = frontLines(scenario, outcome).concat(
    workers(scenario, work, price),
    objects(scenario, outcome, months),
    noticeLines(scenario, outcome),
  );
  const total = (lines: CostLine[]) => lines.reduce((sum, line) => sum + line.perMonth, 0);
  const make = (name: string, lines: CostLine[], remarks: string[]): Alternative => {
    const cost = total(front) + total(lines);
    const perMillionTasks = work.tasks === 0 ? 0 : (cost / work.tasks) * 1e6;
    return { name, perMonth: cost / months, perMillionTasks, remarks };
  };
  const own = costOf(scenario, outcome);
  return [
    { name: "Offload", perMonth: own.perMonth, perMillionTasks: own.perMillionTasks, remarks: [] },
    make("Step Functions Standard", standard(scenario, work, price), standardRemarks(scenario, work)),
    make("Step Functions Express", express(scenario, work, price), expressRemarks(scenario, work)),
    make("Lambda durable functions", durable(scenario, work, price), durableRemarks(work)),
  ];
}

function workOf(scenario: Scenario, outcome: Outcome): Work {
  const durations = tierDurations(scenario);
  const attempts = outcome.tiers.reduce((sum, tier) => sum + tier.attempts, 0);
  const tasks = tasksOf(outcome);
  return {
    tasks,
    attempts,
    retries: Math.max(0, attempts - tasks),
    seconds: outcome.tiers.reduce((sum, tier) => sum + tier.attempts * (durations.get(tier.tier)?.meanSeconds ?? 0), 0),
    peakStarts: outcome.traffic.created.peak.count,
    sustainedStarts: outcome.traffic.created.sustained,
  };
}

function workers(scenario: Scenario, work: Work, price: Prices): CostLine {
  const gbSeconds = work.seconds * (scenario.workerMemoryMb / 1024);
  const perMonth = (work.attempts * price.lambdaRequests) / 1e6 + gbSeconds * price.lambdaGbSeconds;
  return { what: "Lambda: one invocation for each attempt", perMonth };
}

/** Files and large results are in S3 with each service. */
function objects(scenario: Scenario, outcome: Outcome, months: number): CostLine {
  const { puts, gets } = objectLoad(scenario, outcome);
  const price = pricesOf(scenario);
  const requests = (puts * price.objectWrites + gets * price.objectReads) / 1e6;
  return { what: "S3", perMonth: requests + objectStorage(scenario, outcome, months).perMonth * months };
}

const standard = (scenario: Scenario, work: Work, price: Prices): CostLine[] => [
  {
    what: "state transitions",
    perMonth: ((work.tasks * standardTransitions(scenario) + work.retries) * price.stepTransitions) / 1e6,
  },
];

const standardRemarks = (scenario: Scenario, work: Work): string[] => [
  ...throttledRemark(work.peakStarts, limits.stepStartBurst.value),
  ...throttledRemark(work.sustainedStarts, limits.stepStarts.value, "starts per second for a minute"),
  ...throttledRemark(
    work.sustainedStarts * standardTransitions(scenario),
    limits.stepTransitions.value,
    "state transitions per second",
  ),
  "no tiers, no lists by tenant",
];

/** An Express execution is charged while it waits for a retry. It stores no status, so the table's writes remain. */
function express(scenario: Scenario, work: Work, price: Prices): CostLine[] {
  const { submitWrites, attemptWrites } = writeUnits(scenario);
  const waits = expressWaits(scenario) * work.tasks;
  const gbSeconds = (work.seconds + waits) * expressGb;
  return [
    { what: "executions", perMonth: (work.tasks * price.expressRequests) / 1e6 + gbSeconds * price.expressGbSeconds },
    {
      what: "a status table",
      perMonth: ((work.tasks * submitWrites + work.attempts * attemptWrites) * price.tableWrites) / 1e6,
    },
  ];
}

/** Average wait of a task for its retries in seconds, within the five minutes of an execution. */
function expressWaits({ failureRate, maxAttempts }: Scenario): number {
  let total = 0;
  let probability = 1;
  let spent = 0;
  for (const wait of defaultWaitsSeconds.slice(0, maxAttempts - 1)) {
    probability *= failureRate;
    spent += wait * 1.25;
    if (spent > limits.expressSeconds.value) break;
    total += probability * wait * 1.25;
  }
  return total;
}

const expressRemarks = (scenario: Scenario, work: Work): string[] => [
  ...throttledRemark(work.peakStarts, limits.expressStarts.value),
  ...(scenario.durations.p99Ms > limits.expressSeconds.value * 1000 ? ["over 5 minutes: not possible"] : []),
  ...(scenario.steps.sleeps > 0 ? ["sleeps are charged as running time, which the price leaves out"] : []),
  "an execution ends after 5 minutes, retries included; at least once; no dead letters",
];

function durable(scenario: Scenario, work: Work, price: Prices): CostLine[] {
  const { steps, overhead, messageBytes } = scenario;
  const written = (work.tasks * (2 * messageBytes + steps.perTask * overhead.stepBytes)) / 1e9;
  const months = (scenario.hours * 3_600) / secondsPerMonth;
  const kept = (written / months) * ((scenario.retentionDays * 24) / hoursPerMonth);
  return [
    {
      what: "operations",
      perMonth: ((work.tasks * durableOperations(scenario) + work.retries) * price.durableOperations) / 1e6,
    },
    { what: "data written", perMonth: written * price.durableWritten },
    { what: "data kept", perMonth: kept * price.durableStorage * months },
  ];
}

const durableRemarks = (work: Work): string[] => [
  ...throttledRemark(work.peakStarts, limits.durableStarts.value),
  "no tiers, no lists by tenant; code must be deterministic",
];

const throttledRemark = (peak: number, allowed: number, what = "starts per second"): string[] =>
  peak > allowed ? [`throttled: ${Math.round(peak)} ${what}, ${allowed} are allowed`] : [];
