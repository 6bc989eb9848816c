import { Annotations, Duration } from "aws-cdk-lib";
import type { ILayerVersion } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { type Tier, tiers } from "../src/core/model/words.ts";
import { reserveSeconds } from "../src/core/pipeline/work/batch-plan.ts";
import type { Catalog } from "../src/core/task/catalog.ts";
import { defaultConcurrency, type PerTier, workerBatchSize, workerTimeoutSeconds } from "../src/settings/config.ts";
import { limits } from "../src/tools/plan/figures.ts";
import type { Feed } from "./function.ts";
import { perTier } from "./per-tier.ts";
import type { Shares } from "./profile.ts";
import { settingError } from "./setting-error.ts";

/** Concurrency, batches and memory of a tier's worker. */
export interface TierOptions {
  /**
   * Maximum of concurrent worker invocations, 2 to 1000. It reserves nothing. But no tier can take concurrency that
   * another one needs, because all maximums together must fit into the account's concurrency. Not together with
   * `provisionedPollers`.
   * @default - critical 200, high 150, normal 100, low 50: half of an account's usual 1,000; 2 each in the profile
   * `small`
   */
  readonly maxConcurrency?: number;
  /**
   * Pollers that always run, so that a burst starts immediately instead of over some minutes. Charged by the hour. Each
   * has up to 10 concurrent invocations: `maximum` limits the tier instead of `maxConcurrency`.
   * @default - none: Lambda adds pollers as the queue fills
   */
  readonly provisionedPollers?: {
    /** 2 to 200. */
    readonly minimum: number;
    /** 2 to 2000. */
    readonly maximum: number;
  };
  /**
   * Maximum number of tasks in one invocation, 1 to 10. They run concurrently in one process. Choose fewer for tasks
   * that need a whole CPU or much memory.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * Time that Lambda waits for a batch to fill, up to 5 minutes: fewer invocations, but later starts. Not for
   * `critical`, whose tasks must not wait for others.
   * @default - no wait
   */
  readonly batchWindow?: Duration;
  /**
   * Memory of the tier's worker in MB, 128 to 10,240. The CPU share grows with it.
   * @default - the pipeline's `workerMemorySize`
   */
  readonly memorySize?: number;
  /**
   * Time limit of one invocation, which runs a whole batch: 60 to 900 seconds. Each task type's time-out, and 30 s for
   * claims and settling, must fit into it, because any type can be submitted to any tier.
   * @default Duration.seconds(900)
   */
  readonly timeout?: Duration;
  /**
   * Layers of the tier's worker, in addition to those of all workers.
   * @default - none
   */
  readonly layers?: readonly ILayerVersion[];
}

const invocationsPerPoller = limits.pollerInvocations.value;

interface Rule {
  readonly isValid: (options: TierOptions, tier: Tier) => boolean;
  readonly text: string;
}

const within = (value: number | undefined, least: number, most: number): boolean =>
  value === undefined || (Number.isInteger(value) && value >= least && value <= most);

const rules: Readonly<Record<keyof Omit<TierOptions, "layers">, readonly Rule[]>> = {
  maxConcurrency: [
    { isValid: ({ maxConcurrency }) => within(maxConcurrency, 2, 1_000), text: "a whole number from 2 to 1000" },
    {
      isValid: ({ maxConcurrency, provisionedPollers }) =>
        maxConcurrency === undefined || provisionedPollers === undefined,
      text: "absent when provisionedPollers is set: each poller has up to 10 concurrent invocations",
    },
  ],
  provisionedPollers: [
    {
      isValid: ({ provisionedPollers }) => within(provisionedPollers?.minimum, 2, 200),
      text: "an object with a minimum from 2 to 200",
    },
    {
      isValid: ({ provisionedPollers }) => within(provisionedPollers?.maximum, 2, 2_000),
      text: "an object with a maximum from 2 to 2000",
    },
    {
      isValid: ({ provisionedPollers: pollers }) => pollers === undefined || pollers.minimum <= pollers.maximum,
      text: "an object whose minimum is not above its maximum",
    },
  ],
  batchSize: [
    {
      isValid: ({ batchSize }) => within(batchSize, 1, workerBatchSize),
      text: `a whole number from 1 to ${workerBatchSize}`,
    },
  ],
  batchWindow: [
    {
      isValid: ({ batchWindow }) => within(batchWindow?.toSeconds({ integral: false }), 0, 300),
      text: "whole seconds, at most 300",
    },
    {
      isValid: ({ batchWindow }, tier) => tier !== "critical" || (batchWindow?.toSeconds() ?? 0) === 0,
      text: "absent, because critical tasks must not wait for others",
    },
  ],
  memorySize: [
    { isValid: ({ memorySize }) => within(memorySize, 128, 10_240), text: "a whole number of MB from 128 to 10240" },
  ],
  timeout: [
    {
      isValid: ({ timeout }) => within(timeout?.toSeconds({ integral: false }), 60, workerTimeoutSeconds),
      text: `whole seconds from 60 to ${workerTimeoutSeconds}`,
    },
  ],
};

