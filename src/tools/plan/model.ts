import { type Tier, tiers } from "../../core/model/words.ts";
import { defaultConcurrency } from "../../settings/config.ts";
import { type Arrivals, randomArrivals } from "./arrivals.ts";
import { type DurationSource, Durations } from "./durations.ts";
import { withChildren, writesPerChild } from "./families.ts";
import { limits } from "./figures.ts";
import { seededRandom } from "./random.ts";
import { provisionedScaling, standardScaling } from "./scaling.ts";
import type { Scenario } from "./scenario.ts";
import type { Model } from "./simulate.ts";
import type { TierModel } from "./tier-run.ts";
import { writeUnits } from "./write-units.ts";

/** Points of the picture over the time of the arrivals. */
const points = 240;

/** Simulation model of a scenario's pipeline on AWS. */
export function awsModel(scenario: Scenario, given?: Arrivals): Model {
  const { overhead, hours, tasksPerSecond, batchSize } = scenario;
  const random = seededRandom(scenario.seed);
  const seconds = hours * 3_600;
  const bursts = scenario.bursts.map((burst) => ({ ...burst, batchSize: burst.batchSize ?? batchSize }));
  const rates = typeof tasksPerSecond === "number" ? [tasksPerSecond] : tasksPerSecond;
  const { submitWrites, attemptWrites } = writeUnits(scenario);
  return {
    seconds,
    points,
    random,
    arrivals: withChildren(
      given ?? randomArrivals({ seconds, tasksPerSecond: rates, batchSize, bursts }, random),
      scenario,
    ),
    tiers: tierModels(scenario),
    failureRate: scenario.failureRate,
    maxAttempts: scenario.maxAttempts,
    delayed: scenario.delayed,
    pickUpSeconds: overhead.pickUpMs / 1000,
    batchSeconds: overhead.batchMs / 1000,
    coldStartSeconds: overhead.coldStartMs / 1000,
    concurrency: scenario.accountConcurrency,
    throttle: scenario.throttle,
    pollsPerTask: scenario.pollsPerTask,
    waits: scenario.waits,
    submitSeconds: (overhead.submitMs + overhead.authorizerMs) / 1000,
    entrySeconds: overhead.batchTaskMs / 1000,
    pollSeconds: (overhead.statusMs + overhead.authorizerMs) / 1000,
    submitWrites,
    spawnWrites: submitWrites + writesPerChild(scenario),
    attemptWrites,
  };
}

/** Durations of each tier: its own, or those of the scenario. */
export function tierDurations(scenario: Scenario): ReadonlyMap<Tier, Durations> {
  const common = new Durations(scenario.durations);
  return new Map(
    tiers.map((tier) => {
      const own = scenario.tiers[tier]?.durations;
      return [tier, own === undefined ? common : new Durations(own)];
    }),
  );
}

/** A tier that the scenario names for children only. */
const ownOfChildren: NonNullable<Scenario["tiers"][Tier]> = { share: 0 };

function tierModels(scenario: Scenario): TierModel[] {
  const durationsOf = tierDurations(scenario);
  return tiers.flatMap((tier) => {
    const isOfChildren = scenario.children.perTask > 0 && scenario.children.tier === tier;
    const own = scenario.tiers[tier] ?? (isOfChildren ? ownOfChildren : undefined);
    const inBurst = isOfChildren || scenario.bursts.some((burst) => burst.tier === tier);
    if (own === undefined || (own.share === 0 && !inBurst)) return [];
    const scaling =
      own.provisionedPollers === undefined
        ? standardScaling(own.maxConcurrency ?? defaultConcurrency[tier])
        : provisionedScaling(own.provisionedPollers);
    const durations = durationsOf.get(tier);
    return durations === undefined ? [] : { tier, share: own.share, durations, scaling, gatherSeconds: 0 };
  });
}

/** Measured figures of the local server's workers. */
export interface LocalServer {
  /** Maximum number of worker processes of a tier. */
  processes: number;
  /** Start time of a worker process, in seconds. */
  startSeconds: number;
  /** Time that claim and settle add to a batch, in seconds. */
  batchSeconds: number;
  /** Time that the first message of a batch waits for others, in seconds. */
  gatherSeconds: number;
}

/**
 * Simulation model of one tier of the local server, to compare the planner with measured waits.
 * @public
 */
export const localModel = (
  server: LocalServer,
  work: { arrivals: Arrivals; seconds: number; durations: DurationSource },
): Model => ({
  ...work,
  points,
  random: seededRandom(1),
  tiers: [
    {
      tier: "normal",
      share: 1,
      durations: work.durations,
      gatherSeconds: server.gatherSeconds,
      scaling: { idle: 1, most: server.processes, step: 1, stepSeconds: server.startSeconds, keepSeconds: 20 },
    },
  ],
  failureRate: 0,
  maxAttempts: 1,
  delayed: { share: 0, seconds: 0 },
  pickUpSeconds: 0,
  batchSeconds: server.batchSeconds,
  coldStartSeconds: 0,
  concurrency: limits.accountConcurrency.value,
  throttle: { requestsPerSecond: 10_000, burst: 10_000 },
  ...{
    pollsPerTask: 0,
    waits: { perTask: 0, seconds: 0, places: 0 },
    submitSeconds: 0,
    entrySeconds: 0,
    pollSeconds: 0,
    submitWrites: 2,
    spawnWrites: 2,
    attemptWrites: 2,
  },
});
