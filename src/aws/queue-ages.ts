import { type CloudWatchClient, GetMetricDataCommand } from "#aws-sdk/client-cloudwatch";
import type { PerTier } from "../config.ts";
import type { Clock, QueueAges } from "../core/ports.ts";
import { type Tier, tiers } from "../core/tier.ts";
import { viaPort } from "./errors.ts";

/** SQS reports the age each minute, some minutes late. Older values than this are ignored. */
const maxAgeOfValueSeconds = 600;

/** Age of the oldest message of each tier, from SQS's metric in CloudWatch. */
export class CloudWatchQueueAges implements QueueAges {
  readonly #client: CloudWatchClient;
  readonly #clock: Clock;
  readonly #queueUrls: PerTier<string>;

  constructor(client: CloudWatchClient, clock: Clock, queueUrls: PerTier<string>) {
    this.#client = client;
    this.#clock = clock;
    this.#queueUrls = queueUrls;
  }

  async ofTiers(): Promise<Partial<PerTier<number>>> {
    const now = this.#clock.now();
    const command = new GetMetricDataCommand({
      StartTime: new Date(now - maxAgeOfValueSeconds * 1000),
      EndTime: new Date(now),
      ScanBy: "TimestampDescending",
      MetricDataQueries: tiers.map((tier) => this.#queryOf(tier)),
    });
    const { MetricDataResults = [] } = await viaPort("CloudWatch", this.#client.send(command));
    const ages = MetricDataResults.map(({ Id, Values = [] }) => [Id, Values[0]] as const);
    return Object.fromEntries(ages.filter(([, age]) => age !== undefined));
  }

  #queryOf(tier: Tier) {
    const name = this.#queueUrls[tier].split("/").at(-1) ?? "";
    const Metric = {
      Namespace: "AWS/SQS",
      MetricName: "ApproximateAgeOfOldestMessage",
      Dimensions: [{ Name: "QueueName", Value: name }],
    };
    return { Id: tier, MetricStat: { Metric, Period: 60, Stat: "Maximum" } };
  }
}