/**
 * Properties of a tier's event source.
 * @throws TypeError that names an invalid option and the allowed values
 */
export function feedOf(tier: Tier, options: TierOptions): Feed {
  for (const [name, itsRules] of Object.entries(rules)) {
    const broken = itsRules.find(({ isValid }) => !isValid(options, tier));
    if (broken === undefined) continue;
    const given = JSON.stringify(options[name as keyof typeof rules]);
    throw settingError(`tiers.${tier}.${name} must be ${broken.text}; got ${given}`);
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

/** Time-out of a tier's worker. */
export const timeoutOf = ({ timeout }: TierOptions = {}): Duration => timeout ?? Duration.seconds(workerTimeoutSeconds);

/** @throws TypeError for a task type whose attempts would never start in a tier */
export function checkTimeouts(catalog: Catalog, options: Partial<PerTier<TierOptions>>): void {
  const inFunctions = catalog.filter(({ runs_on }) => runs_on === undefined);
  for (const tier of tiers) {
    const seconds = timeoutOf(options[tier]).toSeconds();
    const long = inFunctions.find((type) => type.timeout_seconds + reserveSeconds > seconds);
    if (long === undefined) continue;
    throw settingError(
      `tiers.${tier}.timeout of ${seconds} s is too short for the task type ${long.name}: its time-out of ` +
        `${long.timeout_seconds} s and ${reserveSeconds} s for claims and settling must fit into it. Raise the tier's timeout, ` +
        "or lower the type's timeoutSeconds",
    );
  }
}

/** Concurrency of the account, and of the API's requests that wait. */
export interface ConcurrencyOptions {
  /**
   * Limit of concurrent invocations of the account in this Region, over all its functions. The tiers must fit into it,
   * so that no tier can take concurrency that another needs.
   * @default 1000; in the profile `small` 10
   */
  readonly accountConcurrency?: number;
  /**
   * Number of requests that may wait for the end of a task at the same time (`GET /tasks/{id}?wait=20`), 0 to 1000; of
   * one tenant at most half. Each takes one concurrent invocation for up to 20 s. Above this number requests are
   * answered immediately, like other polls. A warning says when the account has less left than these and 100
   * invocations for all other requests, while every tier is busy. 0: no request waits.
   * @default 100; in the profile `small` 0
   */
  readonly waits?: number;
}

/** Concurrency of a deployment. */
export interface Capacity extends Omit<Shares, "workers"> {
  readonly tiers: Partial<PerTier<TierOptions>>;
}

/**
 * Concurrency of a deployment: the profile's, except where the app sets its own.
 * @throws TypeError for an invalid number of `waits`
 */
export function capacityOf(
  { workers, ...shares }: Shares,
  tiers: Partial<PerTier<TierOptions>>,
  { accountConcurrency = shares.accountConcurrency, waits = shares.waits }: ConcurrencyOptions = {},
): Capacity {
  if (!within(waits, 0, 1_000)) throw settingError(`waits must be a whole number from 0 to 1000; got ${waits}`);
  const withDefault = (tier: Tier): TierOptions => {
    const own = tiers[tier] ?? {};
    return own.provisionedPollers === undefined ? { maxConcurrency: workers[tier], ...own } : own;
  };
  return { ...shares, accountConcurrency, waits, tiers: perTier(withDefault) };
}

/** Maximum of concurrent worker invocations of a tier. */
export function mostInvocations(tier: Tier, { maxConcurrency, provisionedPollers }: TierOptions): number {
  if (provisionedPollers !== undefined) return provisionedPollers.maximum * invocationsPerPoller;
  return maxConcurrency ?? defaultConcurrency[tier];
}

/**
 * Checks that all event sources together fit into the account's concurrency, so that each tier can always reach its
 * maximum. Adds a warning when little is left for the API and its requests that wait.
 * @throws TypeError when they do not fit
 */
export function checkCapacity(scope: Construct, capacity: Capacity): void {
  const { accountConcurrency, background, api, waits } = capacity;
  const most = tiers.map((tier) => mostInvocations(tier, capacity.tiers[tier] ?? {}));
  const sum = most.reduce((total, one) => total + one, background);
  const others = background > 0 ? `, redrive, fire and notify ${background}` : "";
  const inWords = `${tiers.map((tier, index) => `${tier} ${most[index]}`).join(", ")}${others}`;
  if (sum > accountConcurrency) {
    throw settingError(
      `the tiers may take ${sum} concurrent invocations (${inWords}), but the account has ${accountConcurrency}: ` +
        'a busy tier would take concurrency that another needs. Lower maxConcurrency, set profile: "small" for a new ' +
        "account with 10, or set accountConcurrency if the account has more",
    );
  }
  if (sum <= accountConcurrency - api - waits) return;
  const forWaits = waits > 0 ? `, ${waits} of them for requests that wait (waits)` : "";
  Annotations.of(scope).addWarningV2(
    "offload:capacity",
    `the tiers may take ${sum} of the account's ${accountConcurrency} concurrent invocations (${inWords}): fewer than ${api + waits} are left for the API${forWaits}`,
  );
}
