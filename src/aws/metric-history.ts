import { type CloudWatchClient, DescribeAlarmsCommand, GetMetricDataCommand } from "#aws-sdk/client-cloudwatch";
import {
  type AlarmView,
  historyMetrics,
  type MetricHistory,
  type MetricSeries,
  type MetricSpan,
} from "../core/metric-history.ts";
import { metricNamespace } from "../core/metrics.ts";
import { tiers } from "../core/tier.ts";
import { viaPort } from "./errors.ts";

const port = "CloudWatch";

const mostAlarmPages = 5;

/** The members of an alarm that are read. */
interface StoredAlarm {
  AlarmName?: string | undefined;
  AlarmDescription?: string | undefined;
  StateValue?: string | undefined;
  StateTransitionedTimestamp?: Date | number | undefined;
  StateUpdatedTimestamp?: Date | number | undefined;
}

/** Each series that a history has. Its index is the id of its query. */
const wanted = tiers.flatMap((tier) => historyMetrics.map((metric) => ({ tier, ...metric })));

/** The deployment's metrics and alarms in CloudWatch. A history reads 28 metrics, which cost $0.00028. */
export class CloudWatchHistory implements MetricHistory {
  readonly #client: CloudWatchClient;
  readonly #deployment: string;

  /** @param deployment Name of the deployment: the dimension `service` of its metrics, and the start of its alarms' names. */
  constructor(client: CloudWatchClient, deployment: string) {
    this.#client = client;
    this.#deployment = deployment;
  }

  async series({ from, to, periodSeconds }: MetricSpan): Promise<MetricSeries[]> {
    const command = new GetMetricDataCommand({
      StartTime: new Date(from * 1000),
      EndTime: new Date(to * 1000),
      ScanBy: "TimestampAscending",
      MetricDataQueries: wanted.map(({ name, tier, statistic }, index) => ({
        Id: `m${index}`,
        MetricStat: {
          Metric: {
            Namespace: metricNamespace,
            MetricName: name,
            Dimensions: [
              { Name: "service", Value: this.#deployment },
              { Name: "tier", Value: tier },
            ],
          },
          Period: periodSeconds,
          Stat: statistic === "sum" ? "Sum" : statistic,
        },
      })),
    });
    const { MetricDataResults = [] } = await viaPort(port, this.#client.send(command));
    const found = new Map<string | undefined, MetricSeries["points"]>();
    for (const { Id, Timestamps = [], Values = [] } of MetricDataResults) {
      found.set(
        Id,
        Timestamps.map((at, index) => [secondsOf(at), Values[index] ?? 0] as const),
      );
    }
    return wanted.map((of, index) => ({ ...of, points: found.get(`m${index}`) ?? [] }));
  }

  /** Reads at most 500 alarms with the deployment's prefix. Another deployment can have the same prefix, but not the same start of its descriptions. */
  async alarms(): Promise<AlarmView[]> {
    const found: AlarmView[] = [];
    let NextToken: string | undefined;
    for (let pages = 0; pages < mostAlarmPages; pages++) {
      const command = new DescribeAlarmsCommand({
        AlarmNamePrefix: `${this.#deployment}-`,
        AlarmTypes: ["MetricAlarm", "CompositeAlarm"],
        MaxRecords: 100,
        ...(NextToken !== undefined && { NextToken }),
      });
      const answer = await viaPort(port, this.#client.send(command));
      const alarms: StoredAlarm[] = [...(answer.CompositeAlarms ?? []), ...(answer.MetricAlarms ?? [])];
      found.push(...alarms.filter((alarm) => this.#isOwn(alarm)).map(alarmView));
      NextToken = answer.NextToken;
      if (NextToken === undefined) break;
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #isOwn({ AlarmDescription = "" }: StoredAlarm): boolean {
    return AlarmDescription.startsWith(`${this.#deployment}: `);
  }
}

const alarmView = (alarm: StoredAlarm): AlarmView => {
  const since = alarm.StateTransitionedTimestamp ?? alarm.StateUpdatedTimestamp;
  return {
    name: alarm.AlarmName ?? "",
    state: stateOf(alarm.StateValue ?? ""),
    description: alarm.AlarmDescription ?? null,
    since: since === undefined ? null : new Date(secondsOf(since) * 1000).toISOString(),
  };
};

/** The SDK's client has dates, the small one numbers. */
const secondsOf = (at: Date | number): number => (typeof at === "number" ? at : at.getTime() / 1000);

const stateOf = (state: string): AlarmView["state"] =>
  state === "OK" ? "ok" : state === "ALARM" ? "alarm" : "insufficient_data";
