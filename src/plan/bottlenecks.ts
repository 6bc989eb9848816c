import { limits } from "./figures.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import type { Held, TierOutcome } from "./tier-run.ts";

/** Partitions of one tenant's index; as many as `src/aws/table.ts` has. */
export const tenantPartitions = 4;

/** A limit beside what the plan needs of it. */
export interface Bottleneck {
  what: string;
  allowed: number;
  needed: number;
  unit: string;
  /** When it was first reached, in seconds from the start. Absent: never. */
  firstAt?: number | undefined;
  /** What happens where it is reached. */
  effect: string;
}

/** Waits for more invocations are normal for a moment; so many seconds of them in a row are a limit that was felt. */
const feltSeconds = 10;

const feltFrom = (held: Held): number | undefined =>
  held.longestSeconds >= feltSeconds ? held.longestFrom : undefined;

/**
 * Every limit with what was needed of it: first those that were reached, in the order of the time, then the others, the
 * tightest first. So the first one is where the pipeline breaks first.
 */
export function bottlenecks(scenario: Scenario, outcome: Outcome): Bottleneck[] {
  const all = [
    ...outcome.tiers.flatMap((tier) => tierBottlenecks(scenario, tier)),
    account(scenario, outcome),
    ...apiBottlenecks(scenario, outcome),
    ...tableBottlenecks(scenario, outcome),
    ...schedulerBottlenecks(outcome),
  ];
  const load = (one: Bottleneck) => one.needed / one.allowed;
  return all.sort((a, b) => {
    if (a.firstAt !== undefined && b.firstAt !== undefined) return a.firstAt - b.firstAt;
    if (a.firstAt === undefined && b.firstAt === undefined) return load(b) - load(a);
    return a.firstAt === undefined ? 1 : -1;
  });
}

function tierBottlenecks(scenario: Scenario, tier: TierOutcome): Bottleneck[] {
  const { ramp, most, inFlight } = tier.held;
  const provisioned = scenario.tiers[tier.tier]?.provisionedPollers;
  const growth = provisioned === undefined ? limits.eventSourceGrowth : limits.pollerGrowth;
  return [
    {
      what: `tier ${tier.tier}: invocations at once`,
      allowed: tier.mostRunning,
      needed: tier.peakRunning,
      unit: "at once",
      firstAt: feltFrom(most),
      effect: `tasks wait, for ${most.longestSeconds} s in a row`,
    },
    {
      what: `tier ${tier.tier}: growth of the event source`,
      allowed: growth.value,
      needed: feltFrom(ramp) === undefined ? 0 : growth.value,
      unit: "more at once per minute",
      firstAt: feltFrom(ramp),
      effect: `tasks wait while it grows, for ${ramp.longestSeconds} s in a row`,
    },
    {
      what: `tier ${tier.tier}: messages in flight`,
      allowed: limits.inFlight.value,
      needed: tier.peakInFlight,
      unit: "at once",
      firstAt: inFlight.seconds > 0 ? inFlight.longestFrom : undefined,
      effect: "the queue delivers nothing until batches end",
    },
    {
      what: `tier ${tier.tier}: new environments`,
      allowed: limits.newEnvironments.value,
      needed: tier.peakNew.count,
      unit: "per 10 s",
      firstAt: over(tier.peakNew, limits.newEnvironments.value),
      effect: "invocations are throttled until more environments are there",
    },
    ...(provisioned === undefined ? [] : [pollerBottleneck(tier, provisioned.maximum)]),
  ];
}

/** When a limit was exceeded; undefined: never. */
const over = (peak: { count: number; atSeconds: number }, allowed: number): number | undefined =>
  peak.count > allowed ? peak.atSeconds : undefined;

/** A provisioned poller makes so many polls a second: handlers that are fast need more pollers than their concurrency says. */
function pollerBottleneck({ tier, peakStarts }: TierOutcome, pollers: number): Bottleneck {
  const allowed = pollers * limits.pollerPolls.value;
  return {
    what: `tier ${tier}: polls of the provisioned pollers`,
    allowed,
    needed: peakStarts.count,
    unit: "batches per second",
    firstAt: over(peakStarts, allowed),
    effect: "tasks wait for a poll",
  };
}

