import { columns } from "../../machine/columns.ts";
import { type Alternative, alternatives } from "./alternatives.ts";
import type { Bottleneck } from "./bottleneck.ts";
import { bottlenecks } from "./bottlenecks.ts";
import { type Cost, costOf, tasksOf } from "./cost.ts";
import { figuresAsOf, limits, priceRegion, prices } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import { clockTime, dollars, duration, whole } from "./wording.ts";

/** A plan's result as data, which `--json` prints. */
export interface PlanReport {
  name: string;
  hours: number;
  tasks: number;
  unfinished: number;
  tiers: TierReport[];
  peakConcurrency: number;
  bottlenecks: Bottleneck[];
  cost: Cost;
  alternatives: Alternative[];
  figuresAsOf: string;
  region: string;
  /** Names of the prices that the scenario overrides. */
  ownPrices: string[];
}

export interface TierReport {
  tier: string;
  tasks: number;
  waitP50Seconds: number;
  waitP99Seconds: number;
  longestWaitSeconds: number;
  peakInvocations: number;
  peakDepth: number;
  messagesPerInvocation: number;
  coldStarts: number;
  failed: number;
}

/** Builds the report of a simulation. */
export function reportOf(scenario: Scenario, outcome: Outcome): PlanReport {
  return {
    name: scenario.name,
    hours: scenario.hours,
    tasks: tasksOf(outcome),
    unfinished: outcome.unfinished,
    tiers: outcome.tiers.map((tier) => ({
      tier: tier.tier,
      tasks: tier.tasks,
      waitP50Seconds: tier.waits.quantile(0.5),
      waitP99Seconds: tier.waits.quantile(0.99),
      longestWaitSeconds: tier.longestWait,
      peakInvocations: tier.peakRunning,
      peakDepth: tier.peakDepth,
      messagesPerInvocation: tier.invocations === 0 ? 0 : tier.attempts / tier.invocations,
      coldStarts: tier.coldStarts,
      failed: tier.dead,
    })),
    peakConcurrency: outcome.peakConcurrency,
    bottlenecks: bottlenecks(scenario, outcome),
    cost: costOf(scenario, outcome),
    alternatives: alternatives(scenario, outcome),
    figuresAsOf,
    region: scenario.region,
    ownPrices: Object.keys(scenario.prices),
  };
}

/** Formats the report for a terminal. */
export const reportText = (report: PlanReport): string =>
  [
    heading(report),
    tierTable(report),
    breaking(report),
    limitTable(report),
    costTable(report),
    alternativeTable(report),
    priceNote(report),
    "",
  ].join("\n\n");

/** Names the region and the date of the prices. */
function priceNote({ figuresAsOf, region, ownPrices }: PlanReport): string {
  const list = `Prices and limits: ${priceRegion}, as of ${figuresAsOf}, list prices without free tier (offload plan --figures).`;
  if (ownPrices.length > 0) return `${list}\nPrices of ${region} from the scenario: ${ownPrices.join(", ")}.`;
  return region === priceRegion ? list : `${list}\nThe scenario has no prices of ${region}.`;
}

/** Formats the prices and limits for a terminal. */
export function figuresText(): string {
  const table = [["figure", "value", "unit", "source"]];
  for (const [name, { value, unit, source }] of [...Object.entries(prices), ...Object.entries(limits)]) {
    table.push([name, String(value), unit, source]);
  }
  return `Prices in US dollars (${priceRegion}) and limits, as of ${figuresAsOf}\n\n${columns(table)}`;
}

function heading({ name, hours, tasks, unfinished }: PlanReport): string {
  const rate = (tasks / (hours * 3_600)).toPrecision(3);
  const left = unfinished > 0 ? `\n${whole(unfinished)} tasks had not ended when the simulation stopped.` : "";
  return `${name}: ${whole(tasks)} tasks in ${hours} h, ${Number(rate)} per second on average${left}`;
}

function tierTable({ tiers }: PlanReport): string {
  const table = [["tier", "tasks", "wait p50", "wait p99", "longest", "invocations", "waiting", "batch", "failed"]];
  for (const tier of tiers) {
    table.push([
      tier.tier,
      whole(tier.tasks),
      duration(tier.waitP50Seconds),
      duration(tier.waitP99Seconds),
      duration(tier.longestWaitSeconds),
      `${whole(tier.peakInvocations)} at most`,
      `${whole(tier.peakDepth)} at most`,
      tier.messagesPerInvocation.toFixed(1),
      whole(tier.failed),
    ]);
  }
  return columns(table);
}

/** Names the limit that is reached first, or the closest one and its distance. */
export function breaking({ bottlenecks: [first] }: PlanReport): string {
  if (first === undefined || first.needed === 0) return "No limit is reached, because there are no tasks.";
  if (first.firstAt !== undefined) {
    return `First limit reached: ${first.what} (${whole(first.allowed)} ${first.unit}), at ${clockTime(first.firstAt)}: ${first.effect}.`;
  }
  const times = first.allowed / first.needed;
  return `No limit is reached. With ${times.toPrecision(2)} times as many tasks the first one would be ${first.what} (${whole(first.allowed)} ${first.unit}).`;
}

/** Number of limits in the report: those that were reached, then the closest others. */
const shownLimits = 8;

function limitTable(report: PlanReport): string {
  const table = [["limit", "allowed", "needed", "", "reached"]];
  for (const one of report.bottlenecks.slice(0, shownLimits)) {
    const used = `${Math.round((one.needed / one.allowed) * 100)} %`;
    const reached = one.firstAt === undefined ? "" : `${clockTime(one.firstAt)}: ${one.effect}`;
    table.push([one.what, `${whole(one.allowed)} ${one.unit}`, whole(one.needed), used, reached]);
  }
  return columns(table);
}

function costTable({ cost }: PlanReport): string {
  const table = [["cost", "per month", "per million tasks"]];
  const perMillion = (value: number) => (cost.tasksPerMonth === 0 ? "" : dollars((value / cost.tasksPerMonth) * 1e6));
  for (const line of [...cost.front, ...cost.work]) {
    if (line.perMonth > 0) table.push([line.what, dollars(line.perMonth), perMillion(line.perMonth)]);
  }
  for (const line of cost.fixed)
    if (line.perMonth > 0) table.push([`${line.what} (fixed)`, dollars(line.perMonth), ""]);
  table.push(["total", dollars(cost.perMonth), dollars(cost.perMillionTasks)]);
  return columns(table);
}

function alternativeTable(report: PlanReport): string {
  const table = [["the same tasks on", "per month", "per million tasks", "restrictions"]];
  for (const { name, perMonth, perMillionTasks, remarks } of report.alternatives) {
    table.push([name, dollars(perMonth), dollars(perMillionTasks), remarks.join("; ")]);
  }
  return columns(table);
}
