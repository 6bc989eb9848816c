import { Duration } from "aws-cdk-lib";
import { tiers } from "../../src/core/model/words.ts";
import type { PerTier } from "../../src/settings/config.ts";
import { perTier } from "../per-tier.ts";
import { settingError } from "../setting-error.ts";

/** Thresholds of alarms, and the URL of the runbook. */
export interface AlarmOptions {
  /**
   * URL of the runbook. The texts of alarms and the dashboard link to its sections.
   * @default the command that prints the section from the installed package, such as `npx offload docs runbook#depth`
   */
  readonly runbookUrl?: string;
  /**
   * Allows a protected stage without a receiver for its alarms, which is an error otherwise.
   * @default false
   */
  readonly unheard?: boolean;
  /**
   * Number of messages that may wait in a tier for five minutes.
   * @default - 1000 in each tier
   */
  readonly depth?: Partial<PerTier<number>>;
  /**
   * Maximum age of a tier's oldest message while messages wait. The age counts until the message's task has ended, so
   * tiers that are always busy with longer tasks need a higher value.
   * @default - critical 2 minutes, high and normal 5 minutes, low 30 minutes
   */
  readonly oldestMessage?: Partial<PerTier<Duration>>;
  /**
   * Maximum 99th percentile of the duration of a tier's attempts.
   * @default - 30 seconds in each tier
   */
  readonly processing?: Partial<PerTier<Duration>>;
  /**
   * Maximum percentage of failed tasks among the ended tasks of a tier, in 15 minutes.
   * @default 1
   */
  readonly errorPercent?: number;
  /**
   * Minimum number of failures for the alarm on `errorPercent`.
   * @default 5
   */
  readonly leastFailures?: number;
  /**
   * Maximum percentage of retried attempts of a tier, in 15 minutes.
   * @default 10
   */
  readonly retryPercent?: number;
  /**
   * Minimum number of retries for the alarm on `retryPercent`.
   * @default 20
   */
  readonly leastRetries?: number;
  /**
   * Maximum number of throttled invocations of a function, in 5 minutes.
   * @default 10
   */
  readonly throttles?: number;
  /**
   * Maximum number of failed invocations of a function, in 5 minutes: it died, timed out, ran out of memory or did not
   * start.
   * @default 5
   */
  readonly functionErrors?: number;
  /**
   * Maximum percentage of requests with a 5xx response, in 5 minutes.
   * @default 1
   */
  readonly serverErrorPercent?: number;
  /**
   * Minimum number of 5xx responses for the alarm on `serverErrorPercent`.
   * @default 5
   */
  readonly leastServerErrors?: number;
  /**
   * Maximum time that a message waits for redrive, a failed firing for its retry, or a notice for the function notify.
   * Above 20 minutes: a later try of a webhook waits in its queue for up to 15.
   * @default Duration.minutes(30)
   */
  readonly comingBack?: Duration;
  /**
   * Maximum number of webhooks that were given up, in 5 minutes. Raise it where tenants often give URLs of receivers
   * that do not answer.
   * @default 0
   */
  readonly failedWebhooks?: number;
  /**
   * Maximum time for which the next task of a limit's line (`concurrency`, `rateLimit`) waits.
   * Raise it where long lines are usual.
   * @default Duration.minutes(10)
   */
  readonly lineWait?: Duration;
  /**
   * Maximum number of messages that wait for container workers for half an hour, in all tiers together.
   * @default 100
   */
  readonly containersBehind?: number;
}

/** All thresholds, with defaults. */
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
  readonly failedWebhooks: number;
  readonly lineWait: Duration;
  readonly containersBehind: number;
}

/** The command that prints the runbook. It takes a section as a URL does. */
export const defaultRunbookUrl = "npx offload docs runbook";

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
  failedWebhooks: 0,
  lineWait: Duration.minutes(10),
  containersBehind: 100,
};

/**
 * Adds the defaults to the options.
 * @throws TypeError that names an invalid threshold and the allowed values
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
const counts = [
  "leastFailures",
  "leastRetries",
  "leastServerErrors",
  "throttles",
  "functionErrors",
  "failedWebhooks",
  "containersBehind",
] as const;

function check(all: Thresholds): void {
  for (const name of percents) expect(name, all[name], all[name] > 0 && all[name] < 100, "above 0 and below 100");
  for (const name of counts) expect(name, all[name], isCount(all[name]), "a whole number of at least 0");
  for (const tier of tiers) {
    expect(`depth.${tier}`, all.depth[tier], isCount(all.depth[tier]), "a whole number of at least 0");
  }
}

const isCount = (value: number): boolean => Number.isInteger(value) && value >= 0;

function expect(name: string, given: number, good: boolean, allowed: string): void {
  if (!good) throw settingError(`alarms.${name} must be ${allowed}, got ${given}`);
}