function account(scenario: Scenario, outcome: Outcome): Bottleneck {
  const held = outcome.tiers.map((tier) => tier.held.account);
  const felt = held.filter((one) => one.seconds > 0).map((one) => one.longestFrom);
  return {
    what: "the account's concurrency",
    allowed: scenario.accountConcurrency,
    needed: outcome.peakConcurrency,
    unit: "invocations at once",
    firstAt: felt.length > 0 ? Math.min(...felt) : undefined,
    effect: "all tiers wait, and the API's functions are throttled too",
  };
}

function apiBottlenecks(scenario: Scenario, { traffic }: Outcome): Bottleneck[] {
  const peak = traffic.requests.peak;
  const { requestsPerSecond } = scenario.throttle;
  return [
    {
      what: "the API's own throttle",
      allowed: requestsPerSecond,
      // What goes over it for a moment comes out of its burst.
      needed: traffic.firstRefusedAt === undefined ? traffic.requests.sustained : peak.count,
      unit: "requests per second",
      firstAt: traffic.firstRefusedAt,
      effect: `429; ${traffic.refused} submits were refused`,
    },
    {
      what: "the account's API requests",
      allowed: limits.apiRequests.value,
      needed: peak.count,
      unit: "requests per second",
      firstAt: over(peak, limits.apiRequests.value),
      effect: "429",
    },
  ];
}

function tableBottlenecks(scenario: Scenario, { traffic }: Outcome): Bottleneck[] {
  const submits = traffic.submits.peak;
  const needed = (submits.count * scenario.busiestTenantShare) / tenantPartitions;
  const capacity = tightestMinute(traffic.writes.minutes);
  return [
    {
      what: "a partition of the busiest tenant's index",
      allowed: limits.partitionWrites.value,
      needed,
      unit: "write units per second",
      firstAt: needed > limits.partitionWrites.value ? submits.atSeconds : undefined,
      effect: "submits of this tenant are throttled: 503",
    },
    {
      what: "what the on-demand table is warm for",
      allowed: capacity.allowed,
      needed: capacity.needed,
      unit: "write units per second",
      firstAt: capacity.needed > capacity.allowed ? capacity.minute * 60 : undefined,
      effect: "writes are throttled until the table has split; set its warm throughput ahead",
    },
  ];
}

/** How long a table takes to be ready for twice as much, in minutes. */
const doublingMinutes = 30;

/** The minute that comes closest to what the table was ready for: a new table's start, or twice its highest load so far. */
function tightestMinute(minutes: readonly number[]): { minute: number; needed: number; allowed: number } {
  let tightest = { minute: 0, needed: 0, allowed: limits.tableStart.value as number };
  let settled = 0;
  for (const [minute, needed] of minutes.entries()) {
    settled = Math.max(settled, minutes[minute - doublingMinutes] ?? 0);
    const allowed = Math.max(limits.tableStart.value, 2 * settled);
    if (needed / allowed > tightest.needed / tightest.allowed) tightest = { minute, needed, allowed };
  }
  return tightest;
}

function schedulerBottlenecks({ traffic }: Outcome): Bottleneck[] {
  const { schedules, firings, peakWaiting } = traffic;
  const tooMany = "submits for later are refused: 503";
  const rows = [
    {
      ...{ what: "making one-off schedules", peak: schedules.peak, allowed: limits.createSchedules.value },
      ...{ unit: "per second", effect: tooMany },
    },
    {
      ...{ what: "firings of schedules", peak: firings.peak, allowed: limits.firings.value },
      ...{ unit: "per second", effect: "delayed tasks become due late" },
    },
    {
      ...{ what: "one-off schedules that wait", peak: peakWaiting, allowed: limits.schedules.value },
      ...{ unit: "at once", effect: tooMany },
    },
  ];
  return rows.map(({ peak, ...row }) => ({ ...row, needed: peak.count, firstAt: over(peak, row.allowed) }));
}
