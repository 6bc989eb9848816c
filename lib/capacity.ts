import { Annotations, type Duration } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { defaultConcurrency, type PerTier, workerBatchSize } from "../src/config.ts";
import { type Tier, tiers } from "../src/core/tier.ts";
import { limits } from "../src/plan/figures.ts";
import type { Feed } from "./function.ts";

/** How much of the account a tier may take, and in what portions. */
export interface TierOptions {
  /**
   * How many worker invocations the tier may have at once, 2 to 1000. It reserves nothing, but no tier can take what
   * another needs as long as all of them fit into the account's concurrency. Not together with `provisionedPollers`.
   * @default - critical 200, high 150, normal 100, low 50: half of an account's usual 1,000
   */
  readonly maxConcurrency?: number;
  /**
   * Pollers that wait for work at all times, so that a burst starts at once instead of over some minutes. Charged by the
   * hour. Each has up to 10 invocations at once: `maximum` is the tier's limit in place of `maxConcurrency`.
   * @default - none: Lambda adds pollers as the queue fills
   */
  readonly provisionedPollers?: {
    /** 2 to 200. */
    readonly minimum: number;
    /** 2 to 2000. */
    readonly maximum: number;
  };
  /**
   * How many tasks an invocation takes at once, 1 to 10: they run side by side in one process. Tasks that need a CPU or
   * much memory each want fewer.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * How long Lambda may wait for a batch to fill, up to 5 minutes: fewer invocations, later starts. Not for `critical`,
   * whose tasks are not to wait for others.
   * @default - no time: a task starts when it is there
   */
  readonly batchWindow?: Duration;
  /**
   * Memory of the tier's worker, in MB, 128 to 10,240, and with it a share of a CPU.
   * @default - the pipeline's `workerMemorySize`
   */
  readonly memorySize?: number;
}

/** Invocations of redrive at once: some hundred messages a second, without taking the tiers' share of the account. */
export const redriveConcurrency = 10;

/** Firings that are tried again at once; each may take the whole time of the function. */
export const firingConcurrency = 5;

/** What the API's functions should find free, however busy the tiers are: a request needs two for some milliseconds. */
const apiShare = 100;

const invocationsPerPoller = limits.pollerInvocations.value;

/** A new account's concurrency may be lower; AWS raises it on request. */
export const usualAccountConcurrency = limits.accountConcurrency.value;

interface Rule {
  readonly good: (options: TierOptions, tier: Tier) => boolean;
  readonly text: string;
}

const within = (value: number | undefined, least: number, most: number): boolean =>
  value === undefined || (Number.isInteger(value) && value >= least && value <= most);

const rules: Readonly<Record<keyof TierOptions, readonly Rule[]>> = {
  maxConcurrency: [
    { good: ({ maxConcurrency }) => within(maxConcurrency, 2, 1_000), text: "a whole number from 2 to 1000" },
    {
      good: ({ maxConcurrency, provisionedPollers }) =>
        maxConcurrency === undefined || provisionedPollers === undefined,
      text: "left out beside provisionedPollers, which have up to 10 invocations at once each",
    },
  ],
  provisionedPollers: [
    { good: ({ provisionedPollers }) => within(provisionedPollers?.minimum, 2, 200), text: "2 to 200 at the least" },
    { good: ({ provisionedPollers }) => within(provisionedPollers?.maximum, 2, 2_000), text: "2 to 2000 at the most" },
    {
      good: ({ provisionedPollers: pollers }) => pollers === undefined || pollers.minimum <= pollers.maximum,
      text: "a minimum that is no more than the maximum",
    },
  ],
  batchSize: [
    {
      good: ({ batchSize }) => within(batchSize, 1, workerBatchSize),
      text: `a whole number from 1 to ${workerBatchSize}`,
    },
  ],
  batchWindow: [
    {
      good: ({ batchWindow }) => within(batchWindow?.toSeconds({ integral: false }), 0, 300),
      text: "whole seconds, at most 300",
    },
    {
      good: ({ batchWindow }, tier) => tier !== "critical" || (batchWindow?.toSeconds() ?? 0) === 0,
      text: "left out, as critical tasks are not to wait for others",
    },
  ],
  memorySize: [
    { good: ({ memorySize }) => within(memorySize, 128, 10_240), text: "a whole number of MB from 128 to 10240" },
  ],
};

/**
 * What each tier's event source may take.
 * @throws TypeError for an option that AWS would refuse, or the worker could not keep, saying what is allowed
 */
export function feedOf(tier: Tier, options: TierOptions): Feed {
  for (const [name, itsRules] of Object.entries(rules)) {
    const broken = itsRules.find(({ good }) => !good(options, tier));
    const given = JSON.stringify(options[name as keyof TierOptions]);
    if (broken !== undefined) throw new TypeError(`tiers.${tier}.${name} must be ${broken.text}; got ${given}`);
  }
  const { maxConcurrency = defaultConcurrency[tier], provisionedPollers: pollers, batchSize, batchWindow } = options;
  return {
    ...(pollers === undefined
      ? { maxConcurrency }
      : { provisionedPollerConfig: { minimumPollers: pollers.minimum, maximumPollers: pollers.maximum } }),
    ...(batchSize !== undefined && { batchSize }),
    ...(batchWindow !== undefined && { maxBatchingWindow: batchWindow }),
  };
}

/** How many worker invocations a tier may have at once. */
export function mostInvocations(tier: Tier, { maxConcurrency, provisionedPollers }: TierOptions): number {
  if (provisionedPollers !== undefined) return provisionedPollers.maximum * invocationsPerPoller;
  return maxConcurrency ?? defaultConcurrency[tier];
}

/**
 * Whether all event sources together fit into the account. As long as they do, each tier always gets its share, and
 * `critical` as much as it may have; a warning says when little is left for the API.
 * @throws RangeError when they do not fit
 */
export function checkCapacity(
  scope: Construct,
  options: Partial<PerTier<TierOptions>>,
  accountConcurrency: number,
): void {
  const perTier = tiers.map((tier) => mostInvocations(tier, options[tier] ?? {}));
  const sum = perTier.reduce((total, one) => total + one, redriveConcurrency + firingConcurrency);
  const inWords = `${tiers.map((tier, index) => `${tier} ${perTier[index]}`).join(", ")}, redrive and fire ${redriveConcurrency + firingConcurrency}`;
  if (sum > accountConcurrency) {
    throw new RangeError(
      `the tiers may take ${sum} invocations at once (${inWords}), but the account has ${accountConcurrency}: ` +
        "a busy tier would take what another needs. Lower maxConcurrency, or say accountConcurrency if the account has more",
    );
  }
  if (sum <= accountConcurrency - apiShare) return;
  Annotations.of(scope).addWarningV2(
    "offload:capacity",
    `the tiers may take ${sum} of the account's ${accountConcurrency} invocations at once (${inWords}): less than ${apiShare} are left for the API`,
  );
}
