import { partitionsOf } from "../../settings/config.ts";
import type { Bottleneck } from "./bottleneck.ts";
import { spawnSecondsOf } from "./families.ts";
import { limits } from "./figures.ts";
import { lineBottlenecks } from "./limited.ts";
import { slowTries, slowTriesPerSecond } from "./notices.ts";
import type { Scenario } from "./scenario.ts";
import type { Outcome } from "./simulate.ts";
import type { Held, TierOutcome } from "./tier-run.ts";

/** A limit counts as reached after this many seconds of waiting in a row. Shorter waits for invocations are normal. */
const reachedAfterSeconds = 10;

const reachedFrom = (held: Held): number | undefined =>
  held.longestSeconds >= reachedAfterSeconds ? held.longestFrom : undefined;

/**
 * All limits: first those that were reached, ordered by time, then the others, ordered by how close they are. So the
 * first item is the limit that the pipeline reaches first.
 */
export function bottlenecks(scenario: Scenario, outcome: Outcome): Bottleneck[] {
  const all = [
    ...outcome.tiers.flatMap((tier) => tierBottlenecks(scenario, tier)),
    account(scenario, outcome),
    ...apiBottlenecks(scenario, outcome),
    ...tableBottlenecks(scenario, outcome),
    ...schedulerBottlenecks(outcome),
    ...spawnBottlenecks(scenario),
    ...noticeBottlenecks(scenario, outcome),
    ...waitBottlenecks(scenario, outcome),
    ...lineBottlenecks(scenario, outcome),
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
      what: `tier ${tier.tier}: concurrent invocations`,
      allowed: tier.mostRunning,
      needed: tier.peakRunning,
      unit: "at once",
      firstAt: reachedFrom(most),
      effect: `tasks wait for ${most.longestSeconds} s in a row`,
    },
    {
      what: `tier ${tier.tier}: growth of the event source`,
      allowed: growth.value,
      needed: reachedFrom(ramp) === undefined ? 0 : growth.value,
      unit: "more at once per minute",
      firstAt: reachedFrom(ramp),
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
      firstAt: exceededAt(tier.peakNew, limits.newEnvironments.value),
      effect: "invocations are throttled until more environments have started",
    },
    ...(provisioned === undefined ? [] : [pollerBottleneck(tier, provisioned.maximum)]),
  ];
}

/** Time when a limit was exceeded. Undefined: never. */
const exceededAt = (peak: { count: number; atSeconds: number }, allowed: number): number | undefined =>
  peak.count > allowed ? peak.atSeconds : undefined;

/**
 * The polls per second of a provisioned poller are limited, so fast handlers need more pollers than their concurrency.
 */
function pollerBottleneck({ tier, peakStarts }: TierOutcome, pollers: number): Bottleneck {
  const allowed = pollers * limits.pollerPolls.value;
  return {
    what: `tier ${tier}: polls of the provisioned pollers`,
    allowed,
    needed: peakStarts.count,
    unit: "batches per second",
    firstAt: exceededAt(peakStarts, allowed),
    effect: "tasks wait for a poll",
  };
}

function account(scenario: Scenario, outcome: Outcome): Bottleneck {
  const held = outcome.tiers.map((tier) => tier.held.account);
  const reachedAt = held.filter((one) => one.seconds > 0).map((one) => one.longestFrom);
  return {
    what: "the account's concurrency",
    allowed: scenario.accountConcurrency,
    needed: outcome.peakConcurrency,
    unit: "concurrent invocations",
    firstAt: reachedAt.length > 0 ? Math.min(...reachedAt) : undefined,
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
      // The burst covers short peaks above the rate.
      needed: traffic.firstRefusedAt === undefined ? traffic.requests.sustained : peak.count,
      unit: "requests per second",
      firstAt: traffic.firstRefusedAt,
      effect: `429; ${traffic.refused} submit requests were refused`,
    },
    {
      what: "the account's API requests",
      allowed: limits.apiRequests.value,
      needed: peak.count,
      unit: "requests per second",
      firstAt: exceededAt(peak, limits.apiRequests.value),
      effect: "429",
    },
  ];
}

