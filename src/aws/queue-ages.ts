import { type CloudWatchClient, GetMetricDataCommand } from "#aws-sdk/client-cloudwatch";
import { type Tier, tiers } from "../core/model/words.ts";
import type { Clock, QueueAges } from "../core/ports/tasks.ts";
import type { PerTier } from "../settings/config.ts";
import { viaPort } from "./errors.ts";

/** SQS reports the age each minute, some minutes late. Older values than this are ignored. */
const maxAgeOfValueSeconds = 600;

/** Age of the oldest message of each tier, from SQS's metric in CloudWatch. */
export class CloudWatchQueueAges implements QueueAges {
  readonly #client: CloudWatchClient;
  readonly #clock: Clock;
  /** The deployment's main queues: one set, or two where it has container workers. */
  readonly #queueUrls: readonly PerTier<string>[];

  /** @param containerQueueUrls Undefined: the deployment has no container workers. */
  constructor(
    client: CloudWatchClient,
    clock: Clock,
    queueUrls: PerTier<string>,
    containerQueueUrls?: PerTier<string>,
  ) {
    this.#client = client;
    this.#clock = clock;
    this.#queueUrls = [queueUrls, ...(containerQueueUrls === undefined ? [] : [containerQueueUrls])];
  }

  async ofTiers(): Promise<Partial<PerTier<number>>> {
    const now = this.#clock.now();
    const command = new GetMetricDataCommand({
      StartTime: new Date(now - maxAgeOfValueSeconds * 1000),
      EndTime: new Date(now),
      ScanBy: "TimestampDescending",
      MetricDataQueries: this.#queueUrls.flatMap((urls, set) => tiers.map((tier) => queryOf(urls, tier, set))),
    });
    const { MetricDataResults = [] } = await viaPort("CloudWatch", this.#client.send(command));
    const ages: Partial<PerTier<number>> = {};
    for (const { Id = "", Values = [] } of MetricDataResults) {
      const [tier, age] = [Id.replace(/\d$/, "") as Tier, Values[0]];
      if (age !== undefined) ages[tier] = Math.max(age, ages[tier] ?? 0);
    }
    return ages;
  }
}

/**
 * The query for the age of one queue. Its id is the tier, with the number of the set of queues where there are several.
 */
function queryOf(queueUrls: PerTier<string>, tier: Tier, set: number) {
  const name = queueUrls[tier].split("/").at(-1) ?? "";
  const Metric = {
    Namespace: "AWS/SQS",
    MetricName: "ApproximateAgeOfOldestMessage",
    Dimensions: [{ Name: "QueueName", Value: name }],
  };
  return { Id: set === 0 ? tier : `${tier}${set}`, MetricStat: { Metric, Period: 60, Stat: "Maximum" } };
}
