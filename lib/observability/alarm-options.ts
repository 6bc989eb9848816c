import { Duration } from "aws-cdk-lib";
import type { PerTier } from "../../src/config.ts";
import { tiers } from "../../src/core/tier.ts";
import { perTier } from "../per-tier.ts";

/** When alarms go off. */
export interface AlarmOptions {
  /**
   * Where the runbook is: the alarms' texts and the dashboard link to its sections.
   * @default docs/runbook.md
   */
  readonly runbookUrl?: string;
  /**
   * Says that nobody is to hear of alarms in a stage that is protected, which is refused otherwise.
   * @default false
   */
  readonly unheard?: boolean;
  /**
   * How many messages may wait in a tier for five minutes.
   * @default - 1000 in each tier
   */
  readonly depth?: Partial<PerTier<number>>;
  /**
   * How old a tier's oldest message may be while any waits. Its age counts until its task has ended: tiers that are always
   * busy with tasks that take longer need more.
   * @default - critical 2 minutes, high and normal 5 minutes, low 30 minutes
   */
  readonly oldestMessage?: Partial<PerTier<Duration>>;
  /**
   * How long 99 of 100 attempts of a tier may take.
   * @default - 30 seconds in each tier
   */
  readonly processing?: Partial<PerTier<Duration>>;
  /**
   * How many of 100 tasks that end may have failed, in 15 minutes and a tier.
   * @default 1
   */
  readonly errorPercent?: number;
  /**
   * Fewer failures than this, in 15 minutes and a tier, are no alarm, whatever share they are.
   * @default 5
   */
  readonly leastFailures?: number;
  /**
   * How many of 100 attempts may have to be repeated, in 15 minutes and a tier.
   * @default 10
   */
  readonly retryPercent?: number;
  /**
   * Fewer retries than this, in 15 minutes and a tier, are no alarm, whatever share they are.
   * @default 20
   */
  readonly leastRetries?: number;
  /**
   * How many invocations of a function may be throttled in 5 minutes.
   * @default 10
   */
  readonly throttles?: number;
  /**
   * How many invocations of a function may fail in 5 minutes: it died, ran out of time or memory, or could not start.
   * @default 5
   */
  readonly functionErrors?: number;
  /**
   * How many of 100 requests may be answered with a 5xx, in 5 minutes.
   * @default 1
   */
  readonly serverErrorPercent?: number;
  /**
   * Fewer 5xx than this, in 5 minutes, are no alarm, whatever share they are.
   * @default 5
   */
  readonly leastServerErrors?: number;
  /**
   * How long a message that a tier gave up on, or a firing that failed, may wait for its next try.
   * @default Duration.minutes(30)
   */
  readonly comingBack?: Duration;
}

/** Every threshold, with the defaults where nothing was said. */
export interface Thresholds {
  readonly depth: PerTier<number>;
  readonly oldestMessage: PerTier<Duration>;
  readonly processing: PerTier<Duration>;
  readonly errorPercent: number;
  readonly leastFailures: number;
  readonly retryPercent: number;
  readonly leastRetries: number;
  readonly throttles: number;
  readonly functionErrors: number;
  readonly serverErrorPercent: number;
  readonly leastServerErrors: number;
  readonly comingBack: Duration;
}

/** Where the runbook is when nobody says otherwise: this project's own. */
export const defaultRunbookUrl = "docs/runbook.md";

const minutes = (critical: number, high: number, normal: number, low: number): PerTier<Duration> => ({
  critical: Duration.minutes(critical),
  high: Duration.minutes(high),
  normal: Duration.minutes(normal),
  low: Duration.minutes(low),
});

const defaults: Thresholds = {
  depth: perTier(() => 1_000),
  oldestMessage: minutes(2, 5, 5, 30),
  processing: perTier(() => Duration.seconds(30)),
  errorPercent: 1,
  leastFailures: 5,
  retryPercent: 10,
  leastRetries: 20,
  throttles: 10,
  functionErrors: 5,
  serverErrorPercent: 1,
  leastServerErrors: 5,
  comingBack: Duration.minutes(30),
};

/**
 * The thresholds, complete.
 * @throws TypeError for a number that no alarm could have, saying what is allowed
 */
export function thresholdsOf(options: AlarmOptions = {}): Thresholds {
  const { runbookUrl: _url, unheard: _unheard, depth, oldestMessage, processing, ...numbers } = options;
  const all: Thresholds = {
    ...defaults,
    ...withoutGaps(numbers),
    depth: { ...defaults.depth, ...withoutGaps(depth) },
    oldestMessage: { ...defaults.oldestMessage, ...withoutGaps(oldestMessage) },
    processing: { ...defaults.processing, ...withoutGaps(processing) },
  };
  check(all);
  return all;
}

const withoutGaps = <T extends object>(given: T = {} as T): Partial<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>;

const percents = ["errorPercent", "retryPercent", "serverErrorPercent"] as const;
const counts = ["leastFailures", "leastRetries", "leastServerErrors", "throttles", "functionErrors"] as const;

function check(all: Thresholds): void {
  for (const name of percents) expect(name, all[name], all[name] > 0 && all[name] < 100, "above 0 and below 100");
  for (const name of counts) expect(name, all[name], isCount(all[name]), "a whole number of at least 0");
  for (const tier of tiers) {
    expect(`depth.${tier}`, all.depth[tier], isCount(all.depth[tier]), "a whole number of at least 0");
  }
}

const isCount = (value: number): boolean => Number.isInteger(value) && value >= 0;

function expect(name: string, given: number, good: boolean, allowed: string): void {
  if (!good) throw new TypeError(`alarms.${name} must be ${allowed}, got ${given}`);
}