function tableBottlenecks(scenario: Scenario, { traffic }: Outcome): Bottleneck[] {
  const partitions = partitionsOf(scenario.listShards);
  const capacity = tightestMinute(traffic.writes.minutes);
  return [
    indexBottleneck("tenant", traffic, scenario.busiestTenantShare / partitions.tenant),
    indexBottleneck("submitter", traffic, scenario.busiestSubmitterShare / partitions.submitter),
    {
      what: "warm throughput of the on-demand table",
      allowed: capacity.allowed,
      needed: capacity.needed,
      unit: "write units per second",
      firstAt: capacity.needed > capacity.allowed ? capacity.minute * 60 : undefined,
      effect: "writes are throttled until the table has split; set its warm throughput in advance",
    },
  ];
}

/** A partition of the index that lists the tasks of a tenant or of a submitter. `share`: its part of all new tasks. */
function indexBottleneck(of: "tenant" | "submitter", { created }: Outcome["traffic"], share: number): Bottleneck {
  const allowed = limits.partitionWrites.value;
  const needed = created.peak.count * share;
  return {
    what: `a partition of the busiest ${of}'s index`,
    allowed,
    needed,
    unit: "write units per second",
    firstAt: needed > allowed ? created.peak.atSeconds : undefined,
    effect: `submits of this ${of} are throttled: 503; set more listShards in the construct`,
  };
}

/** Time until an on-demand table can take twice its load, in minutes. */
const doublingMinutes = 30;

/** The minute closest to the table's capacity: that of a new table, or twice the highest load so far. */
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
  const tooMany = "submits of delayed tasks are refused: 503";
  const rows = [
    {
      ...{ what: "creation of one-off schedules", peak: schedules.peak, allowed: limits.createSchedules.value },
      ...{ unit: "per second", effect: tooMany },
    },
    {
      ...{ what: "firings of schedules", peak: firings.peak, allowed: limits.firings.value },
      ...{ unit: "per second", effect: "delayed tasks become due late" },
    },
    {
      ...{ what: "waiting one-off schedules", peak: peakWaiting, allowed: limits.schedules.value },
      ...{ unit: "at once", effect: tooMany },
    },
  ];
  return rows.map(({ peak, ...row }) => ({ ...row, needed: peak.count, firstAt: exceededAt(peak, row.allowed) }));
}

/** Requests that wait at the same time, as an average over the busiest minute. */
function waitBottlenecks({ waits }: Scenario, { traffic }: Outcome): Bottleneck[] {
  const needed = traffic.waits.sustained;
  if (needed === 0) return [];
  return [
    {
      what: "places of requests that wait",
      allowed: waits.places,
      needed,
      unit: "at once",
      firstAt: needed > waits.places ? traffic.waits.peak.atSeconds : undefined,
      effect: "further requests are answered immediately, and poll; set waits in the construct",
    },
  ];
}

/** A handler has one attempt to spawn all children of its task. */
function spawnBottlenecks(scenario: Scenario): Bottleneck[] {
  const needed = spawnSecondsOf(scenario);
  if (needed === 0) return [];
  const allowed = limits.attemptSeconds.value;
  const effect = "the attempt that spawns times out: let children spawn children";
  return [
    {
      ...{ what: "time in which a task spawns its children", allowed, needed, unit: "s" },
      ...{ firstAt: needed > allowed ? allowed : undefined, effect },
    },
  ];
}

/** Slow receivers share few tries, so that they cannot occupy the function notify. */
function noticeBottlenecks(scenario: Scenario, outcome: Outcome): Bottleneck[] {
  const needed = slowTries(scenario, outcome);
  if (needed === undefined) return [];
  return [
    {
      ...{
        what: "tries to one receiver of a tenant that needs more than a second",
        allowed: slowTriesPerSecond,
        needed,
      },
      unit: "per second",
      firstAt: needed > slowTriesPerSecond ? outcome.traffic.submits.peak.atSeconds : undefined,
      effect: "webhooks to this receiver are late: it should answer first, and work afterwards",
    },
  ];
}
